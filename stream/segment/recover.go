package segment

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"godwit/stream/vfs"
)

// segmentFile is the name of a segment found in the directory.
type segmentFile struct{ base, suffix uint64 }

// recovery gathers what lies in the directory.
type recovery struct {
	l           *Log
	mark        mark
	files       []segmentFile    // in order
	checkpoints []checkpointFile // that may be used, newest first
	stale       []string         // checkpoint files that are not to be used again
	damage      []Damage
	known       uint64 // highest index that checkpoints and mark prove to have been durable
	verified    int    // files of any kind that are intact
	refused     int    // mark and checkpoints that are not
}

// recover brings the log into the state that the directory holds.
func (l *Log) recover() (*Report, error) {
	r := &recovery{l: l}
	if err := vfs.MkdirAllSync(l.opts.FS, l.opts.Dir); err != nil {
		return nil, err
	}
	if err := r.list(); err != nil {
		return nil, err
	}
	if err := r.finishErasures(); err != nil {
		return nil, err
	}
	for len(r.checkpoints) > 0 {
		c, err := r.readCheckpoint(r.checkpoints[0])
		if err != nil {
			return nil, err
		}
		if c != nil {
			if report, err := r.try(c); report != nil || err != nil {
				return report, err
			}
		}
		r.checkpoints = r.checkpoints[1:]
	}
	return r.try(nil)
}

// try recovers from a checkpoint, or without if c is nil. It returns nothing if another one is to be tried.
func (r *recovery) try(c *checkpoint) (*Report, error) {
	a := newAttempt(r, c)
	done, err := a.run()
	var report *Report
	if err == nil && done {
		report, err = a.finish()
	}
	if report == nil {
		for _, s := range a.segs {
			s.finish()
		}
	}
	return report, err
}

// list reads the directory and the mark.
func (r *recovery) list() error {
	dir, fsys := r.l.opts.Dir, r.l.opts.FS
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return err
	}
	m, damage, err := readMark(fsys, dir, r.l.hash)
	if err != nil {
		return err
	}
	r.mark, r.known = m, m.durable
	if damage != nil {
		r.damage = append(r.damage, *damage)
		r.refused++
	} else if m != (mark{}) {
		r.verified++
	}
	for _, e := range entries {
		if base, suffix, ok := parseSegmentName(e.Name); ok {
			r.files = append(r.files, segmentFile{base, suffix})
		} else if file, ok := parseCheckpointName(e.Name); ok {
			r.checkpoints = append(r.checkpoints, file)
		} else if strings.HasSuffix(e.Name, ".tmp") && !e.Dir {
			if err := fsys.Remove(filepath.Join(dir, e.Name)); err != nil {
				return err
			}
		}
	}
	slices.SortFunc(r.files, func(a, b segmentFile) int {
		return cmp.Or(cmp.Compare(a.base, b.base), cmp.Compare(a.suffix, b.suffix))
	})
	slices.SortFunc(r.checkpoints, func(a, b checkpointFile) int {
		return cmp.Or(cmp.Compare(b.index, a.index), cmp.Compare(b.name(), a.name()))
	})
	return nil
}

// readCheckpoint returns nil if the file is not intact.
func (r *recovery) readCheckpoint(file checkpointFile) (*checkpoint, error) {
	path := filepath.Join(r.l.opts.Dir, file.name())
	c, reason, err := readCheckpoint(r.l.opts.FS, path, file.index, r.l.hash)
	if err != nil {
		return nil, err
	}
	if c == nil {
		r.reject(path, reason)
		r.refused++
		return nil, nil
	}
	r.known = max(r.known, file.index)
	r.verified++
	return c, nil
}

// reject gives up a checkpoint: it is broken, Restore did not take it, or the log does not reach it.
func (r *recovery) reject(path, reason string) {
	r.damage = append(r.damage, Damage{Path: path, Reason: reason})
	r.stale = append(r.stale, path)
}

