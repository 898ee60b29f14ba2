package stream

import (
	"encoding/binary"
	"errors"
	"hash/maphash"

	"godwit/protocol/subject"
)

var errBadSubjects = errors.New("malformed subject table")

// subjectTable keeps, for each subject that has messages, the first, the last and how many, without a pointer per
// subject: an open-addressing table of numbers, an array of entries and an arena of names, into none of which the
// garbage collector looks. The hash comes with the message, from the goroutine that read it.
type subjectTable struct {
	seed    maphash.Seed
	slots   []uint32 // entry number + 1; length is a power of two
	entries []subjectEntry
	free    []uint32 // unused entries
	names   []byte
	garbage int          // bytes of names that no entry uses
	lists   [][]seqBytes // by entry, if every message's sequence is kept; else nil
}

// subjectEntry is what is known of one subject. first is a lower bound: removing messages does not look for the next
// one, unless there are lists.
type subjectEntry struct {
	hash        uint64
	first, last uint64
	count       uint64 // 0: unused entry
	name        uint32 // offset in names
	length      uint32
	bytes       uint32 // stored size of the last message
	watch       uint32 // set of counted consumers that want the subject; see watchers
	watchGen    uint32
	lastStale   bool // the last message was removed: last is an upper bound
}

// seqBytes is a message of a subject and its stored size.
type seqBytes struct {
	seq   uint64
	bytes uint32
}

func (t *subjectTable) hash(subj []byte) uint64 { return maphash.Bytes(t.seed, subj) }

func (t *subjectTable) len() int { return len(t.entries) - len(t.free) }

func (t *subjectTable) name(i int) []byte {
	e := &t.entries[i]
	return t.names[e.name : e.name+e.length]
}

