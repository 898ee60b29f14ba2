package segment

import (
	"errors"
	"fmt"
	"io/fs"
	"math"

	"github.com/klauspost/compress/s2"

	"godwit/stream/vfs"
)

// ErrNotWorth: a segment would hardly become smaller.
var ErrNotWorth = errors.New("segment: rewriting is not worth it")

// errChanged: a segment went, or messages of it were erased, while it was being rewritten.
var errChanged = errors.New("segment: changed meanwhile")

const (
	rewritePiece = 1 << 20   // bytes written at a time
	pacePiece    = 256 << 10 // bytes for which the pace is asked at once
	rewriteAgain = 10        // times that one that has to be is begun anew, because messages were erased meanwhile
	// worthOf4 is how many fourths of its size a rewritten segment may have.
	worthOf4 = 3
)

// Rewriting says what a segment may get rid of.
type Rewriting struct {
	Serial uint64                // of a segment that Inner(Index) has named
	Index  uint64                // a checkpoint of at least this index was saved
	Dead   func(seq uint64) bool // messages that the state at Index does not hold; any goroutine may call it
	Hole   uint8                 // attributes of the empty record that takes the place of one between others of its batch
	Always bool                  // although it becomes hardly smaller, and at once
}

// Rewrite replaces the file of a sealed segment by one without dead messages, and without batches that hold no messages:
// their index is reflected in both kept checkpoints, of which a copy is made if need be. Sequences, indexes and times stay.
// Readers go on undisturbed. It works at the pace of Options.Pace, of which each turn is waited for, and ends early with
// ErrClosed when stop is closed, unless it has to be done Always.
//
// Any goroutine may call it; calls wait for each other. Errors: ErrNotWorth; *CorruptError if a batch is damaged, then
// the segment stays as it is; ErrFailed, ErrClosed; any other leaves the log as it was.
func (l *Log) Rewrite(r Rewriting, stop <-chan struct{}) (freed int64, err error) {
	l.rewriting.Lock()
	defer l.rewriting.Unlock()
	if !r.Always {
		if !l.opts.Pace.begin(stop) {
			return 0, ErrClosed
		}
		defer func() { l.opts.Pace.end(freed, err) }()
	}
	freed, err = l.rewrite(r, stop)
	for again := 0; r.Always && errors.Is(err, errChanged) && again < rewriteAgain; again++ {
		freed, err = l.rewrite(r, stop)
	}
	return freed, err
}

// rewrite is Rewrite; rewriting is held.
func (l *Log) rewrite(r Rewriting, stop <-chan struct{}) (freed int64, err error) {
	s := l.bySerial(r.Serial)
	if s == nil || !s.sealed.Load() || s.last.Load() > r.Index {
		return 0, ErrNotWorth
	}
	f, err := s.acquire() // and holds it, as readers of this segment must not open what takes its place
	if err != nil {
		return 0, err
	}
	defer func() {
		s.release()
		if err != nil {
			l.open.touch(s)
		}
	}()
	w := &rewriter{l: l, s: s, Rewriting: r, from: f, stop: stop, head: s.segmentHead, done: make(chan struct{})}
	l.rewriter.Store(w)
	defer func() {
		l.rewriter.Store(nil)
		close(w.done)
	}()
	w.erasures = s.erasures.Load()
	if err := w.write(); err != nil {
		return 0, errors.Join(err, w.abandon())
	}
	before := s.size.Load()
	if err := l.replace(w); err != nil {
		return 0, errors.Join(err, w.abandon())
	}
	return before - w.pos, nil
}

// bySerial returns a segment, nil if there is none of that number.
func (l *Log) bySerial(serial uint64) *segment {
	for _, s := range *l.segs.Load() {
		if s.serial == serial {
			return s
		}
	}
	return nil
}

// rewriter writes the file that takes the place of a segment's. One goroutine uses it.
type rewriter struct {
	Rewriting
	l    *Log
	s    *segment
	from vfs.File
	stop <-chan struct{}

	done     chan struct{} // closed when nothing is left of the new file, or it is the segment's
	erasures uint32        // of s when reading began
	head     segmentHead
	to       vfs.File
	out      []byte // not written yet
	written  int64  // in the file
	pos      int64  // end of the batches
	sparse   sparse
	maxTime  int64
	read     int64  // bytes that the pace was not asked for
	unpacked []byte // scratch
	body     []byte // likewise
	packed   []byte // likewise
}