// finish takes over the result of an attempt: cuts, makes durable what was found, and fills the log.
func (a *attempt) finish() (*Report, error) {
	l := a.l
	var cut int64
	if a.cut != nil {
		var err error
		if cut, err = a.cutTail(); err != nil {
			return nil, fmt.Errorf("cut tail: %w", err)
		}
		a.generation++
	}
	l.firstSerial = max(a.mark.firstSerial, 1)
	l.generation = max(a.generation, a.mark.generation, 1)
	if n := len(a.segs); n > 0 && !a.segs[n-1].sealed.Load() {
		l.active = a.segs[n-1]
	}
	for i, s := range a.segs {
		if i >= a.from {
			if err := a.settle(s); err != nil {
				return nil, err
			}
		}
		l.bytes.Add(s.size.Load())
	}
	if err := l.opts.FS.SyncDir(l.opts.Dir); err != nil {
		return nil, err
	}
	segs := a.segs
	l.segs.Store(&segs)
	last := max(a.expect-1, a.known)
	l.last.Store(last)
	l.next.Store(max(a.next, 1))
	l.durable.Store(last)
	l.mu.handed = last
	l.files.firstSerial = a.mark.firstSerial
	l.files.checkpoints, l.files.stale, l.files.detached = a.checkpoints, a.stale, a.detached
	report := &Report{Segments: len(segs), Replayed: a.replayed, Cut: cut, Damage: append(a.recovery.damage, a.damage...)}
	if a.ck != nil {
		report.Checkpoint = a.ck.index
	}
	return report, nil
}

// settle makes a scanned segment durable, of which a killed process may have left parts in the page cache only, and
// moves the index of a sealed one to its files.
func (a *attempt) settle(s *segment) error {
	f, err := a.l.opts.FS.OpenFile(s.logPath(), os.O_RDWR)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Datasync(), f.Close()); err != nil {
		return fmt.Errorf("sync segment: %w", err)
	}
	if !s.sealed.Load() {
		return nil
	}
	s.indexed.Store(true)
	for _, ext := range []string{extIndex, extTime} {
		if _, err := s.fsys.Stat(s.path + ext); errors.Is(err, fs.ErrNotExist) {
			s.renew = true
		}
	}
	if s.hasIndexFiles(a.l.hash) || s.writeIndexFiles(s.mu.sparse, a.l.hash) == nil {
		s.mu.sparse = nil
	}
	return nil
}

// cutTail removes what was never durable and returns how many bytes that were. The newest go first.
func (a *attempt) cutTail() (n int64, err error) {
	l := a.l
	keep := a.cut.segment
	if a.cut.pos > segmentHeadBytes {
		keep++
	}
	for len(a.segs) > keep {
		s := a.segs[len(a.segs)-1]
		end, err := a.dataEnd(s, 0)
		if err != nil {
			return n, err
		}
		n += end
		s.finish()
		if keep == 0 && end > 0 && !a.heads[len(a.segs)-1] {
			// Nothing of the log verifies. If that is because the key is wrong, it must not be lost.
			err = l.opts.FS.Rename(s.logPath(), s.path+extVoid)
		} else {
			err = l.removeSegmentFiles(s.path)
		}
		if err != nil {
			return n, err
		}
		a.segs = a.segs[:len(a.segs)-1]
	}
	a.from = min(a.from, len(a.segs))
	if keep == a.cut.segment {
		return n, nil
	}
	s := a.segs[keep-1]
	end, err := a.dataEnd(s, a.cut.pos)
	if err != nil {
		return n, err
	}
	n += max(end-a.cut.pos, 0)
	f, err := l.opts.FS.OpenFile(s.logPath(), os.O_RDWR)
	if err != nil {
		return n, err
	}
	defer f.Close()
	if err := f.Truncate(a.cut.pos); err != nil {
		return n, err
	}
	return n, f.Sync()
}

// dataEnd returns the position behind the last byte of the file, from pos on, that is not zero.
func (a *attempt) dataEnd(s *segment, pos int64) (int64, error) {
	f, err := s.acquire()
	if err != nil {
		return 0, err
	}
	defer s.release()
	size, err := f.Size()
	if err != nil {
		return 0, err
	}
	buf := make([]byte, 64<<10)
	for size > pos {
		b := buf[:min(int64(len(buf)), size-pos)]
		if _, err := f.ReadAt(b, size-int64(len(b))); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		for i := len(b) - 1; i >= 0; i-- {
			if b[i] != 0 {
				return size - int64(len(b)) + int64(i) + 1, nil
			}
		}
		size -= int64(len(b))
	}
	return pos, nil
}

func (a *attempt) report(path string, pos int64, reason string) {
	a.damage = append(a.damage, Damage{path, pos, reason})
}
