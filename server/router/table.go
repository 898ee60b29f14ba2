package router

import (
	"hash/maphash"
	"strings"
	"sync/atomic"
)

// node is a whole subject in Index.literals, or one token in a trie. Its subscriptions are one and more together:
// most subjects have a single one, and the list then costs nothing.
type node struct {
	token string
	hash  uint32
	one   atomic.Pointer[Sub] // never a queue subscription
	more  atomic.Pointer[subList]
	down  atomic.Pointer[branch] // the tokens after this one; tries only
}

// subList is immutable, except that a writer may append behind the published length.
type subList struct {
	plain  []*Sub
	queues []queueList
}

type queueList struct {
	name    string
	members []*Sub
}

// empty reports whether nothing hangs on the node.
func (n *node) empty() bool {
	return n.one.Load() == nil && n.more.Load() == nil && n.down.Load() == nil
}

// table is an open-addressed hash table of nodes: one writer at a time, readers without locks. An insertion stores one
// pointer into an empty slot; growing and shrinking publish a copy. At least a quarter of the slots is nil.
type table struct {
	slots atomic.Pointer[[]atomic.Pointer[node]]
	used  int32 // slots not nil, removed nodes included
	live  int32
}

const minSlots = 4

var (
	hashSeed = maphash.MakeSeed()
	removed  = &node{} // its empty token equals no subject
)

func hashOf(b []byte) uint32 { return uint32(maphash.Bytes(hashSeed, b)) }

func (t *table) find(h uint32, key []byte) *node {
	p := t.slots.Load()
	if p == nil {
		return nil
	}
	slots := *p
	mask := uint32(len(slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		n := slots[i].Load()
		if n == nil || n.hash == h && n.token == string(key) && n != removed {
			return n
		}
	}
}

// add inserts a node for key, which is not there yet. key is copied.
func (t *table) add(h uint32, key string) *node {
	if p := t.slots.Load(); p == nil || int(t.used+1)*4 > len(*p)*3 {
		t.resize(int(t.live) + 1)
	}
	n := &node{token: strings.Clone(key), hash: h}
	place(*t.slots.Load(), n)
	t.used++
	t.live++
	return n
}

// resize publishes a copy with room for n nodes, at most 60 % full, without the removed ones.
func (t *table) resize(n int) {
	size := minSlots
	for size*3 < n*5 {
		size *= 2
	}
	next := make([]atomic.Pointer[node], size)
	if p := t.slots.Load(); p != nil {
		for i := range *p {
			if n := (*p)[i].Load(); n != nil && n != removed {
				place(next, n)
			}
		}
	}
	t.used = t.live
	t.slots.Store(&next)
}

func place(slots []atomic.Pointer[node], n *node) {
	mask := uint32(len(slots) - 1)
	i := n.hash & mask
	for slots[i].Load() != nil {
		i = (i + 1) & mask
	}
	slots[i].Store(n)
}

func (t *table) remove(n *node) {
	slots := *t.slots.Load()
	mask := uint32(len(slots) - 1)
	for i := n.hash & mask; slots[i].Load() != nil; i = (i + 1) & mask {
		if slots[i].Load() == n {
			slots[i].Store(removed)
			t.live--
			break
		}
	}
	if len(slots) > 16*minSlots && int(t.live)*8 < len(slots) {
		t.resize(2 * int(t.live))
	}
}

func (t *table) findOrAdd(h uint32, key string) *node {
	if n := t.find(h, []byte(key)); n != nil {
		return n
	}
	return t.add(h, key)
}

// each calls f for every node. Nodes added or removed meanwhile may be missed or seen.
func (t *table) each(f func(*node)) {
	p := t.slots.Load()
	if p == nil {
		return
	}
	for i := range *p {
		if n := (*p)[i].Load(); n != nil && n != removed {
			f(n)
		}
	}
}
