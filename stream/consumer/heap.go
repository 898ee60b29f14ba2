package consumer

// heap is a binary heap of numbers, each with a key that orders it. Entries that have become stale are left in and
// recognised by the owner when they come up.
type heap []heapEntry

type heapEntry struct {
	key int64
	seq uint64
}

func (h *heap) push(key int64, seq uint64) {
	*h = append(*h, heapEntry{key, seq})
	s := *h
	for i := len(s) - 1; i > 0; {
		up := (i - 1) / 2
		if !s[i].before(s[up]) {
			return
		}
		s[i], s[up] = s[up], s[i]
		i = up
	}
}

// pop removes the smallest entry; the heap must not be empty.
func (h *heap) pop() heapEntry {
	s := *h
	top := s[0]
	last := len(s) - 1
	s[0] = s[last]
	s = s[:last]
	for i := 0; ; {
		down := 2*i + 1
		if down >= last {
			break
		}
		if down+1 < last && s[down+1].before(s[down]) {
			down++
		}
		if !s[down].before(s[i]) {
			break
		}
		s[i], s[down] = s[down], s[i]
		i = down
	}
	*h = s
	return top
}

func (e heapEntry) before(o heapEntry) bool {
	return e.key < o.key || e.key == o.key && e.seq < o.seq
}
