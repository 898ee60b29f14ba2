// Package jetstream is the service behind the JetStream API: the streams of each account, where they are stored, and how
// messages of the router reach their partitions.
//
// Lock ranks: Account.admin before Service.mu and Account.mu. admin is held during disk I/O, as it orders administrative
// changes of one account; the others are not.
package jetstream

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"godwit/protocol/jsapi"
	"godwit/server/router"
	"godwit/stream"
	"godwit/stream/latency"
	"godwit/stream/segment"
	"godwit/stream/vfs"
)

var (
	// ErrAccountExists: the account was enabled before.
	ErrAccountExists = errors.New("jetstream: account is enabled already")
	// ErrClosed: the service was closed.
	ErrClosed = errors.New("jetstream: service is closed")
)

// Options configures a Service. Zero values mean the default written at the field.
type Options struct {
	StoreDir   string // files are in its folder jetstream; required unless no file stream is ever made
	FS         vfs.FS // default: the operating system
	MaxMemory  int64  // bytes of all memory streams; 0 none at all, below no limit
	MaxStore   int64  // bytes of all file streams; likewise
	Domain     string
	ServerName string
	ServerID   string
	Version    string             // shown in metadata and advisories as the server's version
	Sync       segment.SyncPolicy // default SyncAlways
	SyncEvery  time.Duration      // for SyncInterval
	Strict     bool               // requests with unknown fields are refused
	LongAcks   bool               // subjects of acknowledgements and flow control name the domain and the account

	MaxAckPending   int           // bound of consumers; 0 no limit
	MaxRequestBatch int           // bound of pull requests; 0 no limit
	MaxDuplicates   time.Duration // bound of duplicate windows; 0 no limit
	// DefaultMaxConsumers bounds the consumers of a stream for which nobody has set a bound; default 1000.
	DefaultMaxConsumers int
	SegmentBytes        int64              // of file streams; default that of the log
	TailBytes           int64              // memory for recent messages, of all streams; default 128 MiB
	CacheBytes          int64              // memory for messages that are read one by one, of all streams; default 64 MiB
	Batches             stream.BatchLimits // of every stream; the budget is the service's own
	Logf, Warnf         func(format string, args ...any)
	Reserve             int64                             // bytes of the disk left free by publishes; default 256 MiB, or 5 % of the disk if that is less; below 0 none
	Volume              vfs.Volume                        // the file system of StoreDir, which nothing else uses: it may be synced as a whole; or nil
	SystemAccount       string                            // it has no streams of its own
	SystemAdvisory      func(subject string, body []byte) // publishes on the system account; may be nil
}

// Bounds are those of Options that can change. What concerns a stream as a whole counts for those opened or made afterwards.
type Bounds struct {
	MaxAckPending       int
	MaxRequestBatch     int
	MaxDuplicates       time.Duration
	DefaultMaxConsumers int
	Batches             stream.BatchLimits
}

const (
	defaultTailBytes  = 128 << 20
	defaultCacheBytes = 64 << 20
)

// Service holds the streams of all accounts.
type Service struct {
	opts  Options
	sched *segment.Scheduler
	cache *segment.Cache
	tails *segment.Tails
	pace  *segment.Pace
	disk  *disk // nil: there is no store directory

	memory, store usage // of all accounts
	bounds        atomic.Pointer[Bounds]
	stats         stream.Stats
	audits        audits
	batches       stream.BatchBudget

	mu       sync.Mutex // guards what follows
	accounts map[string]*Account
	problems []Problem
	closed   bool
}

// Problem is something an operator should know: a stream that could not be opened, files that belong to nothing.
type Problem struct {
	Account  string
	Stream   string
	Consumer string
	Text     string
}

