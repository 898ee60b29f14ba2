package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"godwit/stream/vfs"
)

// A checkpoint file, named by its index, holds the owner's state and what of the log need not be scanned again:
//
//	0   hash u64 over [8, 56 + log length)
//	8   magic "GODWITCP"
//	16  format u32 = 1, zeros u32
//	24  index u64         Raft index the state reflects
//	32  log length u64, state length u64
//	48  state hash u64    over the state
//	56  the log's part, then the state
//
// The log's part is a sequence of varints: the number of segments that begin at or below the index; for each serial,
// generation, base, suffix of the name, first; and if it is not the last also end, last index, largest time. Then the
// index of the last one, as far as it lies below the checkpoint's: the number of sparse entries, and of each the
// differences of sequence, index and position from the one before; the number of time entries, and of each the
// differences of time, sequence and position. The last time entry is where the scan is to start.
const (
	extCheckpoint       = ".checkpoint"
	checkpointMagic     = "GODWITCP"
	formatCheckpoint    = 1
	checkpointHeadBytes = 56
	maxCheckpointBytes  = 4 << 30
)

// checkpointSegment is a segment as a checkpoint remembers it. The last three are 0 in the last one.
type checkpointSegment struct {
	segmentHead
	suffix  uint64
	end     int64
	last    uint64
	maxTime int64
}

// checkpoint is a decoded checkpoint file.
type checkpoint struct {
	path     string
	index    uint64
	segments []checkpointSegment
	sparse   sparse // of the last segment
	state    []byte
}

// checkpointFile is the name of a checkpoint. Two may hold the same index: the second is a copy, so that there are always
// two to restore from.
type checkpointFile struct {
	index uint64
	copy  bool
}

func (f checkpointFile) name() string {
	if f.copy {
		return fmt.Sprintf("%020d-2%s", f.index, extCheckpoint)
	}
	return fmt.Sprintf("%020d%s", f.index, extCheckpoint)
}

func parseCheckpointName(name string) (f checkpointFile, ok bool) {
	stem, found := strings.CutSuffix(name, extCheckpoint)
	if !found {
		return f, false
	}
	stem, f.copy = strings.CutSuffix(stem, "-2")
	var err error
	f.index, err = strconv.ParseUint(stem, 10, 64)
	return f, err == nil && f.name() == name
}

// encode returns what stands before the state.
func (c *checkpoint) encode(hash *hasher) []byte {
	b := make([]byte, checkpointHeadBytes, checkpointHeadBytes+32*len(c.segments)+5*len(c.sparse.entries)+64)
	copy(b[8:], checkpointMagic)
	binary.LittleEndian.PutUint32(b[16:], formatCheckpoint)
	binary.LittleEndian.PutUint64(b[24:], c.index)
	b = binary.AppendUvarint(b, uint64(len(c.segments)))
	for i := range c.segments {
		s := &c.segments[i]
		for _, v := range []uint64{s.serial, uint64(s.generation), s.base, s.suffix, s.first} {
			b = binary.AppendUvarint(b, v)
		}
		if i+1 < len(c.segments) {
			b = binary.AppendUvarint(b, uint64(s.end))
			b = binary.AppendUvarint(b, s.last)
			b = binary.AppendVarint(b, s.maxTime)
		}
	}
	b = c.sparse.append(b)
	binary.LittleEndian.PutUint64(b[32:], uint64(len(b)-checkpointHeadBytes))
	binary.LittleEndian.PutUint64(b[40:], uint64(len(c.state)))
	binary.LittleEndian.PutUint64(b[48:], hash.sum(c.state))
	hash.sealBlock(b)
	return b
}

// append encodes the index. Differences of times may overflow; they do so back when they are read.
func (x *sparse) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(x.entries)))
	var e sparseEntry
	for _, n := range x.entries {
		b = binary.AppendUvarint(b, uint64(n.seq-e.seq))
		b = binary.AppendUvarint(b, uint64(n.index-e.index))
		b = binary.AppendUvarint(b, uint64(n.pos-e.pos))
		e = n
	}
	b = binary.AppendUvarint(b, uint64(len(x.times)))
	var t timeEntry
	for _, n := range x.times {
		b = binary.AppendVarint(b, n.time-t.time)
		b = binary.AppendUvarint(b, uint64(n.seq-t.seq))
		b = binary.AppendUvarint(b, uint64(n.pos-t.pos))
		t = n
	}
	return b
}

var errBadCheckpoint = errors.New("segment: malformed checkpoint")

// varints reads a sequence of varints; after the first error it gives zeros.
type varints struct {
	b   []byte
	bad bool
}

func (v *varints) fail() {
	v.bad, v.b = true, nil
}

