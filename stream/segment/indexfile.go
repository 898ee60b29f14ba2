package segment

import (
	"encoding/binary"
	"errors"
	"fmt"

	"godwit/stream/vfs"
)

// The index file of a sealed segment, little endian:
//
//	0   hash u64 over [8, end of the fences)
//	8   magic "GODWITIX", format u32 = 1, generation u32, serial u64, end of the segment u64, index of its last batch u64
//	48  entries u32, pages u32
//	56  fences: the first entry of each page
//
// padded to a multiple of 4096, then pages of 4096: hash u64 over the rest, page number u32, count u32, entries. An
// entry has 12 bytes: sequence - base, index - first, position, u32 each. So a look-up reads two pieces, and nothing of
// a sealed segment need stay in memory.
//
// The time index file has the same head with magic "GODWITTX" and the number of entries twice, and the entries follow
// it at once, under the same hash: time i64, sequence - base u32, position u32.
const (
	indexMagic      = "GODWITIX"
	timeMagic       = "GODWITTX"
	formatIndex     = 1
	indexHeadBytes  = 56
	indexPageBytes  = 4096
	sparseBytes     = 12
	timeEntryBytes  = 16
	entriesPerPage  = (indexPageBytes - 16) / sparseBytes
	maxIndexEntries = maxSegmentBytes / headLeast
)

// errBadIndex: an index file is missing something, damaged, or of another life of the segment. It is rebuilt.
var errBadIndex = errors.New("segment: index file does not match its segment")

func (e *sparseEntry) put(b []byte) {
	binary.LittleEndian.PutUint32(b, e.seq)
	binary.LittleEndian.PutUint32(b[4:], e.index)
	binary.LittleEndian.PutUint32(b[8:], e.pos)
}

func (e *sparseEntry) get(b []byte) {
	e.seq = binary.LittleEndian.Uint32(b)
	e.index = binary.LittleEndian.Uint32(b[4:])
	e.pos = binary.LittleEndian.Uint32(b[8:])
}

func (e *timeEntry) put(b []byte) {
	binary.LittleEndian.PutUint64(b, uint64(e.time))
	binary.LittleEndian.PutUint32(b[8:], e.seq)
	binary.LittleEndian.PutUint32(b[12:], e.pos)
}

func (e *timeEntry) get(b []byte) {
	e.time = int64(binary.LittleEndian.Uint64(b))
	e.seq = binary.LittleEndian.Uint32(b[8:])
	e.pos = binary.LittleEndian.Uint32(b[12:])
}

// putIndexHead writes the common head, but for the hash.
func (s *segment) putIndexHead(b []byte, magic string, entries, pages int) {
	copy(b[8:], magic)
	binary.LittleEndian.PutUint32(b[16:], formatIndex)
	binary.LittleEndian.PutUint32(b[20:], s.generation)
	binary.LittleEndian.PutUint64(b[24:], s.serial)
	binary.LittleEndian.PutUint64(b[32:], uint64(s.size.Load()))
	binary.LittleEndian.PutUint64(b[40:], s.last.Load())
	binary.LittleEndian.PutUint32(b[48:], uint32(entries))
	binary.LittleEndian.PutUint32(b[52:], uint32(pages))
}

// checkIndexHead reports whether b is the head of an index file of this segment as it is now.
func (s *segment) checkIndexHead(b []byte, magic string) (entries, pages int, ok bool) {
	if len(b) < indexHeadBytes || string(b[8:16]) != magic || binary.LittleEndian.Uint32(b[16:]) != formatIndex ||
		binary.LittleEndian.Uint32(b[20:]) != s.generation || binary.LittleEndian.Uint64(b[24:]) != s.serial ||
		binary.LittleEndian.Uint64(b[32:]) != uint64(s.size.Load()) || binary.LittleEndian.Uint64(b[40:]) != s.last.Load() {
		return 0, 0, false
	}
	entries, pages = int(binary.LittleEndian.Uint32(b[48:])), int(binary.LittleEndian.Uint32(b[52:]))
	return entries, pages, entries <= maxIndexEntries && pages <= maxIndexEntries
}

// pad returns n rounded up to whole pages.
func pad(n int) int { return (n + indexPageBytes - 1) / indexPageBytes * indexPageBytes }

func (s *segment) encodeIndex(x *sparse, hash *hasher) []byte {
	pages := (len(x.entries) + entriesPerPage - 1) / entriesPerPage
	fences := indexHeadBytes + pages*sparseBytes
	b := make([]byte, pad(fences)+pages*indexPageBytes)
	s.putIndexHead(b, indexMagic, len(x.entries), pages)
	for p := range pages {
		part := x.entries[p*entriesPerPage : min((p+1)*entriesPerPage, len(x.entries))]
		part[0].put(b[indexHeadBytes+p*sparseBytes:])
		page := b[pad(fences)+p*indexPageBytes:][:indexPageBytes]
		binary.LittleEndian.PutUint32(page[8:], uint32(p))
		binary.LittleEndian.PutUint32(page[12:], uint32(len(part)))
		for i := range part {
			part[i].put(page[16+i*sparseBytes:])
		}
		hash.sealBlock(page)
	}
	hash.sealBlock(b[:fences])
	return b
}

