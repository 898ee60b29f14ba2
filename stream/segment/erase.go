package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"

	"github.com/klauspost/compress/s2"
)

// eraseMost is how many bytes of batches are overwritten at once, unless one is larger.
const eraseMost = 16 << 20

// Erase overwrites the content of messages where it lies in the files: change alters the bytes of a record in place, whose
// lengths stay. When it returns, that is durable, and nobody gets the content any more but who holds it already; the
// message itself, its place and the lengths of its parts stay. Everything up to index is made durable first. Sequences that
// are not in the log are passed over.
//
// The batches as they are to be are written to a file of their own before, so that a crash at any moment leaves the old ones,
// or Open writes the new ones again. left are messages in compressed batches that would not fit their place any more; nothing
// has happened to them: Rewrite gets rid of them.
//
// Any goroutine may call it; calls wait for each other. Errors: *CorruptError if a batch is damaged, after all others were
// overwritten; ErrFailed, ErrClosed; any other leaves messages as they were.
func (l *Log) Erase(index uint64, seqs []uint64, change func(r *Record)) (left []uint64, err error) {
	if err := l.syncTo(index); err != nil {
		return nil, err
	}
	e := &eraser{l: l, change: change, scanner: newScanner(l.hash)}
	left, err = e.erase(seqs)
	// What is being rewritten may have the content in a new file, which goes.
	if w := l.rewriter.Load(); w != nil && slices.Contains(e.touched, w.s) {
		<-w.done
	}
	return left, err
}

func (e *eraser) erase(seqs []uint64) (left []uint64, err error) {
	e.l.erasing.Lock()
	defer e.l.erasing.Unlock()
	if err := e.l.usable(); err != nil {
		return nil, err
	}
	seqs = slices.Clone(seqs)
	slices.Sort(seqs)
	var damage *CorruptError
	for len(seqs) > 0 {
		n, fits, err := e.take(seqs)
		switch {
		case errors.As(err, &damage):
		case err != nil:
			return left, err
		case !fits:
			left = append(left, seqs[:n]...)
		}
		seqs = seqs[n:]
		if e.bytes >= eraseMost {
			if err := e.commit(); err != nil {
				return left, err
			}
		}
	}
	if err := e.commit(); err != nil {
		return left, err
	}
	if damage != nil {
		return left, damage
	}
	return left, nil
}

// eraser gathers the batches that are to be overwritten. One goroutine uses it, which holds erasing.
type eraser struct {
	l        *Log
	change   func(r *Record)
	scanner  *scanner
	batches  []erasure
	bytes    int
	touched  []*segment // in which something was overwritten
	unpacked []byte     // scratch
}

// erasure is a batch that takes the place of the one that lies there.
type erasure struct {
	seg        *segment // nil in one that was read from a file
	serial     uint64
	base       uint64
	suffix     uint64
	generation uint32
	end        int64 // rewritten.end of the segment: a file that took its place has another one
	pos        int64
	batch      []byte
}

// take prepares the batch that holds the first of seqs, which ascend, and says how many of them it dealt with.
func (e *eraser) take(seqs []uint64) (n int, fits bool, err error) {
	s, pos, b, err := e.find(seqs[0])
	if errors.Is(err, ErrNotFound) {
		return 1, true, nil
	}
	if err != nil {
		return 1, true, err
	}
	n, fits = e.l.hash.overwrite(b, seqs, e.change, &e.unpacked)
	if fits {
		e.batches = append(e.batches, erasure{s, s.serial, s.base, s.suffix, s.generation, s.rewritten.end, pos, b})
		e.bytes += len(b)
	}
	return n, fits, nil
}

// find reads the batch that holds a message from the file. b is the caller's.
func (e *eraser) find(seq uint64) (s *segment, pos int64, b []byte, err error) {
	for {
		segs := *e.l.segs.Load()
		i := sort.Search(len(segs), func(i int) bool { return segs[i].base > seq }) - 1
		if i < 0 {
			return nil, 0, nil, ErrNotFound
		}
		s = segs[i]
		pos, b, err = e.findIn(s, seq)
		if err == nil || !s.dropped.Load() {
			return s, pos, b, err
		}
	}
}

func (e *eraser) findIn(s *segment, seq uint64) (pos int64, b []byte, err error) {
	p, err := e.l.locate(s, seq)
	if err != nil {
		return 0, nil, err
	}
	f, err := s.acquire()
	if err != nil {
		return 0, nil, err
	}
	defer e.l.open.touch(s)
	defer s.release()
	defer e.scanner.forget()
	err = ErrNotFound
	for at, limit := p.pos, s.written.Load(); at < limit; {
		over := false
		end, reason, rerr := e.scanner.run(f, at, limit, func(h *batchHead, batch []byte, here int64) (string, error) {
			if h.Kind != KindMessages || h.next() <= seq {
				return "", nil
			}
			if over = true; h.Base <= seq {
				pos, b = here, slices.Clone(batch)
			}
			return "found", nil
		})
		switch {
		case rerr != nil:
			return 0, nil, rerr
		case b != nil:
			return pos, b, nil
		case over || reason == "":
			return 0, nil, err
		}
		err = &CorruptError{s.logPath(), end, reason} // it may be in there
		next, found, rerr := e.scanner.find(f, end+1, limit, s.first)
		if rerr != nil {
			return 0, nil, rerr
		}
		if !found {
			break
		}
		at = next
	}
	return 0, nil, err
}

