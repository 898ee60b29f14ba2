package jetstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nuid"

	"godwit/protocol/jsapi"
	"godwit/protocol/subject"
	"godwit/stream"
	"godwit/stream/consumer"
	"godwit/stream/segment"
	"godwit/stream/vfs"
)

// Create makes a stream, or returns the one there is if its configuration is the same. cfg is without defaults.
func (a *Account) Create(cfg jsapi.StreamConfig, pedantic bool) (*Stream, *jsapi.Error) {
	if cfg.Sealed {
		return nil, jsapi.InvalidConfig("stream configuration for create can not be sealed")
	}
	if cfg.MirrorDirect && cfg.Mirror == nil {
		return nil, jsapi.InvalidConfig("stream has no mirror but does have mirror direct")
	}
	a.admin.Lock()
	defer a.admin.Unlock()
	if a.isClosed() {
		return nil, jsapi.Err(jsapi.ErrNotEnabledForAccount)
	}
	a.mirrorDirect(&cfg)
	if old := a.Stream(cfg.Name); old != nil {
		if err := a.checkNewAlone(&cfg, pedantic); err != nil {
			return nil, err
		}
		if stream.SameConfig(old.Config(), &cfg) {
			return old, nil
		}
		return nil, jsapi.Err(jsapi.ErrStreamNameExist)
	}
	if err := a.checkNew(&cfg, pedantic); err != nil {
		return nil, err
	}
	cfg.Metadata = jsapi.WithLevel(cfg.Metadata, cfg.RequiredLevel())
	s, err := a.make(cfg)
	if err != nil {
		a.service.opts.Warnf("JetStream: create stream %s > %s: %v", a.name, cfg.Name, err)
		return nil, jsapi.Wrap(jsapi.ErrStreamCreate, err)
	}
	a.announce("CREATED", "create", s.name)
	return s, nil
}

// checkNew says whether a stream of the configuration, whose defaults it fills in, can be made.
func (a *Account) checkNew(cfg *jsapi.StreamConfig, pedantic bool) *jsapi.Error {
	if err := a.checkNewAlone(cfg, pedantic); err != nil {
		return err
	}
	if err := a.checkRoom(cfg); err != nil {
		return err
	}
	if err := a.checkReservation(cfg, 0); err != nil {
		return err
	}
	if a.overlaps(cfg) {
		return jsapi.Err(jsapi.ErrStreamSubjectOverlap)
	}
	return a.checkOrigins(cfg)
}

// checkNewAlone makes the checks that depend on no other stream.
func (a *Account) checkNewAlone(cfg *jsapi.StreamConfig, pedantic bool) *jsapi.Error {
	if err := stream.CheckConfig(cfg, a.streamLimits(), pedantic); err != nil {
		return err
	}
	if cfg.Replicas > 1 {
		return jsapi.Err(jsapi.ErrStreamReplicasNotSupported)
	}
	return nil
}

// checkRoom checks the limits on the number of streams and what their consumers may be, and that the disk is not full.
func (a *Account) checkRoom(cfg *jsapi.StreamConfig) *jsapi.Error {
	if cfg.Storage == jsapi.FileStorage && a.service.disk.isFull(0) {
		return jsapi.Err(jsapi.ErrStorageResourcesExceeded)
	}
	a.mu.RLock()
	n := len(a.streams)
	a.mu.RUnlock()
	limits := a.Limits()
	if limits.MaxStreams > 0 && n >= limits.MaxStreams {
		return jsapi.Err(jsapi.ErrMaximumStreamsLimit)
	}
	if limits.MaxConsumers > 0 && cfg.MaxConsumers > limits.MaxConsumers {
		return jsapi.Err(jsapi.ErrMaximumConsumersLimit)
	}
	return nil
}

// overlaps says whether another stream captures one of the subjects.
func (a *Account) overlaps(cfg *jsapi.StreamConfig) bool {
	for _, s := range a.all() {
		if s.name == cfg.Name {
			continue
		}
		for _, theirs := range s.Config().Subjects {
			if slices.ContainsFunc(cfg.Subjects, func(ours string) bool { return subject.Overlap(ours, theirs) }) {
				return true
			}
		}
	}
	return false
}

func (a *Account) streamLimits() stream.Limits {
	l := a.Limits()
	return stream.Limits{Duplicates: a.service.bounds.Load().MaxDuplicates, MaxBytesRequired: l.MaxBytesRequired,
		MemoryBytes: l.MemoryMaxStreamBytes, StoreBytes: l.StoreMaxStreamBytes}
}

