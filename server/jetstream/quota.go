package jetstream

import (
	"math"

	"godwit/protocol/jsapi"
)

// quota is what the account and the server grant a stream. It implements stream.Quota.
type quota struct {
	account, server *usage
	disk            *disk // of file streams; nil: not watched
}

func (a *Account) quota(storage jsapi.Storage) *quota {
	s := a.service
	if storage == jsapi.MemoryStorage {
		return &quota{&a.memory, &s.memory, nil}
	}
	return &quota{&a.store, &s.store, s.disk}
}

// Limited implements stream.Quota.
func (q *quota) Limited() bool { return q.account.limited() || q.server.limited() || q.disk != nil }

// Admit implements stream.Quota.
func (q *quota) Admit(bytes int64) *jsapi.Error {
	if !q.server.admits(bytes) {
		return jsapi.Err(jsapi.ErrInsufficientResources)
	}
	if !q.account.admits(bytes) {
		return jsapi.Err(jsapi.ErrAccountResourcesExceeded)
	}
	if q.disk.isFull(bytes) {
		return jsapi.Err(jsapi.ErrInsufficientResources)
	}
	return nil
}

// Used implements stream.Quota.
func (q *quota) Used(bytes int64) {
	q.account.bytes.Add(bytes)
	q.server.bytes.Add(bytes)
	q.disk.used(bytes)
}

// checkReservation says whether max_bytes of a new or changed stream can be promised. before is what the stream had
// reserved.
func (a *Account) checkReservation(cfg *jsapi.StreamConfig, before int64) *jsapi.Error {
	if cfg.MaxBytes <= 0 {
		return nil
	}
	s := a.service
	code, limit, serverLimit := jsapi.ErrStorageResourcesExceeded, a.store.max.Load(), s.store.max.Load()
	if cfg.Storage == jsapi.MemoryStorage {
		code, limit, serverLimit = jsapi.ErrMemoryResourcesExceeded, a.memory.max.Load(), s.memory.max.Load()
	}
	own := atMost(a.reserved(cfg.Storage)-before, cfg.MaxBytes)
	if limit >= 0 && own > limit {
		return jsapi.Err(code)
	}
	if serverLimit < 0 {
		return nil
	}
	all := cfg.MaxBytes - before
	for _, other := range s.Accounts() {
		all = atMost(all, other.reserved(cfg.Storage))
	}
	if all > serverLimit {
		return jsapi.Err(code)
	}
	return nil
}

// atMost adds two sizes; a sum beyond the largest number is that. y is not negative.
func atMost(x, y int64) int64 {
	if x > math.MaxInt64-y {
		return math.MaxInt64
	}
	return x + y
}

// reserved is the sum of max_bytes of the account's streams of a storage type.
func (a *Account) reserved(storage jsapi.Storage) (sum int64) {
	for _, s := range a.all() {
		if cfg := s.Config(); cfg.Storage == storage {
			sum = atMost(sum, max(0, cfg.MaxBytes))
		}
	}
	return sum
}
