package segment

import (
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"godwit/stream/vfs"
)

const (
	segmentHeadBytes = 128
	segmentMagic     = "GODWITSG"
	formatRewritten  = 2
	formatShort      = 3

	extLog   = ".log"
	extIndex = ".index"
	extTime  = ".timeindex"
	extVoid  = ".void" // of a segment that was put aside
)

// segmentHead is the head of a segment file; see the package comment.
type segmentHead struct {
	generation uint32
	serial     uint64
	base       uint64
	first      uint64
	created    int64
	durable    uint64
	prevEnd    int64
	rewritten  rewritten
	longHeads  bool // it is of a format whose readers know no short heads of batches
}

// rewritten is what the head of a segment that was rewritten says about its batches. Their indexes have gaps.
type rewritten struct {
	end     int64  // behind the last one; 0: the segment was never rewritten
	last    uint64 // index of the last one before it was rewritten
	maxTime int64
	count   uint64 // messages that were left
}

func (h *segmentHead) encode(hash *hasher) []byte {
	b := make([]byte, segmentHeadBytes)
	copy(b[8:], segmentMagic)
	binary.LittleEndian.PutUint32(b[16:], formatShort)
	binary.LittleEndian.PutUint32(b[20:], h.generation)
	binary.LittleEndian.PutUint64(b[24:], h.serial)
	binary.LittleEndian.PutUint64(b[32:], h.base)
	binary.LittleEndian.PutUint64(b[40:], h.first)
	binary.LittleEndian.PutUint64(b[48:], uint64(h.created))
	binary.LittleEndian.PutUint64(b[56:], h.durable)
	binary.LittleEndian.PutUint64(b[64:], uint64(h.prevEnd))
	if r := &h.rewritten; r.end > 0 {
		binary.LittleEndian.PutUint64(b[72:], uint64(r.end))
		binary.LittleEndian.PutUint64(b[80:], r.last)
		binary.LittleEndian.PutUint64(b[88:], uint64(r.maxTime))
		binary.LittleEndian.PutUint64(b[96:], r.count)
	}
	hash.sealBlock(b)
	return b
}

// decode reports whether b is an intact head. The error is ErrNewerFormat.
func (h *segmentHead) decode(b []byte, hash *hasher) (ok bool, err error) {
	if len(b) < segmentHeadBytes || string(b[8:16]) != segmentMagic || !hash.checkBlock(b[:segmentHeadBytes]) {
		return false, nil
	}
	format := binary.LittleEndian.Uint32(b[16:])
	if format > formatShort {
		return false, ErrNewerFormat
	}
	h.generation = binary.LittleEndian.Uint32(b[20:])
	h.serial = binary.LittleEndian.Uint64(b[24:])
	h.base = binary.LittleEndian.Uint64(b[32:])
	h.first = binary.LittleEndian.Uint64(b[40:])
	h.created = int64(binary.LittleEndian.Uint64(b[48:]))
	h.durable = binary.LittleEndian.Uint64(b[56:])
	h.prevEnd = int64(binary.LittleEndian.Uint64(b[64:]))
	h.longHeads = format < formatShort
	h.rewritten = rewritten{}
	if format >= formatRewritten {
		h.rewritten = rewritten{
			end:     int64(binary.LittleEndian.Uint64(b[72:])),
			last:    binary.LittleEndian.Uint64(b[80:]),
			maxTime: int64(binary.LittleEndian.Uint64(b[88:])),
			count:   binary.LittleEndian.Uint64(b[96:]),
		}
	}
	return true, nil
}

// segmentName returns the name of a segment's files without extension. suffix 0 means none.
func segmentName(base, suffix uint64) string {
	if suffix == 0 {
		return fmt.Sprintf("%020d", base)
	}
	return fmt.Sprintf("%020d-%d", base, suffix)
}

// parseSegmentName is the reverse for the name of a .log file.
func parseSegmentName(name string) (base, suffix uint64, ok bool) {
	stem, found := strings.CutSuffix(name, extLog)
	if !found {
		return 0, 0, false
	}
	digits, tail, more := strings.Cut(stem, "-")
	if len(digits) != 20 {
		return 0, 0, false
	}
	base, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return 0, 0, false
	}
	if more {
		if suffix, err = strconv.ParseUint(tail, 10, 64); err != nil || suffix == 0 {
			return 0, 0, false
		}
	}
	return base, suffix, segmentName(base, suffix) == stem
}

