package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"godwit/protocol/jsapi"
	"godwit/protocol/subject"
	"godwit/server/account"
	"godwit/server/jetstream"
	api "godwit/server/jsapi"
	"godwit/server/monitor"
	"godwit/server/options"
	"godwit/server/process"
	"godwit/server/router"
	"godwit/stream"
	"godwit/stream/segment"
	"godwit/stream/vfs"
)

// streams is JetStream in this server: the service and its API.
type streams struct {
	service *jetstream.Service
	api     *api.API
	shown   atomic.Pointer[streamsShown]
	lock    *process.Lock
	volume  vfs.Volume // of the store directory; nil: its files are synced one by one

	// mu is held while an account is given streams.
	mu             sync.Mutex
	known, refused map[string]bool // accounts by name: with streams, without
}

// streamsShown is what monitoring shows of the settings. It never changes.
type streamsShown struct {
	config monitor.JetStreamConfig
	limits monitor.JetStreamLimits
}

func boundsOf(l *options.JSLimits) jetstream.Bounds {
	return jetstream.Bounds{MaxAckPending: l.MaxAckPending, MaxRequestBatch: l.MaxRequestBatch, MaxDuplicates: l.DuplicateWindow,
		DefaultMaxConsumers: l.DefaultMaxConsumers, Batches: stream.BatchLimits{Messages: l.BatchMaxMsgs, Atomic: l.BatchMaxInflightPerStream, Timeout: l.BatchTimeout}}
}

func shownLimits(l *options.JSLimits) monitor.JetStreamLimits {
	return monitor.JetStreamLimits{MaxRequestBatch: l.MaxRequestBatch, MaxAckPending: l.MaxAckPending, MaxHAAssets: l.MaxHAAssets,
		Duplicates: l.DuplicateWindow, DefaultMaxConsumers: l.DefaultMaxConsumers}
}

// reloadStreams makes streams as o has them: it begins or ends with them, or changes their bounds and who may have some.
func (s *Server) reloadStreams(o *options.Options) error {
	st := s.js.Load()
	switch {
	case st == nil && !o.JetStream.Enabled:
		return nil
	case st == nil:
		return s.startStreams(o)
	case !o.JetStream.Enabled:
		s.log.Noticef("Initiating JetStream Shutdown...")
		s.js.Store(nil)
		st.service.EndRequests()
		st.close()
		s.log.Noticef("JetStream Shutdown")
		return nil
	}
	next := streamsShown{st.shown.Load().config, shownLimits(&o.JetStream.Limits)}
	if o.JetStream.MaxMemory != options.Dynamic {
		next.config.MaxMemory = o.JetStream.MaxMemory
	}
	if o.JetStream.MaxStore != options.Dynamic {
		next.config.MaxStore = o.JetStream.MaxStore
	}
	st.shown.Store(&next)
	st.service.SetMax(next.config.MaxMemory, next.config.MaxStore)
	st.service.SetBounds(boundsOf(&o.JetStream.Limits))
	return s.enableStreams(o)
}

