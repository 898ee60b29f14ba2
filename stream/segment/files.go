package segment

import (
	"fmt"
	"os"
	"slices"
	"sync"

	"godwit/stream/vfs"
)

// openForWriting opens or creates the file of the active segment. Only who may write the file calls it.
func (l *Log) openForWriting(s *segment) (vfs.File, error) {
	if f := s.writer(); f != nil {
		return f, nil
	}
	flag := os.O_RDWR
	if !s.exists {
		flag |= os.O_CREATE
		if !s.created { // else its head could not be written
			flag |= os.O_EXCL
		}
	}
	f, err := l.opts.FS.OpenFile(s.logPath(), flag)
	if err != nil {
		return nil, fmt.Errorf("open segment: %w", err)
	}
	s.created = true
	if !s.exists {
		h := s.segmentHead
		h.durable = l.durable.Load()
		if _, err := f.WriteAt(h.encode(l.hash), 0); err != nil {
			f.Close()
			return nil, fmt.Errorf("write head of segment: %w", err)
		}
		s.dirDirty.Store(true)
		s.exists = true
	}
	s.setWriter(f)
	return f, nil
}

// sealIfWritten queues the making of index files, once a segment is sealed and its last batch is in the file. Both who
// seals and who writes call it, so that one of them finds both done.
func (l *Log) sealIfWritten(s *segment) {
	if s.sealed.Load() && s.written.Load() == s.size.Load() && !s.indexed.Swap(true) {
		l.mu.Lock()
		l.mu.indexing++
		l.mu.Unlock()
		l.background(func() {
			l.finishSealed(s)
			l.mu.Lock()
			l.mu.indexing--
			l.mu.Unlock()
		})
	}
}

// finishSealed is the background task that moves the index of a sealed segment out of memory. If that fails it stays
// there, which costs memory only.
func (l *Log) finishSealed(s *segment) {
	s.stopZeros()
	if l.failure.Load() != nil {
		return
	}
	s.mu.RLock()
	x := s.mu.sparse // sealed: nobody changes it
	s.mu.RUnlock()
	if err := s.writeIndexFiles(x, l.hash); err == nil {
		s.mu.Lock()
		s.mu.sparse = nil
		s.mu.Unlock()
	}
	if l.durable.Load() >= s.last.Load() {
		s.closeWriter()
	}
}

// background queues a task that Close waits for.
func (l *Log) background(task func()) {
	l.mu.Lock()
	l.mu.tasks++
	l.mu.Unlock()
	l.sched.submit(func() {
		task()
		l.mu.Lock()
		l.mu.tasks--
		l.mu.changed.Broadcast()
		l.mu.Unlock()
	})
}

// waitForTasks returns when no background task is left.
func (l *Log) waitForTasks() {
	l.mu.Lock()
	for l.mu.tasks > 0 {
		l.mu.changed.Wait()
	}
	l.mu.Unlock()
}

// waitForIndexes returns when the segments that were sealed so far have their index files.
func (l *Log) waitForIndexes() {
	l.mu.Lock()
	for l.mu.indexing > 0 {
		l.mu.changed.Wait()
	}
	l.mu.Unlock()
}

// openFiles bounds how many sealed segments keep their file open for readers: those used last.
type openFiles struct {
	mu   sync.Mutex
	list []*segment // the one used last is last
}

const maxOpenFiles = 4

// touch is called after a segment's file was used.
func (o *openFiles) touch(s *segment) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if n := len(o.list); n > 0 && o.list[n-1] == s {
		return
	}
	if i := slices.Index(o.list, s); i >= 0 {
		o.list = slices.Delete(o.list, i, i+1)
	} else if len(o.list) == maxOpenFiles {
		o.list[0].shut()
		o.list = slices.Delete(o.list, 0, 1)
	}
	o.list = append(o.list, s)
}

// locate returns the last known place at or before the batch of s that holds seq.
func (l *Log) locate(s *segment, seq uint64) (place, error) {
	s.mu.RLock()
	if x := s.mu.sparse; x != nil {
		p := x.bySeq(&s.segmentHead, seq)
		s.mu.RUnlock()
		return p, nil
	}
	s.mu.RUnlock()
	if p, err := l.bySeqOnDisk(s, seq); err == nil {
		return p, nil
	}
	x, err := l.rebuild(s)
	if err != nil {
		return place{}, err
	}
	return x.bySeq(&s.segmentHead, seq), nil
}

// locateTime returns from where on to look for the first message of s at or after t.
func (l *Log) locateTime(s *segment, t int64) (pos int64, seq uint64, err error) {
	s.mu.RLock()
	if x := s.mu.sparse; x != nil {
		pos, seq := timePos(x.times, &s.segmentHead, t)
		s.mu.RUnlock()
		return pos, seq, nil
	}
	s.mu.RUnlock()
	times, err := s.timesOnDisk(l.hash)
	if err != nil {
		x, err := l.rebuild(s)
		if err != nil {
			return 0, 0, err
		}
		times = x.times
	}
	pos, seq = timePos(times, &s.segmentHead, t)
	return pos, seq, nil
}

// rebuild makes the index of a sealed segment anew, because its files are missing or damaged, and writes them again.
func (l *Log) rebuild(s *segment) (*sparse, error) {
	l.rebuilding.Lock()
	defer l.rebuilding.Unlock()
	s.mu.RLock()
	x := s.mu.sparse
	s.mu.RUnlock()
	if x != nil {
		return x, nil // sealed: it changes no more
	}
	f, err := s.acquire()
	if err != nil {
		return nil, err
	}
	x, err = rebuildSparse(s, f, l.hash)
	s.release()
	l.open.touch(s)
	if err != nil {
		return nil, fmt.Errorf("rebuild index: %w", err)
	}
	if s.dropped.Load() {
		return x, nil
	}
	if err := s.writeIndexFiles(x, l.hash); err != nil {
		s.mu.Lock()
		s.mu.sparse = x
		s.mu.Unlock()
	}
	return x, nil
}

// renewIndex is the background task that makes the index of a segment anew, if a crash came between its rewriting and that of
// its index. If it fails, whoever needs the index makes it.
func (l *Log) renewIndex(s *segment) {
	if !l.closed.Load() && !s.hasIndexFiles(l.hash) {
		_, _ = l.rebuild(s)
	}
}