// segment is one file of the log. Its owner (the log's) appends to the last one; when a segment is sealed, nothing of
// it changes any more.
type segment struct {
	segmentHead        // immutable; durable is known of segments that were opened only
	suffix      uint64 // of the name, 0: none
	fsys        vfs.FS
	path        string // without extension

	size    atomic.Int64  // end of the last batch appended; the owner writes it
	written atomic.Int64  // the file holds whole batches below this; whoever writes the file writes it
	last    atomic.Uint64 // index of the last batch, first-1 if there is none; the owner writes it
	maxTime atomic.Int64  // largest time of a message, math.MinInt64 if there is none; the owner writes it
	sealed  atomic.Bool   // set after the last change of size, last and maxTime
	dropped atomic.Bool   // its files are being removed
	indexed atomic.Bool   // somebody writes, or wrote, the index files

	revision uint32      // immutable; how often the file was replaced in this process, for the cache
	renew    bool        // set while opening: a crash may have left no index files, or those from before it was rewritten
	created  bool        // by openForWriting, be it with a head or not; whoever writes the file uses it
	exists   bool        // the file was created, and has a head; likewise
	dirDirty atomic.Bool // the file's name is not durable yet
	zero     zeroing

	// erasures counts how often batches of the file were overwritten in this process. content is held while one is, and by
	// whoever reads the file while that may happen, so that nobody takes a part of it for damage.
	erasures atomic.Uint32
	content  sync.RWMutex

	// mu guards what readers share. It ranks after Log.mu and is held across I/O only to open or close a file and to
	// rebuild a lost index.
	mu struct {
		sync.RWMutex
		file   vfs.File // of readers; nil: not open
		users  int      // readers that use file right now
		writer vfs.File // of the log; nil: not open. What it syncs is reported to it, whoever else has the file open.
		closed bool
		// sparse is the index in memory; nil if it lies in the index files only.
		sparse *sparse
	}
}

func newSegment(fsys vfs.FS, dir string, suffix uint64, h segmentHead) *segment {
	s := &segment{segmentHead: h, suffix: suffix, fsys: fsys, path: filepath.Join(dir, segmentName(h.base, suffix))}
	s.size.Store(segmentHeadBytes)
	s.last.Store(h.first - 1)
	s.maxTime.Store(math.MinInt64)
	s.zero.cond.L = &s.zero.mu
	return s
}

func (s *segment) logPath() string { return s.path + extLog }

// complete says that nothing more will be written to the segment.
func (s *segment) complete() bool { return s.sealed.Load() && s.written.Load() == s.size.Load() }

// empty says that the segment holds no batch.
func (s *segment) empty() bool { return s.size.Load() <= segmentHeadBytes }

// acquire returns the open file; release must follow.
func (s *segment) acquire() (vfs.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closed {
		return nil, ErrClosed
	}
	if s.mu.file == nil {
		f, err := s.fsys.OpenFile(s.logPath(), 0)
		if err != nil {
			return nil, err
		}
		s.mu.file = f
	}
	s.mu.users++
	return s.mu.file, nil
}

// release gives the file back; it stays open until shut.
func (s *segment) release() {
	s.mu.Lock()
	s.mu.users--
	if s.mu.closed && s.mu.users == 0 {
		s.closeLocked()
	}
	s.mu.Unlock()
}

// writer returns the file that the log writes, nil if it is not open.
func (s *segment) writer() vfs.File {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.mu.writer
}

func (s *segment) setWriter(f vfs.File) {
	s.mu.Lock()
	s.mu.writer = f
	s.mu.Unlock()
}

// closeWriter is called when all that the log writes to the segment is durable, or never will be.
func (s *segment) closeWriter() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.writer != nil {
		s.mu.writer.Close() // nothing depends on it: what matters was synced
		s.mu.writer = nil
	}
}

// shut closes the file if nobody uses it; it is opened again when needed.
func (s *segment) shut() {
	s.mu.Lock()
	if s.mu.users == 0 {
		s.closeLocked()
	}
	s.mu.Unlock()
}

// finish closes the segment for good, for readers when the last one has gone.
func (s *segment) finish() {
	s.closeWriter()
	s.mu.Lock()
	s.mu.closed = true
	if s.mu.users == 0 {
		s.closeLocked()
	}
	s.mu.Unlock()
}

func (s *segment) closeLocked() {
	if s.mu.file != nil {
		s.mu.file.Close()
		s.mu.file = nil
	}
}
