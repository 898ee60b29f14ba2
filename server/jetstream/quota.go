package jetstream

import (
	"math"

	"godwit/protocol/jsapi"
)

// quota is what the account and the server grant a stream. It implements stream.Quota.
type quota struct {
	account, server *usage
	accountMax      int64 // bytes; below 0 no limit
	serverMax       int64
	disk            *disk // of file streams; nil: not watched
}

func (a *Account) quota(storage jsapi.Storage) *quota {
	s := a.service
	if storage == jsapi.MemoryStorage {
		return &quota{&a.memory, &s.memory, a.limits.MaxMemory, s.opts.MaxMemory, nil}
	}
	return &quota{&a.store, &s.store, a.limits.MaxStore, s.opts.MaxStore, s.disk}
}

// Limited implements stream.Quota.
func (q *quota) Limited() bool { return q.accountMax >= 0 || q.serverMax >= 0 || q.disk != nil }

// Admit implements stream.Quota.
func (q *quota) Admit(bytes int64) *jsapi.Error {
	if q.serverMax >= 0 && q.server.bytes.Load()+bytes > q.serverMax {
		return jsapi.Err(jsapi.ErrInsufficientResources)
	}
	if q.accountMax >= 0 && q.account.bytes.Load()+bytes > q.accountMax {
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
	code, limit, serverLimit := jsapi.ErrStorageResourcesExceeded, a.limits.MaxStore, s.opts.MaxStore
	if cfg.Storage == jsapi.MemoryStorage {
		code, limit, serverLimit = jsapi.ErrMemoryResourcesExceeded, a.limits.MaxMemory, s.opts.MaxMemory
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