func (v *varints) uint(limit uint64) uint64 {
	x, n := binary.Uvarint(v.b)
	if n <= 0 || x > limit {
		v.fail()
		return 0
	}
	v.b = v.b[n:]
	return x
}

func (v *varints) int() int64 {
	x, n := binary.Varint(v.b)
	if n <= 0 {
		v.fail()
		return 0
	}
	v.b = v.b[n:]
	return x
}

// count reads the number of things that take at least size bytes each.
func (v *varints) count(size int) int { return int(v.uint(uint64(len(v.b) / size))) }

// decode reads a checkpoint; the state is shared with b. The error is errBadCheckpoint or ErrNewerFormat.
func (c *checkpoint) decode(b []byte, hash *hasher) error {
	if len(b) < checkpointHeadBytes || string(b[8:16]) != checkpointMagic {
		return errBadCheckpoint
	}
	n, size := binary.LittleEndian.Uint64(b[32:]), binary.LittleEndian.Uint64(b[40:])
	rest := uint64(len(b) - checkpointHeadBytes)
	if n > rest || size != rest-n {
		return errBadCheckpoint
	}
	head, state := b[:checkpointHeadBytes+n], b[checkpointHeadBytes+n:]
	if !hash.checkBlock(head) || binary.LittleEndian.Uint64(b[48:]) != hash.sum(state) {
		return errBadCheckpoint
	}
	if binary.LittleEndian.Uint32(b[16:]) > formatCheckpoint {
		return ErrNewerFormat
	}
	c.index, c.state = binary.LittleEndian.Uint64(b[24:]), state
	return c.decodeLog(head[checkpointHeadBytes:])
}

// decodeLog reads the log's part.
func (c *checkpoint) decodeLog(b []byte) error {
	v := &varints{b: b}
	c.segments = make([]checkpointSegment, v.count(5))
	for i := range c.segments {
		s := &c.segments[i]
		s.serial = v.uint(math.MaxUint64)
		s.generation = uint32(v.uint(math.MaxUint32))
		s.base = v.uint(math.MaxUint64)
		s.suffix = v.uint(math.MaxUint64)
		s.first = v.uint(math.MaxUint64)
		if i+1 < len(c.segments) {
			s.end = int64(v.uint(math.MaxUint32))
			s.last = v.uint(math.MaxUint64)
			s.maxTime = v.int()
		}
	}
	c.sparse.read(v)
	if v.bad || len(v.b) > 0 {
		return errBadCheckpoint
	}
	return nil
}

func (x *sparse) read(v *varints) {
	x.entries = make([]sparseEntry, v.count(3))
	var e sparseEntry
	for i := range x.entries {
		e.seq += uint32(v.uint(math.MaxUint32))
		e.index += uint32(v.uint(math.MaxUint32))
		e.pos += uint32(v.uint(math.MaxUint32))
		x.entries[i] = e
	}
	x.times = make([]timeEntry, v.count(3))
	var t timeEntry
	for i := range x.times {
		t.time += v.int()
		t.seq += uint32(v.uint(math.MaxUint32))
		t.pos += uint32(v.uint(math.MaxUint32))
		x.times[i] = t
	}
}

// readCheckpoint returns the reason if the file is not an intact checkpoint of that index.
func readCheckpoint(fsys vfs.FS, path string, index uint64, hash *hasher) (c *checkpoint, reason string, err error) {
	b, err := vfs.ReadFile(fsys, path, maxCheckpointBytes)
	if err != nil {
		return nil, "", err
	}
	c = &checkpoint{path: path}
	err = c.decode(b, hash)
	switch {
	case errors.Is(err, ErrNewerFormat):
		return nil, "", fmt.Errorf("%s: %w", path, err)
	case err != nil:
		return nil, "hash of the checkpoint does not match", nil
	case c.index != index:
		return nil, fmt.Sprintf("checkpoint of index %d under another name", c.index), nil
	}
	return c, "", nil
}

// cut returns the entries that a checkpoint of index may rely on: those at or below it, up to the last time entry,
// where the next scan starts.
func (x *sparse) cut(s *segmentHead, index uint64) sparse {
	n := lastAtOrBefore(len(x.entries), func(i int) uint64 { return s.first + uint64(x.entries[i].index) }, index) + 1
	if n == 0 {
		return sparse{}
	}
	t := lastAtOrBefore(len(x.times), func(i int) uint64 { return uint64(x.times[i].pos) }, uint64(x.entries[n-1].pos)) + 1
	if t == 0 {
		return sparse{}
	}
	k := lastAtOrBefore(n, func(i int) uint64 { return uint64(x.entries[i].pos) }, uint64(x.times[t-1].pos)) + 1
	return sparse{
		entries: append([]sparseEntry(nil), x.entries[:k]...),
		times:   append([]timeEntry(nil), x.times[:t]...),
	}
}