// startStreams opens what is stored and answers the API in every account.
func (s *Server) startStreams(with *options.Options) error {
	js := &with.JetStream
	st := &streams{known: map[string]bool{}, refused: map[string]bool{}}
	config := monitor.JetStreamConfig{MaxMemory: js.MaxMemory, MaxStore: js.MaxStore, Domain: js.Domain,
		SyncInterval: js.SyncInterval, SyncAlways: js.SyncAlways, CompressOK: true, UniqueTag: js.UniqueTag, Strict: js.Strict}
	dir := js.StoreDir
	if dir == "" {
		dir = filepath.Join(os.TempDir(), "nats", "jetstream")
		s.log.Warnf("Temporary storage directory used, data could be lost on system reboot")
	}
	dir = filepath.Clean(dir)
	config.StoreDir = filepath.Join(dir, "jetstream")
	if err := os.MkdirAll(config.StoreDir, 0o755); err != nil {
		return err
	}
	var err error
	if st.lock, err = process.LockFile(filepath.Join(config.StoreDir, jetstream.LockName)); err != nil {
		return err
	}
	if config.MaxMemory == options.Dynamic {
		config.MaxMemory = machineMemory() / 4 * 3
	}
	if config.MaxStore == options.Dynamic {
		config.MaxStore = freeSpace(dir) / 4 * 3
	}
	o := jetstream.Options{StoreDir: dir, MaxMemory: config.MaxMemory, MaxStore: config.MaxStore, Domain: js.Domain,
		ServerName: s.name, ServerID: s.id, Version: ProtocolVersion, Sync: segment.SyncAlways, SyncEvery: js.SyncInterval,
		Strict: js.Strict, LongAcks: featureFlags(with)["js_ack_fc_v2"], TailBytes: js.TailMemory, CacheBytes: js.CacheMemory,
		SegmentBytes: js.SegmentSize, Reserve: js.DiskReserve, Logf: s.log.Noticef, Warnf: s.log.Warnf}
	if !js.SyncAlways {
		o.Sync = segment.SyncInterval
	}
	if a := s.accounts.System(); a != nil {
		o.SystemAccount = a.Name()
		sender := router.NewSender(a.Index())
		o.SystemAdvisory = serialized(func(subject string, body []byte) {
			sender.Send(&router.Message{Subject: []byte(subject), Payload: body})
			sender.Flush()
		})
	}
	st.volume = s.openVolume(dir, js.OwnFileSystem)
	o.Volume = st.volume
	if st.service, err = jetstream.New(o); err != nil {
		st.release()
		return err
	}
	st.shown.Store(&streamsShown{config, shownLimits(&js.Limits)})
	st.service.SetBounds(boundsOf(&js.Limits))
	st.api = api.New(st.service)
	s.logStreams(st)
	s.js.Store(st)
	return s.enableStreams(with)
}

// openVolume returns the file system of the store directory if it may be synced as a whole, else nil.
func (s *Server) openVolume(dir string, own *bool) vfs.Volume {
	if own != nil && !*own || own == nil && !vfs.IsVolume(dir) {
		return nil
	}
	v, err := vfs.OpenVolume(dir)
	if err != nil {
		if own != nil {
			s.log.Warnf("JetStream: own_file_system has no effect: %v", err)
		}
		return nil
	}
	return v
}

// release gives back what the service needs, after it was closed.
func (st *streams) release() {
	if st.volume != nil {
		st.volume.Close() // it was only read
	}
	st.lock.Release()
}

// logStreams shows how JetStream is set up.
func (s *Server) logStreams(st *streams) {
	c := &st.shown.Load().config
	sync := "always, before each acknowledgement"
	if !c.SyncAlways {
		sync = "every " + c.SyncInterval.String() + ": acknowledged messages can be lost in a power cut"
	}
	s.log.Noticef("Starting JetStream")
	s.log.Noticef("  Strict:          %v", c.Strict)
	s.log.Noticef("  Max Memory:      %s", byteSize(c.MaxMemory))
	s.log.Noticef("  Max Storage:     %s", byteSize(c.MaxStore))
	s.log.Noticef("  Store Directory: %q", c.StoreDir)
	s.log.Noticef("  Sync:            %s", sync)
	if c.Domain != "" {
		s.log.Noticef("  Domain:          %s", c.Domain)
	}
	s.log.Noticef("  API Level:       %d", apiLevel)
}