// New returns a service without accounts. It touches no file; it watches the free space of the disk until Close.
func New(o Options) (*Service, error) {
	if o.FS == nil {
		o.FS = vfs.OS()
	}
	for _, f := range []*func(string, ...any){&o.Logf, &o.Warnf} {
		if *f == nil {
			*f = func(string, ...any) {}
		}
	}
	if o.TailBytes == 0 {
		o.TailBytes = defaultTailBytes
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = defaultCacheBytes
	}
	if o.Version == "" {
		return nil, errors.New("jetstream options: Version is required")
	}
	s := &Service{opts: o, sched: segment.NewScheduler(0), cache: segment.NewCache(o.CacheBytes),
		tails: segment.NewTails(o.TailBytes), pace: segment.NewPace(0), accounts: map[string]*Account{}}
	s.SetMax(o.MaxMemory, o.MaxStore)
	s.SetBounds(Bounds{o.MaxAckPending, o.MaxRequestBatch, o.MaxDuplicates, o.DefaultMaxConsumers, o.Batches})
	if o.Volume != nil {
		s.sched.SyncTogether(o.Volume)
	}
	if o.StoreDir != "" {
		s.disk = newDisk(o.FS, o.StoreDir, o.Reserve, s.diskChanged)
	}
	return s, nil
}

// EnableAccount gives an account streams, those found on disk first. index is where its messages are routed. Errors, besides
// those of the disk: ErrClosed, ErrAccountExists, *jsapi.Error if there is not that much for the account.
func (s *Service) EnableAccount(name string, index *router.Index, limits jsapi.AccountLimits) (*Account, error) {
	a := &Account{service: s, name: name, index: index, streams: map[string]*Stream{}}
	a.setLimits(shownLimits(limits))
	a.dir = s.accountDir(name)
	s.mu.Lock()
	if err := s.grantableLocked(name, limits); err != nil {
		s.mu.Unlock()
		return nil, err
	}
	switch {
	case s.closed:
		s.mu.Unlock()
		return nil, ErrClosed
	case s.accounts[name] != nil:
		s.mu.Unlock()
		return nil, ErrAccountExists
	}
	s.accounts[name] = a
	s.mu.Unlock()
	if err := a.recover(); err != nil {
		return nil, fmt.Errorf("streams of account %s: %w", name, err)
	}
	return a, nil
}

// shownLimits is l as it is shown.
func shownLimits(l jsapi.AccountLimits) jsapi.AccountLimits {
	for _, bound := range []*int64{&l.MemoryMaxStreamBytes, &l.StoreMaxStreamBytes} {
		if *bound <= 0 {
			*bound = -1
		}
	}
	return l
}

// grantableLocked says whether the server has what the limits of an account promise it, beside all that it has promised others.
func (s *Service) grantableLocked(name string, l jsapi.AccountLimits) error {
	for _, kind := range []struct {
		code   jsapi.Code
		server *usage
		want   int64
		of     func(*Account) *usage
	}{
		{jsapi.ErrMemoryResourcesExceeded, &s.memory, l.MaxMemory, func(a *Account) *usage { return &a.memory }},
		{jsapi.ErrStorageResourcesExceeded, &s.store, l.MaxStore, func(a *Account) *usage { return &a.store }},
	} {
		limit := kind.server.max.Load()
		if limit < 0 || kind.want <= 0 {
			continue
		}
		sum := kind.want
		for _, a := range s.accounts {
			if a.name != name {
				sum = atMost(sum, max(0, kind.of(a).max.Load()))
			}
		}
		if sum > limit {
			return jsapi.Err(kind.code)
		}
	}
	return nil
}

// SetLimits changes what an account may use. What it has already stays, even if it is more. It reports whether that is a
// change. The error is as that of EnableAccount.
func (s *Service) SetLimits(a *Account, limits jsapi.AccountLimits) (changed bool, err error) {
	limits = shownLimits(limits)
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.Limits() == limits {
		return false, nil
	}
	if err := s.grantableLocked(a.name, limits); err != nil {
		return false, err
	}
	a.setLimits(limits)
	return true, nil
}

// DisableAccount closes the streams of an account, and forgets those in memory. Those on disk are there when it is enabled
// again. Nothing may ask for the account's streams any more.
func (s *Service) DisableAccount(a *Account) {
	s.mu.Lock()
	if s.accounts[a.name] == a {
		delete(s.accounts, a.name)
	}
	s.mu.Unlock()
	a.close()
	s.memory.bytes.Add(-a.memory.bytes.Load())
	s.store.bytes.Add(-a.store.bytes.Load())
}

// SetBounds replaces the bounds that Options gave.
func (s *Service) SetBounds(b Bounds) { s.bounds.Store(&b) }