func (w *rewriter) tmp() string { return w.s.logPath() + ".tmp" }

// abandon removes what was written.
func (w *rewriter) abandon() error {
	if err := w.l.opts.FS.Remove(w.tmp()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// write makes the new file durable under its temporary name.
func (w *rewriter) write() (err error) {
	if w.to, err = w.l.opts.FS.Create(w.tmp()); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.to.Close()) }()
	w.out = make([]byte, segmentHeadBytes, rewritePiece)
	w.pos, w.maxTime = segmentHeadBytes, math.MinInt64
	size := w.s.size.Load()
	sc := newScanner(w.l.hash)
	sc.guard = &w.s.content
	end, reason, err := sc.run(w.from, segmentHeadBytes, size, func(h *batchHead, b []byte, at int64) (string, error) {
		if w.read += int64(len(b)); w.read >= pacePiece {
			if err := w.pace(w.read); err != nil {
				return "", err
			}
			w.read = 0
		}
		if w.s.erasures.Load() != w.erasures {
			return "", errChanged // what was overwritten may be in the new file
		}
		if err := w.batch(h, b); err != nil {
			return "", err
		}
		if w.pos > size/4*worthOf4 && !w.Always {
			return "", ErrNotWorth
		}
		return "", nil
	})
	switch {
	case err != nil:
		return err
	case reason != "":
		return &CorruptError{w.s.logPath(), end, reason}
	case w.pos > size/4*worthOf4 && !w.Always:
		return ErrNotWorth
	}
	if err := w.flush(); err != nil {
		return err
	}
	w.head.durable = w.l.durable.Load()
	w.head.rewritten.end, w.head.rewritten.last, w.head.rewritten.maxTime = w.pos, w.s.last.Load(), w.maxTime
	if _, err := w.to.WriteAt(w.head.encode(w.l.hash), 0); err != nil {
		return err
	}
	return w.to.Sync()
}

// batch takes over what is needed of a batch.
func (w *rewriter) batch(h *batchHead, b []byte) error {
	if h.Kind != KindMessages {
		return nil
	}
	first, last, live := w.live(&h.Head)
	if live == 0 {
		return nil
	}
	w.head.rewritten.count += live
	body, ok := h.bodyOf(b, &w.unpacked)
	if !ok {
		return &CorruptError{w.s.logPath(), w.pos, "batch cannot be decompressed"}
	}
	if live < uint64(h.Count) {
		if body, ok = w.cut(h, body, first, last); !ok {
			return &CorruptError{w.s.logPath(), w.pos, "malformed record"}
		}
		b = nil // to be composed
	}
	if err := w.room(batchHeadBytes + len(body)); err != nil {
		return err
	}
	w.sparse.noteDue(&w.s.segmentHead, &h.Head, w.pos, w.maxTime)
	if t, ok := maxTimeOf(&h.Head, body); ok {
		w.maxTime = max(w.maxTime, t)
	}
	from := len(w.out)
	if b != nil {
		w.out = append(w.out, b...)
	} else {
		w.compose(h, body)
	}
	w.pos += int64(len(w.out) - from)
	return nil
}

// live returns the first and the last message of a batch that is not dead, and how many there are.
func (w *rewriter) live(h *Head) (first, last, n uint64) {
	for seq := h.Base; seq < h.next(); seq++ {
		if w.Dead(seq) {
			continue
		}
		if n == 0 {
			first = seq
		}
		last = seq
		n++
	}
	return first, last, n
}

// cut changes the head of a batch to one of the messages from first to last, and returns their records, with empty ones
// for those that are dead.
func (w *rewriter) cut(h *batchHead, body []byte, first, last uint64) ([]byte, bool) {
	w.body = w.body[:0]
	var r recordLayout
	for seq := h.Base; seq <= last; seq++ {
		if !layoutRecord(body, &r) {
			return nil, false
		}
		switch {
		case seq < first:
		case w.Dead(seq):
			w.body = AppendRecord(w.body, &Record{Attrs: w.Hole, TimeDelta: r.delta})
		default:
			w.body = append(w.body, body[:r.end()]...)
		}
		body = body[r.end():]
	}
	h.Base, h.Count = first, uint32(last-first+1)
	return w.body, true
}

