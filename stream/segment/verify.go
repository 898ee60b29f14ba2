package segment

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"godwit/stream/vfs"
)

// Fault is something that a file should not be.
type Fault struct {
	Path     string
	Position int64 // in the file; 0 if it is about all of it
	Reason   string
	// First and Last are the sequences that may have been lost with it, if any were: First is 0 for none.
	First, Last uint64
	// Derived: the file is made of the others and can be made again.
	Derived bool
}

func (f Fault) String() string {
	s := f.Path
	if f.Position > 0 {
		s += fmt.Sprintf(" at %d", f.Position)
	}
	s += ": " + f.Reason
	if f.First > 0 {
		s += fmt.Sprintf(" (sequences %d to %d)", f.First, f.Last)
	}
	return s
}

// Verified is what Verify has looked at.
type Verified struct {
	Segments, Batches int
	Bytes             int64
	Faults            []Fault
}

// Verify reads all files of the log and checks every batch, the indexes against the batches, the checkpoints and the mark.
// below is the file system as it was before the log was opened: with an Overlay what lies under it, else the log's own.
// progress is told of bytes read. Nobody may append meanwhile.
func (l *Log) Verify(below vfs.FS, progress func(bytes int64)) (*Verified, error) {
	v := &Verified{}
	segs := *l.segs.Load()
	for i, s := range segs {
		end := l.next.Load()
		if i+1 < len(segs) {
			end = segs[i+1].base
		}
		if err := v.segment(l, s, below, end, progress); err != nil {
			return nil, err
		}
	}
	if _, damage, err := readMark(below, l.opts.Dir, l.hash); err != nil {
		return nil, err
	} else if damage != nil {
		v.Faults = append(v.Faults, Fault{Path: damage.Path, Reason: damage.Reason, Derived: true})
	}
	if _, damage, err := readErasures(below, l.opts.Dir, l.hash); err != nil {
		return nil, err
	} else if damage != nil {
		v.Faults = append(v.Faults, Fault{Path: damage.Path, Reason: damage.Reason, Derived: true})
	}
	list, err := below.ReadDir(l.opts.Dir)
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		file, ok := parseCheckpointName(e.Name)
		if !ok {
			continue
		}
		path := filepath.Join(l.opts.Dir, e.Name)
		if _, reason, err := readCheckpoint(below, path, file.index, l.hash); err != nil {
			return nil, err
		} else if reason != "" {
			v.Faults = append(v.Faults, Fault{Path: path, Reason: reason, Derived: true})
		}
	}
	return v, nil
}

// segment checks one segment, whose messages lie below end, and its indexes.
func (v *Verified) segment(l *Log, s *segment, below vfs.FS, end uint64, progress func(int64)) error {
	v.Segments++
	f, err := s.acquire()
	if err != nil {
		return err
	}
	defer s.release()
	if !s.headIntact(f, l.hash) {
		v.Faults = append(v.Faults, Fault{Path: s.logPath(), Reason: "head of the segment is damaged; a checkpoint has what it said", Derived: true})
	}
	before := len(v.Faults)
	var marks []batchMark
	err = newScanner(l.hash).walk(s, f, func(h *batchHead, pos, maxTime int64) {
		v.Batches++
		v.Bytes += int64(h.length)
		progress(int64(h.length))
		marks = append(marks, batchMark{sparseEntry{uint32(h.Base - s.base), uint32(h.Index - s.first), uint32(pos)}, maxTime})
	}, func(pos, next int64, reason string, first, after uint64) error {
		fault := Fault{Path: s.logPath(), Position: pos, Reason: reason, First: first, Last: end - 1}
		if next > 0 {
			fault.Last = after - 1
			progress(next - pos)
		}
		if fault.Last < fault.First {
			fault.First, fault.Last = 0, 0 // no messages were in there
		}
		v.Faults = append(v.Faults, fault)
		return nil
	})
	if err != nil {
		return err
	}
	if !s.sealed.Load() || s.empty() || len(v.Faults) > before { // with damage the index would have other entries
		return nil
	}
	return v.indexes(l, s, marks, below)
}

