package segment

import (
	"sort"
	"sync/atomic"
)

const (
	firstBlockBytes = 4 << 10 // each block is blockGrowth times the one before, up to
	maxBlockBytes   = 1 << 20
	blockGrowth     = 4
)

// block is a piece of a segment in memory. Its bytes below len are never written again, so readers share them.
type block struct {
	log   *Log
	seg   *segment
	pos   int64  // of bytes[0] in the file
	bytes []byte // up to its capacity
	len   atomic.Int64
	given int // bytes handed to be written; the owner's

	// Tails.mu guards these.
	before, after *block // in the list of all
	seen          uint64 // the log's last index, as of the last look
}

// end is the position behind the last batch of the block.
func (b *block) end() int64 { return b.pos + b.len.Load() }

// tail is the list of blocks in memory, oldest first; the last is being filled. The list is immutable: a new one takes
// its place when a block comes or goes.
type tail struct{ blocks []*block }

// find returns the block that holds position pos of s, nil if none does. The last block holds everything behind it too.
func (t *tail) find(s *segment, pos int64) *block {
	n := len(t.blocks)
	if n == 0 {
		return nil
	}
	b := t.blocks[n-1]
	if b.seg != s || b.pos > pos {
		i := sort.Search(n, func(i int) bool {
			c := t.blocks[i]
			return c.seg.serial > s.serial || c.seg == s && c.pos > pos
		}) - 1
		if i < 0 {
			return nil
		}
		if b = t.blocks[i]; b.seg != s {
			return nil
		}
	}
	return b
}

// addBlock puts an empty block for n bytes at the end of the tail, and drops the oldest written ones beyond the bounds.
// appending is held.
func (l *Log) addBlock(s *segment, n int) *block {
	size := l.blockBytes
	l.blockBytes = min(blockGrowth*size, l.maxBlock)
	b := &block{log: l, seg: s, pos: s.size.Load(), bytes: make([]byte, max(n, size))}
	old := l.tail.Load().blocks
	total := int64(0)
	for _, o := range old {
		total += int64(len(o.bytes))
	}
	for len(old) > 0 && total > l.opts.TailBytes && old[0].end() <= old[0].seg.written.Load() {
		total -= int64(len(old[0].bytes))
		l.opts.Tails.remove(old[0])
		old = old[1:]
	}
	l.tail.Store(&tail{append(append(make([]*block, 0, len(old)+1), old...), b)})
	l.opts.Tails.add(b, l)
	return b
}