// enableStreams gives streams to the accounts that may have them: the global one if there is no other, else those whose
// configuration says so. In the others the API says that there are none.
func (s *Server) enableStreams(o *options.Options) error {
	limits := map[string]*options.AccountJetStream{}
	only := true
	for _, a := range o.Accounts {
		limits[a.Name] = a.JetStream
		only = only && s.accounts.Lookup(a.Name) == s.accounts.System()
	}
	if only {
		limits[account.GlobalName] = options.UnlimitedJetStream()
	}
	all := s.accounts.All()
	slices.SortFunc(all, func(a, b *account.Account) int { return strings.Compare(a.Name(), b.Name()) })
	var failed []error
	for _, a := range all {
		l := limits[a.Name()]
		if s.operators != nil {
			l = nil
			if v := s.operators.manager.Loaded(a.Name()); v != nil {
				l = v.Settings.JetStream
			}
		}
		if err := s.enableAccountStreams(a, l); err != nil {
			failed = append(failed, fmt.Errorf("account %q: %w", a.Name(), err))
		}
	}
	return errors.Join(failed...)
}

// enableAccountStreams gives streams to an account whose limits, which are not nil, allow them, and closes those of others.
// One that has them goes on under its new limits.
func (s *Server) enableAccountStreams(a *account.Account, l *options.AccountJetStream) error {
	st := s.js.Load()
	if st == nil {
		return nil // they have ended meanwhile
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if l == nil || a == s.accounts.System() {
		if st.known[a.Name()] {
			delete(st.known, a.Name())
			st.api.Detach(a.Index())
			st.service.DisableAccount(st.service.Account(a.Name()))
		}
		switch elsewhere := s.importsStreams(a); {
		case elsewhere && st.refused[a.Name()]:
			delete(st.refused, a.Name())
			st.api.Detach(a.Index())
		case !elsewhere && !st.refused[a.Name()]:
			st.refused[a.Name()] = true
			st.api.Refuse(a.Name(), a.Index())
		}
		return nil
	}
	limits := jsapi.AccountLimits{MaxMemory: l.MaxMemory, MaxStore: l.MaxStore,
		MaxStreams: l.MaxStreams, MaxConsumers: l.MaxConsumers, MaxAckPending: l.MaxAckPending,
		MemoryMaxStreamBytes: l.MemoryMaxStreamBytes, StoreMaxStreamBytes: l.StoreMaxStreamBytes, MaxBytesRequired: l.MaxBytesRequired}
	if st.known[a.Name()] {
		_, err := st.service.SetLimits(st.service.Account(a.Name()), limits)
		return err
	}
	acc, err := st.service.EnableAccount(a.Name(), a.Index(), limits)
	if err != nil {
		return err
	}
	st.known[a.Name()] = true
	if st.refused[a.Name()] {
		delete(st.refused, a.Name())
		st.api.Detach(a.Index())
	}
	st.api.Attach(acc)
	return nil
}

// importsStreams reports whether an account asks another one for streams: then it is not told that it has none.
func (s *Server) importsStreams(a *account.Account) bool {
	t, _ := s.accounts.Terms(a.Name())
	return t != nil && slices.ContainsFunc(t.Settings.Imports, func(i *options.Import) bool {
		return i.Kind == options.ServiceExchange && subject.Overlap(account.Local(i), jsapi.Prefix+">")
	})
}

func (st *streams) close() {
	st.api.Close()
	st.service.Close()
	st.release()
}

// enabled reports whether an account has streams; st may be nil.
func (st *streams) enabled(name string) bool { return st != nil && st.service.Account(name) != nil }

func (st *streams) stats() monitor.JetStreamStats {
	t := st.service.Info()
	return monitor.JetStreamStats{Memory: t.Memory, Store: t.Store, ReservedMemory: t.ReservedMemory, ReservedStore: t.ReservedStore,
		Accounts: t.Accounts, API: monitor.JetStreamAPIStats{Level: apiLevel, Total: t.APITotal, Errors: t.APIErrors}}
}

func (st *streams) fillVarz(v *monitor.JetStreamVarz) {
	stats, shown := st.stats(), *st.shown.Load()
	v.Config, v.Stats, v.Limits = &shown.config, &stats, &shown.limits
}

// serialized makes f, which is not safe for concurrent use, so.
func serialized(f func(string, []byte)) func(string, []byte) {
	var mu sync.Mutex
	return func(subject string, body []byte) {
		mu.Lock()
		defer mu.Unlock()
		f(subject, body)
	}
}