// batchMark is where a batch lies, as an index would say it.
type batchMark struct {
	sparseEntry
	before int64 // largest time of the messages before it
}

// fits reports whether an index says the truth about all batches of a segment, and has an entry wherever one is due.
func (x *sparse) fits(batches []batchMark) bool {
	entries, times := x.entries, x.times
	last, lastTime := int64(math.MinInt64/2), int64(math.MinInt64/2)
	for _, b := range batches {
		pos := int64(b.pos)
		if len(entries) > 0 && entries[0] == b.sparseEntry {
			entries, last = entries[1:], pos
		}
		if len(times) > 0 && times[0] == (timeEntry{b.before, b.seq, b.pos}) {
			times, lastTime = times[1:], pos
		}
		if pos-last >= indexEvery || pos-lastTime >= timesEvery+indexEvery {
			return false
		}
	}
	return len(entries) == 0 && len(times) == 0
}

// indexes compares the index files of a sealed, intact segment with its batches.
func (v *Verified) indexes(l *Log, s *segment, marks []batchMark, below vfs.FS) error {
	t := newSegment(below, l.opts.Dir, s.suffix, s.segmentHead)
	t.size.Store(s.size.Load())
	t.last.Store(s.last.Load())
	t.maxTime.Store(s.maxTime.Load())
	got, err := t.sparseOnDisk(l.hash)
	fault := Fault{Path: s.path + extIndex, Derived: true}
	switch {
	case s.renew && err != nil: // opening makes it
		return nil
	case errors.Is(err, fs.ErrNotExist):
		fault.Reason = "index is missing"
	case err != nil:
		fault.Reason = "index is damaged: " + err.Error()
	case !got.fits(marks):
		fault.Reason = "index does not fit the segment"
	default:
		return nil
	}
	v.Faults = append(v.Faults, fault)
	return nil
}

// headIntact reports whether the file begins with the segment's head.
func (s *segment) headIntact(f vfs.File, hash *hasher) bool {
	b := make([]byte, segmentHeadBytes)
	var h segmentHead
	if _, err := f.ReadAt(b, 0); err != nil {
		return false
	}
	ok, err := h.decode(b, hash)
	return ok && err == nil && h.base == s.base && h.serial == s.serial && h.generation == s.generation
}

// Mend makes heads of segments and index files of sealed ones again where they are missing or do not verify. Nobody else
// uses the log meanwhile.
func (l *Log) Mend() error {
	for _, s := range *l.segs.Load() {
		f, err := s.acquire()
		if err == nil {
			err = s.mend(f, l.hash)
			s.release()
		}
		if err != nil {
			return fmt.Errorf("mend segment: %w", err)
		}
	}
	return nil
}

func (s *segment) mend(f vfs.File, hash *hasher) error {
	if !s.headIntact(f, hash) {
		h := s.segmentHead
		if s.sealed.Load() && h.rewritten.end == 0 {
			// Whether it was is not known; if not, it is no harm to say so.
			h.rewritten = rewritten{end: s.size.Load(), last: s.last.Load(), maxTime: s.maxTime.Load()}
			err := newScanner(hash).walk(s, f, func(b *batchHead, _, _ int64) { h.rewritten.count += uint64(b.Count) }, nil)
			if err != nil {
				return err
			}
		}
		if err := s.writeHead(&h, hash); err != nil {
			return err
		}
	}
	if !s.sealed.Load() || s.empty() || s.hasIndexFiles(hash) {
		return nil
	}
	x, err := rebuildSparse(s, f, hash)
	if err != nil {
		return err
	}
	return s.writeIndexFiles(x, hash)
}

// writeHead puts a head in the place of a damaged one.
func (s *segment) writeHead(h *segmentHead, hash *hasher) error {
	f, err := s.fsys.OpenFile(s.logPath(), os.O_RDWR)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(h.encode(hash), 0)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// SameFault lists the files that have to be put aside, to be made again together, because of a fault of one.
func SameFault(path string) []string {
	if stem, ok := strings.CutSuffix(path, extIndex); ok {
		return []string{path, stem + extTime}
	}
	if strings.HasSuffix(path, extLog) {
		return nil // it is mended in place
	}
	return []string{path}
}
