package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"godwit/stream/vfs"
)

// The file of erasures holds batches that are about to be written over others of the same length. It exists only while that
// goes on:
//
//	0   hash u64 over the rest
//	8   magic "GODWITER"
//	16  format u32 = 1, number of batches u32
//	24  for each: serial u64, base u64, suffix of the name u64, end i64 (of a segment that was rewritten, else 0), position i64,
//	    generation u32, length u32, and the batch
const (
	erasuresName     = "erasing"
	erasuresMagic    = "GODWITER"
	formatErasures   = 1
	erasuresHead     = 24
	erasureHead      = 48
	maxErasuresBytes = eraseMost + 2*longestBatch
)

func encodeErasures(list []erasure, hash *hasher) []byte {
	b := make([]byte, erasuresHead)
	copy(b[8:], erasuresMagic)
	binary.LittleEndian.PutUint32(b[16:], formatErasures)
	binary.LittleEndian.PutUint32(b[20:], uint32(len(list)))
	for i := range list {
		e := &list[i]
		b = binary.LittleEndian.AppendUint64(b, e.serial)
		b = binary.LittleEndian.AppendUint64(b, e.base)
		b = binary.LittleEndian.AppendUint64(b, e.suffix)
		b = binary.LittleEndian.AppendUint64(b, uint64(e.end))
		b = binary.LittleEndian.AppendUint64(b, uint64(e.pos))
		b = binary.LittleEndian.AppendUint32(b, e.generation)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(e.batch)))
		b = append(b, e.batch...)
	}
	hash.sealBlock(b)
	return b
}

// decodeErasures reports whether b is intact; the batches are shared with it. The error is ErrNewerFormat.
func decodeErasures(b []byte, hash *hasher) (list []erasure, ok bool, err error) {
	if len(b) < erasuresHead || string(b[8:16]) != erasuresMagic || !hash.checkBlock(b) {
		return nil, false, nil
	}
	if binary.LittleEndian.Uint32(b[16:]) > formatErasures {
		return nil, false, ErrNewerFormat
	}
	n := binary.LittleEndian.Uint32(b[20:])
	for b = b[erasuresHead:]; n > 0; n-- {
		if len(b) < erasureHead {
			return nil, false, nil
		}
		e := erasure{
			serial: binary.LittleEndian.Uint64(b), base: binary.LittleEndian.Uint64(b[8:]), suffix: binary.LittleEndian.Uint64(b[16:]),
			end: int64(binary.LittleEndian.Uint64(b[24:])), pos: int64(binary.LittleEndian.Uint64(b[32:])),
			generation: binary.LittleEndian.Uint32(b[40:]),
		}
		length := uint64(binary.LittleEndian.Uint32(b[44:]))
		b = b[erasureHead:]
		if length > uint64(len(b)) || e.pos < segmentHeadBytes || e.pos > maxSegmentBytes {
			return nil, false, nil
		}
		e.batch, b = b[:length:length], b[length:]
		list = append(list, e)
	}
	return list, len(b) == 0, nil
}

func writeErasures(fsys vfs.FS, path string, list []erasure, hash *hasher) error {
	return vfs.WriteFileSync(fsys, path, encodeErasures(list, hash))
}

// readErasures returns nothing if there is no such file, and damage if it is not intact.
func readErasures(fsys vfs.FS, dir string, hash *hasher) (list []erasure, damage *Damage, err error) {
	path := filepath.Join(dir, erasuresName)
	b, err := vfs.ReadFile(fsys, path, maxErasuresBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	list, ok, err := decodeErasures(b, hash)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	if !ok {
		damage = &Damage{Path: path, Reason: "hash of the list of erasures does not match: what was being erased may be left"}
	}
	return list, damage, nil
}

// finishErasures writes again what was being overwritten when the process died. A file that is damaged stays.
func (r *recovery) finishErasures() error {
	list, damage, err := readErasures(r.l.opts.FS, r.l.opts.Dir, r.l.hash)
	if err != nil {
		return err
	}
	if damage != nil {
		r.damage = append(r.damage, *damage)
		r.refused++
		return nil
	}
	if len(list) == 0 {
		return nil
	}
	r.verified++
	done := true
	for i := range list {
		ok, err := r.erase(&list[i])
		if err != nil {
			return err
		}
		done = done && ok
	}
	if !done {
		return nil
	}
	return r.l.opts.FS.Remove(filepath.Join(r.l.opts.Dir, erasuresName))
}

// erase writes one batch. It reports false if it cannot be said whether it belongs there.
func (r *recovery) erase(e *erasure) (done bool, err error) {
	s := newSegment(r.l.opts.FS, r.l.opts.Dir, e.suffix, segmentHead{base: e.base})
	h, ok, err := r.readHead(s.logPath())
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil // dropped
	}
	if err != nil {
		return false, err
	}
	if !ok {
		r.damage = append(r.damage, Damage{s.logPath(), e.pos, "an erasure cannot be finished: hash of the segment's head does not match"})
		return false, nil
	}
	st, err := s.fsys.Stat(s.logPath())
	if err != nil {
		return false, err
	}
	if h.serial != e.serial || h.generation != e.generation || h.rewritten.end != e.end || st.Size < e.pos+int64(len(e.batch)) {
		return true, nil // another one has taken its place
	}
	if err := s.overwrite([]erasure{*e}); err != nil {
		return false, fmt.Errorf("finish erasure: %w", err)
	}
	return true, nil
}