func (a *Account) consumerLimits() consumer.Limits {
	b := a.service.bounds.Load()
	l := consumer.Limits{MaxAckPending: a.Limits().MaxAckPending, MaxRequestBatch: b.MaxRequestBatch}
	if o := b.MaxAckPending; o > 0 && (l.MaxAckPending <= 0 || o < l.MaxAckPending) {
		l.MaxAckPending = o
	}
	return l
}

// make creates a stream's files, opens it and routes its subjects.
func (a *Account) make(cfg jsapi.StreamConfig) (*Stream, error) {
	m := a.newMeta(cfg)
	if cfg.Storage == jsapi.MemoryStorage {
		return a.open(m, "", nil)
	}
	fresh, err := a.makeDir(m)
	if err != nil {
		return nil, err
	}
	dir, err := a.place(fresh, cfg.Name)
	if err != nil {
		return nil, err
	}
	s, err := a.open(m, dir, nil)
	if err != nil {
		_ = a.erase(dir, m.UID) // the error of open says more
	}
	return s, err
}

// setAside makes room for a stream's directory: files of an unknown origin are kept under another name.
func (a *Account) setAside(dir string) error {
	fsys := a.service.opts.FS
	if _, err := fsys.Stat(dir); err != nil {
		return nil // nothing there
	}
	aside := filepath.Join(a.dir, asidePrefix+nuid.Next())
	if err := fsys.Rename(dir, aside); err != nil {
		return err
	}
	a.service.problem(Problem{Account: a.name, Text: fmt.Sprintf("%s belongs to no stream; it is kept as %s", dir, aside)})
	return fsys.SyncDir(a.dir)
}

// streamOptions are what does not depend on the stream's surroundings, and is the same for all partitions. The file system
// of a memory stream is a new one.
func (a *Account) streamOptions(m *meta) stream.Options {
	o := a.service.opts
	so := stream.Options{FS: o.FS, Sync: o.Sync, SyncEvery: o.SyncEvery, Scheduler: a.service.sched, Cache: a.service.cache, Pace: a.service.pace, Tails: a.service.tails, Stats: &a.service.stats,
		SegmentBytes: o.SegmentBytes, Config: m.first(), Created: m.Created, Domain: o.Domain, AckPlace: a.ackPlace(),
		Consumers: a.consumerLimits, Quota: a.quota(m.Config.Storage), Batches: a.service.bounds.Load().Batches,
		DefaultMaxConsumers: a.service.bounds.Load().DefaultMaxConsumers}
	so.Batches.Budget = &a.service.batches
	if m.Config.PersistMode == jsapi.AsyncPersist && so.Sync == segment.SyncAlways {
		so.Sync, so.SyncEvery = segment.SyncInterval, asyncPersistEvery
	}
	if m.Config.Storage == jsapi.MemoryStorage {
		so.FS, so.Sync = vfs.NewVolatile(), segment.SyncOS
		so.SegmentBytes = memorySegmentBytes
	}
	return so
}

// place says where a partition's log is, in the directory of its stream, which is empty for a memory stream, and by what it
// is known.
func (m *meta) place(dir string, partition int, o *stream.Options) {
	if dir == "" {
		dir = "/" // of a file system of its own
	}
	o.Dir, o.Key = filepath.Join(dir, strconv.Itoa(partition)), m.key(partition)
}

// open opens a stream and takes it in. dir is empty for a memory stream; such a one may be in memory already, which is
// what fsys is for, else nil.
func (a *Account) open(m *meta, dir string, fsys vfs.FS) (*Stream, error) {
	s := &Stream{account: a, name: m.Config.Name, meta: m, dir: dir}
	so := a.streamOptions(m)
	if fsys != nil {
		so.FS = fsys
	}
	set, err := stream.OpenSet(so, func(i int, o *stream.Options) {
		h := &hooks{s: s, numbers: o.Numbers(), out: newOutput(a.index)}
		o.Out, o.Refusals, o.Hooks = h.out, newOutput(a.index), h
		m.place(dir, i, o)
	})
	if err != nil {
		return nil, err
	}
	s.set = set
	if err := set.Start(); err != nil {
		return nil, errors.Join(err, set.Close())
	}
	cfg := set.Config()
	s.config.Store(&cfg)
	a.put(s)
	s.route()
	s.copyOrigins()
	return s, nil
}

// asyncPersistEvery is how long what was acknowledged may be on its way to the disk of a stream that asks for that.
const asyncPersistEvery = time.Second

