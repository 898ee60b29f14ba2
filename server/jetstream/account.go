package jetstream

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"godwit/protocol/jsapi"
	"godwit/protocol/subject"
	"godwit/server/router"
)

// Account is one account with streams.
type Account struct {
	service *Service
	name    string
	dir     string // of its streams; on disk
	index   *router.Index
	limits  atomic.Pointer[jsapi.AccountLimits] // never nil

	memory, store usage

	// API counts requests; front ends write it.
	API struct{ Total, Errors atomic.Uint64 }

	admin sync.Mutex // held by whoever creates, changes or deletes a stream

	mu      sync.RWMutex // guards what follows
	streams map[string]*Stream
	closed  bool // no stream is made or opened any more
}

// usage is storage in use, in bytes, as streams count it, and what may be; below 0 there is no limit.
type usage struct{ bytes, max atomic.Int64 }

func (u *usage) limited() bool { return u.max.Load() >= 0 }

// admits reports whether there is room for more.
func (u *usage) admits(bytes int64) bool {
	limit := u.max.Load()
	return limit < 0 || u.bytes.Load()+bytes <= limit
}

// Name is the account's name.
func (a *Account) Name() string { return a.name }

// Index is where the account's messages are routed.
func (a *Account) Index() *router.Index { return a.index }

// Stream returns a stream, nil if there is none of the name.
func (a *Account) Stream(name string) *Stream {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.streams[name]
}

// all returns all streams in no order.
func (a *Account) all() []*Stream {
	a.mu.RLock()
	defer a.mu.RUnlock()
	list := make([]*Stream, 0, len(a.streams))
	for _, s := range a.streams {
		list = append(list, s)
	}
	return list
}

// Streams returns the streams that have a subject in common with the filter, or all if it is empty, sorted by name.
func (a *Account) Streams(filter string) []*Stream {
	list := a.all()
	if filter != "" {
		list = slices.DeleteFunc(list, func(s *Stream) bool {
			return !slices.ContainsFunc(s.Config().Subjects, func(subj string) bool { return subject.Overlap(subj, filter) })
		})
	}
	slices.SortFunc(list, func(x, y *Stream) int { return strings.Compare(x.name, y.name) })
	return list
}

// Stats describes what the account uses.
func (a *Account) Stats() jsapi.AccountStats {
	st := jsapi.AccountStats{Limits: a.Limits(), Domain: a.service.opts.Domain,
		API: jsapi.APIStats{Level: jsapi.Level, Total: a.API.Total.Load(), Errors: a.API.Errors.Load()}}
	for _, s := range a.all() {
		cfg := s.Config()
		st.Streams++
		_, bytes, consumers := s.set.Stats()
		st.Consumers += int(consumers)
		reserved := uint64(max(0, cfg.MaxBytes))
		if cfg.Storage == jsapi.MemoryStorage {
			st.Memory += bytes
			st.ReservedMemory += reserved
		} else {
			st.Store += bytes
			st.ReservedStore += reserved
		}
	}
	return st
}

func (a *Account) put(s *Stream) {
	a.mu.Lock()
	a.streams[s.name] = s
	a.mu.Unlock()
}

func (a *Account) drop(s *Stream) {
	a.mu.Lock()
	delete(a.streams, s.name)
	a.mu.Unlock()
}

// Limits are what the account may use.
func (a *Account) Limits() jsapi.AccountLimits { return *a.limits.Load() }

// setLimits changes what the account may use. What is there already stays.
func (a *Account) setLimits(l jsapi.AccountLimits) {
	a.limits.Store(&l)
	a.memory.max.Store(l.MaxMemory)
	a.store.max.Store(l.MaxStore)
}

func (a *Account) isClosed() bool {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.closed
}

// close closes the account's streams; their files stay.
func (a *Account) close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.admin.Lock() // whoever was making one is done with it
	defer a.admin.Unlock()
	var wg sync.WaitGroup
	for _, s := range a.all() {
		wg.Go(s.close)
	}
	wg.Wait()
}
