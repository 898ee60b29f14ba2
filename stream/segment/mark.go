package segment

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"path/filepath"

	"godwit/stream/vfs"
)

// The mark is a small file that is replaced as a whole, when the log is closed and before segments are dropped:
//
//	0   hash u64 over [8, 64)
//	8   magic "GODWITMK"
//	16  format u32 = 1, generation u32   highest generation given
//	24  durable u64                      Raft index that is known to be durable
//	32  next u64                         lower bound of the sequence to be assigned after it
//	40  firstSerial u64                  segments below were dropped; their files may be left
//	48  zeros
const (
	markName   = "mark"
	markMagic  = "GODWITMK"
	markBytes  = 64
	formatMark = 1
)

type mark struct {
	generation  uint32
	durable     uint64
	next        uint64
	firstSerial uint64
}

func (m *mark) encode(hash *hasher) []byte {
	b := make([]byte, markBytes)
	copy(b[8:], markMagic)
	binary.LittleEndian.PutUint32(b[16:], formatMark)
	binary.LittleEndian.PutUint32(b[20:], m.generation)
	binary.LittleEndian.PutUint64(b[24:], m.durable)
	binary.LittleEndian.PutUint64(b[32:], m.next)
	binary.LittleEndian.PutUint64(b[40:], m.firstSerial)
	hash.sealBlock(b)
	return b
}

// decode reports whether b is an intact mark. The error is ErrNewerFormat.
func (m *mark) decode(b []byte, hash *hasher) (ok bool, err error) {
	if len(b) < markBytes || !hash.checkBlock(b) || string(b[8:16]) != markMagic {
		return false, nil
	}
	if binary.LittleEndian.Uint32(b[16:]) > formatMark {
		return false, ErrNewerFormat
	}
	m.generation = binary.LittleEndian.Uint32(b[20:])
	m.durable = binary.LittleEndian.Uint64(b[24:])
	m.next = binary.LittleEndian.Uint64(b[32:])
	m.firstSerial = binary.LittleEndian.Uint64(b[40:])
	return true, nil
}

// readMark returns the zero mark if there is none, and damage if there is one that is not intact.
func readMark(fsys vfs.FS, dir string, hash *hasher) (m mark, damage *Damage, err error) {
	path := filepath.Join(dir, markName)
	b, err := vfs.ReadFile(fsys, path, 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil, nil
	}
	if err != nil {
		return m, nil, err
	}
	ok, err := m.decode(b, hash)
	if err != nil {
		return m, nil, err
	}
	if !ok {
		return mark{}, &Damage{Path: path, Reason: "hash of the mark does not match"}, nil
	}
	return m, nil, nil
}

func writeMark(fsys vfs.FS, dir string, m mark, hash *hasher) error {
	return vfs.WriteFileSync(fsys, filepath.Join(dir, markName), m.encode(hash))
}