// memorySegmentBytes is small, so that removed messages give back their memory soon.
const memorySegmentBytes = 16 << 20

// Update changes a stream's configuration. cfg is whole, without defaults.
func (a *Account) Update(cfg jsapi.StreamConfig, pedantic bool) (*Stream, *jsapi.Error) {
	a.admin.Lock()
	defer a.admin.Unlock()
	s := a.Stream(cfg.Name)
	if s == nil {
		return nil, jsapi.Err(jsapi.ErrStreamNotFound)
	}
	if err := stream.CheckConfig(&cfg, a.streamLimits(), pedantic); err != nil {
		return nil, err
	}
	old := s.Config()
	cfg.FirstSeq = old.FirstSeq // it has no effect any more
	if err := stream.CheckUpdate(old, &cfg); err != nil {
		return nil, err
	}
	if cfg.Replicas > 1 {
		return nil, jsapi.Err(jsapi.ErrStreamReplicasNotSupported)
	}
	if a.overlaps(&cfg) {
		return nil, jsapi.Err(jsapi.ErrStreamSubjectOverlap)
	}
	if err := a.checkOrigins(&cfg); err != nil {
		return nil, err
	}
	if err := a.checkReservation(&cfg, max(0, old.MaxBytes)); err != nil {
		return nil, err
	}
	if err := s.checkConsumers(&cfg); err != nil {
		return nil, err
	}
	cfg.Metadata = jsapi.WithLevel(cfg.Metadata, cfg.RequiredLevel())
	if stream.SameConfig(old, &cfg) {
		return s, nil
	}
	text, err := json.Marshal(&cfg)
	if err != nil {
		return nil, jsapi.Wrap(jsapi.ErrStreamUpdate, err)
	}
	if err := s.set.Reconfigure(text); err != nil {
		return nil, err
	}
	s.config.Store(&cfg)
	if !slices.Equal(old.Subjects, cfg.Subjects) || old.AllowDirect != cfg.AllowDirect || old.MirrorDirect != cfg.MirrorDirect || cfg.Mirror == nil {
		s.route()
	}
	s.copyOrigins()
	s.noteConfig(&cfg)
	a.announce("UPDATED", "modify", s.name)
	return s, nil
}

// noteConfig brings stream.json up to date for whoever looks at it; the log has the configuration already.
func (s *Stream) noteConfig(cfg *jsapi.StreamConfig) {
	if s.meta.First == nil {
		first := s.meta.Config
		s.meta.First = &first
	}
	s.meta.Config = *cfg
	if s.dir == "" {
		return
	}
	if err := writeMeta(s.account.service.opts.FS, s.dir, s.meta); err != nil {
		s.account.service.opts.Warnf("JetStream: stream.json of %s > %s: %v", s.account.name, s.name, err)
	}
}

// Delete removes a stream, its consumers and its files.
func (a *Account) Delete(name string) *jsapi.Error {
	a.admin.Lock()
	defer a.admin.Unlock()
	s := a.Stream(name)
	if s == nil {
		return jsapi.Err(jsapi.ErrStreamNotFound)
	}
	a.drop(s)
	s.endOrigins(true)
	s.unroute()
	_, bytes, _ := s.set.Stats()
	if err := s.set.Abandon(); err != nil {
		a.service.opts.Warnf("JetStream: delete stream %s > %s: %v", a.name, name, err)
	}
	a.quota(s.Config().Storage).Used(-int64(bytes))
	a.announce("DELETED", "delete", name)
	if s.dir == "" {
		return nil
	}
	if err := a.erase(s.dir, s.meta.UID); err != nil {
		return jsapi.Err(jsapi.ErrStreamDelete, "err", err.Error())
	}
	return nil
}

// erase removes a stream's directory so that a crash leaves all of it or nothing that is taken for a stream.
func (a *Account) erase(dir, uid string) error {
	fsys := a.service.opts.FS
	gone := filepath.Join(a.dir, deletedPrefix+uid)
	if err := fsys.Rename(dir, gone); err != nil {
		return err
	}
	if err := fsys.SyncDir(a.dir); err != nil {
		return err
	}
	return fsys.RemoveAll(gone)
}

// announce publishes the advisory about a change of a stream.
func (a *Account) announce(subject, act, name string) {
	out := newOutput(a.index)
	h := &hooks{s: &Stream{account: a, name: name}, out: out}
	h.send("STREAM."+subject+"."+name, func() any {
		return action{newAdvisory("stream_action", name), "", act, a.service.opts.Domain}
	})
	out.Flush()
}