// overwrite lets change alter the messages of batch b that are among seqs, which ascend and begin with one of it, and makes
// the batch right again, at the same length. n is how many they are. It reports false if a compressed batch became longer;
// then b is as it was. buf is scratch.
func (hash *hasher) overwrite(b []byte, seqs []uint64, change func(r *Record), buf *[]byte) (n int, fits bool) {
	var h batchHead
	h.get(b)
	body, ok := h.bodyOf(b, buf)
	if !ok {
		return 1, false
	}
	var r Record
	for seq, at := h.Base, 0; seq < h.next() && n < len(seqs); seq++ {
		size, err := ReadRecord(body[at:], &r)
		if err != nil {
			break // the checksum says that it was written so
		}
		for n < len(seqs) && seqs[n] == seq { // one may be named twice
			change(&r)
			n++
		}
		at += size
	}
	n = max(n, 1)
	if h.flags&flagPacked != 0 && !h.repack(b, body) {
		return n, false
	}
	h.put(b)
	hash.seal(b)
	return n, true
}

// repack puts a compressed body into batch b, with room behind it that counts for nothing. It reports false if there is not
// enough.
func (h *batchHead) repack(b, body []byte) bool {
	room := len(b) - h.size
	packed := s2.Encode(nil, body)
	if len(packed) != room && len(packed)+padBytes > room {
		packed = s2.EncodeBest(nil, body)
	}
	h.flags &^= flagPadded
	if len(packed) != room {
		if len(packed)+padBytes > room {
			return false
		}
		h.flags |= flagPadded
		clear(b[h.size+len(packed):])
		binary.LittleEndian.PutUint32(b[len(b)-padBytes:], uint32(len(packed)))
	}
	copy(b[h.size:], packed)
	return true
}

// commit overwrites what was gathered.
func (e *eraser) commit() error {
	if len(e.batches) == 0 {
		return nil
	}
	l := e.l
	path := filepath.Join(l.opts.Dir, erasuresName)
	if err := writeErasures(l.opts.FS, path, e.batches, l.hash); err != nil {
		return fmt.Errorf("erase: %w", err)
	}
	for len(e.batches) > 0 {
		s, n := e.batches[0].seg, 1
		for n < len(e.batches) && e.batches[n].seg == s {
			n++
		}
		// From here on there is no way back: the next Open does it again.
		if err := s.overwrite(e.batches[:n]); err != nil && !(s.dropped.Load() && errors.Is(err, fs.ErrNotExist)) {
			return l.fail(fmt.Errorf("erase: %w", err))
		}
		s.erasures.Add(1)
		e.touched = append(e.touched, s)
		l.opts.Cache.forget(l.id, s.serial)
		e.batches = e.batches[n:]
	}
	e.bytes = 0
	if err := l.opts.FS.Remove(path); err != nil {
		return fmt.Errorf("erase: %w", err)
	}
	return nil
}

// overwrite writes batches of the segment and makes them durable. Readers find the old one or the new one.
func (s *segment) overwrite(batches []erasure) error {
	f, err := s.fsys.OpenFile(s.logPath(), os.O_RDWR)
	if err != nil {
		return err
	}
	for i := 0; i < len(batches) && err == nil; i++ {
		s.content.Lock()
		_, err = f.WriteAt(batches[i].batch, batches[i].pos)
		s.content.Unlock()
	}
	if err == nil {
		err = f.Datasync()
	}
	return errors.Join(err, f.Close())
}

// EraseRecent is Erase for what readers find in memory: the tail block that holds a message is replaced by one in which its
// content is overwritten. The owner calls it, after the message was written.
func (l *Log) EraseRecent(seq uint64, change func(r *Record)) {
	blocks := l.tail.Load().blocks
	if len(blocks) == 0 || seq < blocks[0].seg.base {
		return
	}
	for i := len(blocks) - 1; i >= 0; i-- {
		b := blocks[i]
		var h batchHead
		if b.len.Load() == 0 {
			continue
		}
		if h.get(b.bytes); h.Base > seq {
			continue
		}
		for at := int64(0); at < b.len.Load(); at += int64(h.length) {
			h.get(b.bytes[at:])
			if h.Kind == KindMessages && h.Base <= seq && seq < h.next() {
				l.replaceBlock(b, at, h.length, seq, change)
				return
			}
		}
		return
	}
}

// replaceBlock puts a block in the place of b in which a message of the batch at a place is overwritten. If that does not fit,
// the block goes if all of it is written.
func (l *Log) replaceBlock(b *block, at int64, length int, seq uint64, change func(r *Record)) {
	n := &block{log: l, seg: b.seg, pos: b.pos, bytes: make([]byte, len(b.bytes)), given: b.given}
	copy(n.bytes, b.bytes[:b.len.Load()])
	n.len.Store(b.len.Load())
	var unpacked []byte
	_, fits := l.hash.overwrite(n.bytes[at:at+int64(length)], []uint64{seq}, change, &unpacked)
	l.appending.Lock()
	defer l.appending.Unlock()
	if !fits {
		if b.end() <= b.seg.written.Load() {
			l.forgetBlock(b)
			l.opts.Tails.remove(b)
		}
		return
	}
	i := slices.Index(l.tail.Load().blocks, b)
	if i < 0 {
		return // it went meanwhile
	}
	list := slices.Clone(l.tail.Load().blocks)
	list[i] = n
	l.tail.Store(&tail{list})
	l.opts.Tails.replace(b, n)
}
