package segment

import (
	"encoding/binary"

	"godwit/stream/vfs"
)

// Pieces of index files lie in the cache like regions: the head with the fences under headPos, page p under headPos - 1 - p.
const headPos = -1

// indexReader looks something up in the index file of a sealed segment. Pieces that are not in the cache are read, verified and
// put there. One goroutine uses it; close must follow.
type indexReader struct {
	l     *Log
	s     *segment
	file  vfs.File // nil: not open
	pages int
}

func (r *indexReader) close() {
	if r.file != nil {
		r.file.Close()
	}
}

func (r *indexReader) key(pos int64) regionKey {
	return regionKey{r.l.id, r.s.serial, r.s.revision, pos}
}

// open opens the file and returns its head and fences, verified.
func (r *indexReader) open() (head []byte, err error) {
	r.file, head, r.pages, err = r.s.openIndex(r.l.hash)
	return head, err
}

// head returns the head and the fences. They are shared.
func (r *indexReader) head() ([]byte, error) {
	if reg := r.l.opts.Cache.get(r.key(headPos)); reg != nil {
		r.pages = int(binary.LittleEndian.Uint32(reg.index[52:]))
		return reg.index, nil
	}
	head, err := r.open()
	if err == nil {
		r.l.opts.Cache.put(&region{key: r.key(headPos), index: head, bytes: regionOverhead + len(head)})
	}
	return head, err
}

// page returns page p, which is shared, and how many entries it has; not 0. head comes before.
func (r *indexReader) page(p int) (page []byte, n int, err error) {
	key := r.key(headPos - 1 - int64(p))
	if reg := r.l.opts.Cache.get(key); reg != nil {
		return reg.index, int(binary.LittleEndian.Uint32(reg.index[12:])), nil
	}
	if r.file == nil {
		if _, err := r.open(); err != nil {
			return nil, 0, err
		}
	}
	page = make([]byte, indexPageBytes)
	if n, err = readIndexPage(r.file, page, r.pages, p, r.l.hash); err == nil {
		r.l.opts.Cache.put(&region{key: key, index: page, bytes: regionOverhead + len(page)})
	}
	return page, n, err
}

// bySeqOnDisk is sparse.bySeq for a segment whose index lies in its file.
func (l *Log) bySeqOnDisk(s *segment, seq uint64) (place, error) {
	r := indexReader{l: l, s: s}
	defer r.close()
	head, err := r.head()
	if err != nil {
		return place{}, err
	}
	want := relative(seq, s.base)
	p := lastAtOrBefore(r.pages, func(i int) uint64 {
		return uint64(binary.LittleEndian.Uint32(head[indexHeadBytes+i*sparseBytes:]))
	}, want)
	if p < 0 {
		return s.start(), nil
	}
	page, n, err := r.page(p)
	if err != nil {
		return place{}, err
	}
	i := lastAtOrBefore(n, func(i int) uint64 {
		return uint64(binary.LittleEndian.Uint32(page[16+i*sparseBytes:]))
	}, want)
	var e sparseEntry
	e.get(page[16+max(i, 0)*sparseBytes:])
	return s.place(e), nil
}
