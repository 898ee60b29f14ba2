package vfs

import (
	"math/rand/v2"
	"slices"
)

// sectorBytes is what a disk writes whole or not at all.
const sectorBytes = 512

// CrashClone returns what a power cut in this moment could leave: everything that was synced, and of the rest whatever
// rng decides. Of unsynced changes of a directory, all, none, the first few, or any survive, a rename always whole. Of
// unsynced writes to a file, all, none, the first few with the last one torn, or any of their sectors survive; sectors
// that were lost behind the synced end of the file read as zeros, sometimes as garbage. The clone has nothing unsynced.
//
// The file system must have been made by NewMem. It goes on living: its open files are not those of the clone.
func (m *Mem) CrashClone(rng *rand.Rand) *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	return &Mem{tracked: true, root: crashDir(m.root, rng, map[*memNode]*memNode{})}
}

// crashDir clones a directory. done maps the nodes that were cloned already: one node can have two names for a moment
// when a rename across directories is half durable.
func crashDir(d *memNode, rng *rand.Rand, done map[*memNode]*memNode) *memNode {
	c := newMemDir()
	done[d] = c
	left := map[string]*memNode{}
	for name, n := range d.stable {
		left[name] = n
	}
	for _, i := range survivors(len(d.ops), rng) {
		d.ops[i].apply(left)
	}
	names := make([]string, 0, len(left))
	for name := range left {
		names = append(names, name)
	}
	slices.Sort(names) // the same seed gives the same clone
	for _, name := range names {
		n := left[name]
		k := done[n]
		switch {
		case k != nil:
		case n.data != nil:
			k = &memNode{data: crashData(n.data, rng)}
			done[n] = k
		default:
			k = crashDir(n, rng, done)
		}
		c.entries[name], c.stable[name] = k, k
	}
	return c
}

// survivors chooses among n ordered changes: all, none, a prefix, or any.
func survivors(n int, rng *rand.Rand) []int {
	var keep []int
	mode, prefix := rng.IntN(4), 0
	if mode == 2 {
		prefix = rng.IntN(n + 1)
	}
	for i := range n {
		if mode == 0 || mode == 2 && i < prefix || mode == 3 && rng.IntN(2) == 0 {
			keep = append(keep, i)
		}
	}
	return keep
}

func crashData(d *memData, rng *rand.Rand) *memData {
	d.mu.RLock()
	defer d.mu.RUnlock()
	left := d.stable.clone()
	switch mode := rng.IntN(8); {
	case mode == 0: // nothing unsynced survives
	case mode == 1: // everything does
		for i := range d.ops {
			d.ops[i].apply(&left)
		}
	case mode < 5 && len(d.ops) > 0: // a prefix, and the last write is torn
		n := rng.IntN(len(d.ops))
		for i := range n {
			d.ops[i].apply(&left)
		}
		if op := d.ops[n]; len(op.data) > 0 {
			op.data = op.data[:rng.IntN(len(op.data))]
			if len(op.data) > 0 {
				op.apply(&left)
			}
		}
	default:
		crashSectors(d.ops, &left, rng)
	}
	return &memData{tracked: true, live: left.clone(), stable: left}
}

// crashSectors lets each sector of each write survive or not. The file is as long as if all had.
func crashSectors(ops []memFileOp, left *memPages, rng *rand.Rand) {
	keepOf4 := rng.IntN(4) + 1 // of four sectors
	garbage := rng.IntN(8) == 0
	for i := range ops {
		op := &ops[i]
		if op.data == nil {
			if rng.IntN(2) == 0 {
				op.apply(left)
			}
			continue
		}
		for at := 0; at < len(op.data); {
			off := op.off + int64(at)
			n := min(len(op.data)-at, int(sectorBytes-off%sectorBytes))
			switch {
			case rng.IntN(4) < keepOf4:
				left.writeAt(op.data[at:at+n], off)
			case off >= left.size && garbage:
				junk := make([]byte, n)
				for i := range junk {
					junk[i] = byte(rng.Uint32())
				}
				left.writeAt(junk, off)
			case off+int64(n) > left.size:
				left.truncate(off + int64(n))
			}
			at += n
		}
	}
}