// SetMax changes how many bytes all streams in memory and in files may use; below 0 there is no limit.
func (s *Service) SetMax(memory, store int64) {
	s.memory.max.Store(memory)
	s.store.max.Store(store)
}

// Account returns an account, nil if it was not enabled.
func (s *Service) Account(name string) *Account {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accounts[name]
}

// Accounts returns all enabled accounts.
func (s *Service) Accounts() []*Account {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*Account, 0, len(s.accounts))
	for _, a := range s.accounts {
		list = append(list, a)
	}
	return list
}

// Options returns what the service was made with.
func (s *Service) Options() Options { return s.opts }

// EndRequests tells open pull requests that the server is going. It is called while clients are still connected.
func (s *Service) EndRequests() {
	var wg sync.WaitGroup
	for _, a := range s.Accounts() {
		for _, st := range a.all() {
			wg.Go(st.set.EndRequests)
		}
	}
	wg.Wait()
}

// Close closes all streams; what was acknowledged is on disk.
func (s *Service) Close() {
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	if closed {
		return
	}
	var wg sync.WaitGroup
	for _, a := range s.Accounts() {
		for _, st := range a.all() {
			wg.Add(1)
			go func() {
				defer wg.Done()
				st.close()
			}()
		}
	}
	wg.Wait()
	s.sched.Close()
	s.tails.Close()
	s.disk.close()
}

// problem notes something for Health.
func (s *Service) problem(p Problem) {
	s.opts.Warnf("JetStream: account %q stream %q: %s", p.Account, p.Stream, p.Text)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.problems) < maxProblems {
		s.problems = append(s.problems, p)
	}
}

// maxProblems bounds the list; the log has the rest.
const maxProblems = 1000

// Health returns what is wrong, nothing if all is well.
func (s *Service) Health() []Problem {
	list := s.diskProblems()
	s.mu.Lock()
	defer s.mu.Unlock()
	return append(list, s.problems...)
}

// Totals are numbers over all accounts.
type Totals struct {
	Accounts, Streams, Consumers int
	Messages, Bytes              uint64
	Memory, Store                uint64 // bytes in use
	ReservedMemory               uint64 // max_bytes of all memory streams
	ReservedStore                uint64
	APITotal, APIErrors          uint64
	Tail, Cache                  int64 // bytes of memory for recent messages, and for those read one by one
	Audited, Violations          uint64
	Rewritten, Freed             uint64 // segments that were made smaller since the start, and by how many bytes
	RewriteFailed                uint64 // times that could not be done
	DiskFree                     int64  // bytes free where the files are, 0 if that is not known
	DiskFull                     bool   // publishes into file streams are refused
}

// Latencies are how long things take; all histograms are the service's own.
func (s *Service) Latencies() (publish, deliver, sync *latency.Histogram) {
	return &s.stats.Publish, &s.stats.Deliver, &s.sched.Syncs
}

// Mailboxes tells how many bytes wait for the turns of all partitions, and how many messages found no room there.
func (s *Service) Mailboxes() (bytes int64, refused uint64) {
	for _, a := range s.Accounts() {
		for _, x := range a.all() {
			bytes += x.set.Waiting()
		}
	}
	return bytes, s.stats.Refused.Load()
}

// Info returns the numbers.
func (s *Service) Info() (t Totals) {
	t.Tail, t.Cache = s.tails.Bytes(), s.cache.Bytes()
	t.Audited, t.Violations = s.audits.consumers.Load(), s.audits.violations.Load()
	t.Rewritten, t.Freed, t.RewriteFailed = s.pace.Rewritten()
	if s.disk != nil {
		t.DiskFree, t.DiskFull = s.disk.free.Load(), s.disk.full.Load()
	}
	for _, a := range s.Accounts() {
		st := a.Stats()
		t.Accounts++
		t.Streams += st.Streams
		t.Consumers += st.Consumers
		t.Memory += st.Memory
		t.Store += st.Store
		t.ReservedMemory += st.ReservedMemory
		t.ReservedStore += st.ReservedStore
		t.APITotal += st.API.Total
		t.APIErrors += st.API.Errors
		for _, x := range a.all() {
			msgs, bytes, _ := x.set.Stats()
			t.Messages += msgs
			t.Bytes += bytes
		}
	}
	return t
}