func (s *segment) encodeTimes(x *sparse, hash *hasher) []byte {
	b := make([]byte, indexHeadBytes+len(x.times)*timeEntryBytes)
	s.putIndexHead(b, timeMagic, len(x.times), len(x.times))
	for i := range x.times {
		x.times[i].put(b[indexHeadBytes+i*timeEntryBytes:])
	}
	hash.sealBlock(b)
	return b
}

// writeIndexFiles makes the index files of a sealed segment.
func (s *segment) writeIndexFiles(x *sparse, hash *hasher) error {
	if err := vfs.WriteFileSync(s.fsys, s.path+extIndex, s.encodeIndex(x, hash)); err != nil {
		return fmt.Errorf("write index of segment %s: %w", s.path, err)
	}
	if err := vfs.WriteFileSync(s.fsys, s.path+extTime, s.encodeTimes(x, hash)); err != nil {
		return fmt.Errorf("write time index of segment %s: %w", s.path, err)
	}
	return nil
}

// readFull reads len(b) bytes at off, or says errBadIndex.
func readFull(f vfs.File, b []byte, off int64) error {
	if n, err := f.ReadAt(b, off); n < len(b) {
		return errors.Join(errBadIndex, err)
	}
	return nil
}

// openIndex opens the index file and reads its head and fences.
func (s *segment) openIndex(hash *hasher) (f vfs.File, head []byte, pages int, err error) {
	f, err = s.fsys.OpenFile(s.path+extIndex, 0)
	if err != nil {
		return nil, nil, 0, err
	}
	head = make([]byte, indexPageBytes)
	if err = readFull(f, head, 0); err == nil {
		_, n, ok := s.checkIndexHead(head, indexMagic)
		fences := indexHeadBytes + n*sparseBytes
		size, serr := f.Size()
		ok = ok && serr == nil && int64(pad(fences)+n*indexPageBytes) <= size // before that much is allocated
		if ok && fences > len(head) {
			head = make([]byte, fences)
			err = readFull(f, head, 0)
		}
		if err == nil && (!ok || !hash.checkBlock(head[:fences])) {
			err = errBadIndex
		}
		pages = n
	}
	if err != nil {
		f.Close()
		return nil, nil, 0, err
	}
	return f, head, pages, nil
}

// readIndexPage reads page p of pages and returns the number of its entries, which is not 0.
func readIndexPage(f vfs.File, page []byte, pages, p int, hash *hasher) (int, error) {
	if err := readFull(f, page, int64(pad(indexHeadBytes+pages*sparseBytes)+p*indexPageBytes)); err != nil {
		return 0, err
	}
	n := int(binary.LittleEndian.Uint32(page[12:]))
	if !hash.checkBlock(page) || binary.LittleEndian.Uint32(page[8:]) != uint32(p) || n == 0 || n > entriesPerPage {
		return 0, errBadIndex
	}
	return n, nil
}

// timesOnDisk reads the time index file.
func (s *segment) timesOnDisk(hash *hasher) ([]timeEntry, error) {
	b, err := vfs.ReadFile(s.fsys, s.path+extTime, indexHeadBytes+maxIndexEntries*timeEntryBytes)
	if err != nil {
		return nil, err
	}
	n, again, ok := s.checkIndexHead(b, timeMagic)
	if !ok || again != n || len(b) != indexHeadBytes+n*timeEntryBytes || !hash.checkBlock(b) {
		return nil, errBadIndex
	}
	times := make([]timeEntry, n)
	for i := range times {
		times[i].get(b[indexHeadBytes+i*timeEntryBytes:])
	}
	return times, nil
}

// sparseOnDisk reads both index files as a whole.
func (s *segment) sparseOnDisk(hash *hasher) (*sparse, error) {
	f, _, pages, err := s.openIndex(hash)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	x := &sparse{entries: make([]sparseEntry, 0, pages*entriesPerPage)}
	page := make([]byte, indexPageBytes)
	for p := range pages {
		n, err := readIndexPage(f, page, pages, p, hash)
		if err != nil {
			return nil, err
		}
		for i := range n {
			var e sparseEntry
			e.get(page[16+i*sparseBytes:])
			x.entries = append(x.entries, e)
		}
	}
	x.times, err = s.timesOnDisk(hash)
	return x, err
}

// hasIndexFiles reports whether both index files are there and belong to the segment. Their pages are verified when read.
func (s *segment) hasIndexFiles(hash *hasher) bool {
	f, _, _, err := s.openIndex(hash)
	if err != nil {
		return false
	}
	f.Close()
	_, err = s.timesOnDisk(hash)
	return err == nil
}