// find returns the entry of a subject, -1 if it has no messages.
func (t *subjectTable) find(hash uint64, subj []byte) int {
	if len(t.slots) == 0 {
		return -1
	}
	mask := uint64(len(t.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		n := t.slots[i]
		if n == 0 {
			return -1
		}
		if e := &t.entries[n-1]; e.hash == hash && string(t.names[e.name:e.name+e.length]) == string(subj) {
			return int(n - 1)
		}
	}
}

// touch notes a new message and returns the entry of its subject; i is what find returned.
func (t *subjectTable) touch(i int, hash uint64, subj []byte, seq uint64, bytes uint32) int {
	if i < 0 {
		i = t.add(hash, subj)
		t.entries[i].first = seq
	}
	e := &t.entries[i]
	e.last, e.bytes, e.lastStale = seq, bytes, false
	e.count++
	if t.lists != nil {
		t.lists[i] = append(t.lists[i], seqBytes{seq, bytes})
	}
	return i
}

func (t *subjectTable) add(hash uint64, subj []byte) int {
	if 4*(t.len()+1) > 3*len(t.slots) {
		t.grow()
	}
	e := subjectEntry{hash: hash, name: uint32(len(t.names)), length: uint32(len(subj))}
	t.names = append(t.names, subj...)
	var i int
	if n := len(t.free); n > 0 {
		i = int(t.free[n-1])
		t.free = t.free[:n-1]
		t.entries[i] = e
	} else {
		i = len(t.entries)
		t.entries = append(t.entries, e)
		if t.lists != nil {
			t.lists = append(t.lists, nil)
		}
	}
	t.place(i)
	return i
}

func (t *subjectTable) place(i int) {
	mask := uint64(len(t.slots) - 1)
	at := t.entries[i].hash & mask
	for t.slots[at] != 0 {
		at = (at + 1) & mask
	}
	t.slots[at] = uint32(i + 1)
}

func (t *subjectTable) grow() {
	t.slots = make([]uint32, max(64, 2*len(t.slots)))
	for i := range t.entries {
		if t.entries[i].count > 0 {
			t.place(i)
		}
	}
}

// removed notes that a message is gone. The entry disappears with its last one.
func (t *subjectTable) removed(i int, seq uint64) {
	e := &t.entries[i]
	if e.count--; e.count == 0 {
		t.drop(i)
		return
	}
	if t.lists != nil {
		l := t.lists[i]
		if l[0].seq == seq {
			l = l[1:]
		} else {
			for k := range l {
				if l[k].seq == seq {
					l = append(l[:k], l[k+1:]...)
					break
				}
			}
		}
		t.lists[i] = l
		e.settleEnds(l)
		return
	}
	if seq == e.first {
		e.first = seq + 1
	}
	if seq == e.last {
		e.lastStale = true
	}
}

// settleEnds takes the first and the last message from the list of all.
func (e *subjectEntry) settleEnds(l []seqBytes) {
	if len(l) > 0 {
		e.first, e.last, e.bytes, e.lastStale = l[0].seq, l[len(l)-1].seq, l[len(l)-1].bytes, false
	}
}

// settleEnds does so for all entries.
func (t *subjectTable) settleEnds() {
	for i := range t.entries {
		t.entries[i].settleEnds(t.lists[i])
	}
}

// drop frees an entry, closing the gap that it leaves among the slots.
func (t *subjectTable) drop(i int) {
	mask := uint64(len(t.slots) - 1)
	at := t.entries[i].hash & mask
	for t.slots[at] != uint32(i+1) {
		at = (at + 1) & mask
	}
	for next := (at + 1) & mask; t.slots[next] != 0; next = (next + 1) & mask {
		home := t.entries[t.slots[next]-1].hash & mask
		if (next-home)&mask >= (next-at)&mask { // it may move back to at
			t.slots[at] = t.slots[next]
			at = next
		}
	}
	t.slots[at] = 0
	t.garbage += int(t.entries[i].length)
	t.entries[i] = subjectEntry{}
	if t.lists != nil {
		t.lists[i] = nil
	}
	t.free = append(t.free, uint32(i))
	if t.garbage > 64<<10 && t.garbage > len(t.names)/2 {
		t.compact()
	}
}

// compact writes the names anew without those nobody uses.
func (t *subjectTable) compact() {
	names := make([]byte, 0, len(t.names)-t.garbage)
	for i := range t.entries {
		if e := &t.entries[i]; e.count > 0 {
			at := uint32(len(names))
			names = append(names, t.names[e.name:e.name+e.length]...)
			e.name = at
		}
	}
	t.names, t.garbage = names, 0
}

// clear empties the table. It does not touch the seed, which senders read at any time.
func (t *subjectTable) clear() {
	t.slots, t.entries, t.free, t.names, t.garbage = nil, nil, nil, nil, 0
	if t.lists != nil {
		t.lists = [][]seqBytes{}
	}
}

// match calls f for every subject that a filter matches, until it returns false; an empty filter matches all. f must
// not change the table.
func (t *subjectTable) match(filter string, f func(i int) bool) {
	if filter != "" && !subject.HasWildcard(filter) {
		if i := t.find(maphash.String(t.seed, filter), []byte(filter)); i >= 0 {
			f(i)
		}
		return
	}
	all := filter == "" || filter == ">"
	for i := range t.entries {
		if t.entries[i].count > 0 && (all || subject.Match(filter, t.name(i))) && !f(i) {
			return
		}
	}
}

// appendTo encodes the table for a checkpoint. Hashes are not kept, as their seed is the process's.
func (t *subjectTable) appendTo(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(t.len()))
	for i := range t.entries {
		e := &t.entries[i]
		if e.count == 0 {
			continue
		}
		dst = appendText(dst, t.name(i))
		dst = binary.AppendUvarint(dst, e.first)
		dst = binary.AppendUvarint(dst, e.last-e.first)
		dst = binary.AppendUvarint(dst, e.count)
		dst = binary.AppendUvarint(dst, uint64(e.bytes))
		dst = append(dst, flag(e.lastStale))
	}
	return dst
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// decode reads the table; lists are left to the caller.
func (t *subjectTable) decode(d *decoder) error {
	t.clear()
	for n := d.uvarint(); n > 0 && !d.bad; n-- {
		name := d.text()
		if d.bad {
			break
		}
		hash := t.hash(name)
		i := t.add(hash, name)
		e := &t.entries[i]
		e.first = d.uvarint()
		e.last = e.first + d.uvarint()
		e.count = d.uvarint()
		e.bytes = uint32(d.uvarint())
		e.lastStale = d.byte() != 0
		if e.count == 0 {
			d.fail()
		}
	}
	if d.bad {
		return errBadSubjects
	}
	return nil
}
