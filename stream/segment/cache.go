package segment

import (
	"sync"
	"sync/atomic"
)

const (
	cacheShards       = 16
	defaultCacheBytes = 4 << 20 // of a log that is given no cache
	regionOverhead    = 128     // bytes, beside what the messages take
)

// Cache keeps batches that were read for single messages, verified and decompressed, and what of the indexes led to them, so that what
// is asked for often costs no read and no hash. It is shared by all logs of a process. All methods are safe for concurrent use.
//
// It is divided into shards, each with its part of the bound and a hand that goes round: what was used since the hand
// last came by stays.
type Cache struct {
	logs   atomic.Uint64
	bytes  atomic.Int64
	shards [cacheShards]cacheShard
}

type cacheShard struct {
	max int // bytes

	mu      sync.Mutex // guards what follows
	regions map[regionKey]*region
	ring    []*region
	hand    int
	bytes   int
}

// regionKey says where in which log's segment a region begins.
type regionKey struct {
	log, serial uint64
	revision    uint32
	pos         int64
}

// region is one or more batches that follow each other, from a place in the sparse index on. It is immutable but for
// used, and shared: what was read from it stays valid as long as it is held.
type region struct {
	key     regionKey
	batches []regionBatch // ascending; none in a piece of an index
	index   []byte        // such a piece, verified; see indexReader
	bytes   int
	used    atomic.Bool
}

// regionBatch is the records of a batch, or the later part of them.
type regionBatch struct {
	base    uint64
	time    int64 // of the batch
	records []byte
	starts  []uint32 // of each record
}

// NewCache returns a cache bounded to max bytes; 0 and below keeps nothing.
func NewCache(max int64) *Cache {
	c := &Cache{}
	for i := range c.shards {
		c.shards[i].max = int(max / cacheShards)
		c.shards[i].regions = map[regionKey]*region{}
	}
	return c
}

// Bytes is the memory in use.
func (c *Cache) Bytes() int64 { return c.bytes.Load() }

func (c *Cache) shard(k regionKey) *cacheShard {
	h := (k.log*31+k.serial)*0x9e3779b97f4a7c15 ^ uint64(k.pos)*0xff51afd7ed558ccd
	return &c.shards[h>>60]
}

// get returns a region; nil if it is not there.
func (c *Cache) get(k regionKey) *region {
	s := c.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.regions[k]
	if r != nil {
		r.used.Store(true)
	}
	return r
}

// put takes a region in, in place of one with the same key, unless it is larger than all that may be kept.
func (c *Cache) put(r *region) {
	s := c.shard(r.key)
	if r.bytes > s.max {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.bytes
	if old := s.regions[r.key]; old != nil {
		old.bytes, s.bytes = 0, s.bytes-old.bytes // the hand takes it out of the ring
		old.used.Store(false)
	}
	s.regions[r.key] = r
	s.ring = append(s.ring, r)
	s.bytes += r.bytes
	for s.bytes > s.max || len(s.ring) > 2*len(s.regions)+16 {
		s.turnHand(r)
	}
	c.bytes.Add(int64(s.bytes - before))
}

// turnHand looks at one region and removes it if it was not used. fresh stays.
func (s *cacheShard) turnHand(fresh *region) {
	if s.hand >= len(s.ring) {
		s.hand = 0
	}
	r := s.ring[s.hand]
	current := s.regions[r.key] == r
	if current && (r == fresh || r.used.Swap(false)) {
		s.hand++
		return
	}
	if current {
		delete(s.regions, r.key)
		s.bytes -= r.bytes
	}
	last := len(s.ring) - 1
	s.ring[s.hand], s.ring[last] = s.ring[last], nil
	s.ring = s.ring[:last]
}

// forget removes the regions of a segment whose content has changed or is gone for good.
func (c *Cache) forget(log, serial uint64) {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		for k, r := range s.regions {
			if k.log == log && k.serial == serial {
				delete(s.regions, k)
				s.bytes -= r.bytes
				c.bytes.Add(-int64(r.bytes))
				r.bytes = 0
			}
		}
		s.mu.Unlock()
	}
}

// next is the sequence behind the region's last message.
func (r *region) next() uint64 {
	if len(r.batches) == 0 {
		return 0
	}
	b := &r.batches[len(r.batches)-1]
	return b.base + uint64(len(b.starts))
}

// read decodes the message of a sequence; ok is false if the region does not hold it.
func (r *region) read(seq uint64, rec *Record) (time int64, ok bool) {
	for i := len(r.batches) - 1; i >= 0; i-- {
		b := &r.batches[i]
		if seq < b.base {
			continue
		}
		if seq-b.base >= uint64(len(b.starts)) {
			return 0, false
		}
		if _, err := ReadRecord(b.records[b.starts[seq-b.base]:], rec); err != nil {
			return 0, false
		}
		return b.time + rec.TimeDelta, true
	}
	return 0, false
}
