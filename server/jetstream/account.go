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
	limits  jsapi.AccountLimits

	memory, store usage

	// API counts requests; front ends write it.
	API struct{ Total, Errors atomic.Uint64 }

	admin sync.Mutex // held by whoever creates, changes or deletes a stream

	mu      sync.RWMutex // guards streams
	streams map[string]*Stream
}

// usage is storage in use, in bytes, as streams count it.
type usage struct{ bytes atomic.Int64 }

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
	st := jsapi.AccountStats{Limits: a.limits, Domain: a.service.opts.Domain,
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
func (a *Account) Limits() jsapi.AccountLimits { return a.limits }