// compose appends a batch, compressed if it was.
func (w *rewriter) compose(h *batchHead, body []byte) {
	h.flags &^= flagPadded
	if h.flags&flagPacked != 0 {
		if most := s2.MaxEncodedLen(len(body)); cap(w.packed) < most {
			w.packed = make([]byte, most)
		}
		if packed := s2.Encode(w.packed[:cap(w.packed)], body); len(packed) < len(body) {
			body = packed
		} else {
			h.flags &^= flagPacked
		}
	}
	h.measure(len(body), w.l.opts.shortMost)
	from := len(w.out)
	w.out = append(append(w.out, make([]byte, h.size)...), body...)
	h.put(w.out[from:])
	w.l.hash.seal(w.out[from:])
}

// room writes what has gathered if n more bytes do not fit.
func (w *rewriter) room(n int) error {
	if len(w.out)+n <= rewritePiece {
		return nil
	}
	return w.flush()
}

// pace waits until n more bytes are due.
func (w *rewriter) pace(n int64) error {
	if !w.Always && !w.l.opts.Pace.take(n, w.stop) {
		return ErrClosed
	}
	return nil
}

func (w *rewriter) flush() error {
	if len(w.out) == 0 {
		return nil
	}
	if err := w.pace(int64(len(w.out))); err != nil {
		return err
	}
	if _, err := w.to.WriteAt(w.out, w.written); err != nil {
		return fmt.Errorf("rewrite segment: %w", err)
	}
	w.written += int64(len(w.out))
	w.out = w.out[:0]
	return nil
}

// replace puts the new file in the place of the old one. Until then nobody knows of it; a crash leaves either.
func (l *Log) replace(w *rewriter) error {
	l.files.Lock()
	defer l.files.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	if err := l.bothReflect(w.Index); err != nil {
		return err
	}
	l.waitForTasks() // that may write the index
	l.erasing.Lock()
	defer l.erasing.Unlock()
	old := w.s
	if old.dropped.Load() || old.erasures.Load() != w.erasures {
		return errChanged
	}
	if w.pos == old.size.Load() { // the index would be taken for that of the new file
		if err := l.removeFiles(old.path, extIndex, extTime); err != nil {
			return fmt.Errorf("rewrite segment: %w", err)
		}
	}
	if err := l.opts.FS.Rename(w.tmp(), old.logPath()); err != nil {
		return fmt.Errorf("rewrite segment: %w", err)
	}
	if err := l.opts.FS.SyncDir(l.opts.Dir); err != nil {
		l.fail(fmt.Errorf("sync directory of segment: %w", err)) // checkpoints to come would be about either file
	}
	s := w.segment()
	l.changeSegments(func(list []*segment) []*segment {
		for i := range list {
			if list[i] == old {
				list[i] = s
			}
		}
		return list
	})
	l.rebuilding.Lock()
	old.dropped.Store(true)
	l.rebuilding.Unlock()
	l.forgetBlocks(old)
	l.opts.Cache.forget(l.id, old.serial)
	l.bytes.Add(s.size.Load() - old.size.Load())
	if s.writeIndexFiles(&w.sparse, l.hash) == nil { // else they are made when they are needed
		s.mu.Lock()
		s.mu.sparse = nil
		s.mu.Unlock()
	}
	old.finish()
	return l.usable()
}

// segment returns what readers find from now on.
func (w *rewriter) segment() *segment {
	s := newSegment(w.l.opts.FS, w.l.opts.Dir, w.s.suffix, w.head)
	s.size.Store(w.pos)
	s.written.Store(w.pos)
	s.last.Store(w.s.last.Load())
	s.maxTime.Store(w.maxTime)
	s.sealed.Store(true)
	s.indexed.Store(true)
	s.revision = w.s.revision + w.s.erasures.Load() + 1
	s.exists = true
	s.mu.sparse = &w.sparse
	return s
}

// forgetBlocks drops the tail blocks of a segment, which are written.
func (l *Log) forgetBlocks(s *segment) {
	l.appending.Lock()
	defer l.appending.Unlock()
	for _, b := range l.tail.Load().blocks {
		if b.seg == s {
			l.forgetBlock(b)
			l.opts.Tails.remove(b)
		}
	}
}
