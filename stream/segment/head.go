package segment

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/minio/highwayhash"
)

// Kind says what a batch holds.
type Kind uint8

const (
	KindMessages Kind = 1 // records are messages
	KindProgress Kind = 2 // consumer positions, opaque here
	KindCommand  Kind = 3 // configuration changes, deletes, purges, opaque here
)

const (
	batchHeadBytes = 64
	formatBatch    = 1
)

// Head describes a batch.
type Head struct {
	Kind  Kind
	Attrs uint8  // meaning is the caller's
	Index uint64 // Raft index; grows by exactly 1 per batch
	Term  uint64 // Raft term; 1 without replication
	Time  int64  // leader's clock, ns since 1970; that of all its messages, plus their time delta
	Base  uint64 // sequence of the first message; for other kinds the next sequence to be assigned
	Count uint32 // messages; 0 in other kinds
}

// next returns the sequence to be assigned after the batch.
func (h *Head) next() uint64 { return h.Base + uint64(h.Count) }

// batchHead is a Head as it is stored.
type batchHead struct {
	Head
	flags   uint8
	short   bool // in the short form
	newer   bool // get met what a later format may mean
	size    int  // of the head
	length  int  // of the whole batch
	durable uint64
}

// put writes the head in the form and with the length that it has, without checksums.
func (h *batchHead) put(b []byte) {
	if h.short {
		h.putShort(b)
		return
	}
	binary.LittleEndian.PutUint32(b[8:], uint32(h.length))
	b[12], b[13], b[14], b[15] = byte(h.Kind), formatBatch, h.Attrs, h.flags
	binary.LittleEndian.PutUint64(b[16:], h.Index)
	binary.LittleEndian.PutUint64(b[24:], h.Term)
	binary.LittleEndian.PutUint64(b[32:], uint64(h.Time))
	binary.LittleEndian.PutUint64(b[40:], h.Base)
	binary.LittleEndian.PutUint64(b[48:], h.durable)
	binary.LittleEndian.PutUint32(b[56:], h.Count)
}

// get reads the head of the batch that b starts with, which is intact.
func (h *batchHead) get(b []byte) {
	if isShort(b) {
		h.getShort(b)
		return
	}
	_ = b[batchHeadBytes-1]
	h.short, h.newer, h.size = false, b[13] > formatBatch, batchHeadBytes
	h.length = int(binary.LittleEndian.Uint32(b[8:]))
	h.Kind, h.Attrs, h.flags = Kind(b[12]), b[14], b[15]
	h.Index = binary.LittleEndian.Uint64(b[16:])
	h.Term = binary.LittleEndian.Uint64(b[24:])
	h.Time = int64(binary.LittleEndian.Uint64(b[32:]))
	h.Base = binary.LittleEndian.Uint64(b[40:])
	h.durable = binary.LittleEndian.Uint64(b[48:])
	h.Count = binary.LittleEndian.Uint32(b[56:])
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// hasher computes the checksums of one log. It is immutable.
type hasher struct {
	key  [32]byte
	salt uint32 // starts the checksums of batch heads
	max  int    // longest batch
}

// longestBatch is the bound for reading: a log may hold batches that were appended under a larger MaxBatchBytes.
const longestBatch = batchHeadBytes + maxBodyBytes

func newHasher(key [32]byte) *hasher {
	h := &hasher{key: key, max: longestBatch}
	h.salt = uint32(h.sum([]byte("batch head")))
	return h
}

func (h *hasher) sum(b []byte) uint64 { return highwayhash.Sum64(b, h.key[:]) }

func (h *hasher) headSum(b []byte) uint32 { return crc32.Update(h.salt, castagnoli, b[8:60]) }

// seal puts the checksums into a batch.
func (h *hasher) seal(b []byte) {
	if !isShort(b) {
		binary.LittleEndian.PutUint32(b[60:], h.headSum(b))
	}
	binary.LittleEndian.PutUint64(b, h.sum(b[8:]))
}

// sealBlock puts the hash into the first 8 bytes of b; checkBlock verifies it.
func (h *hasher) sealBlock(b []byte) { binary.LittleEndian.PutUint64(b, h.sum(b[8:])) }

func (h *hasher) checkBlock(b []byte) bool {
	return len(b) >= 8 && binary.LittleEndian.Uint64(b) == h.sum(b[8:])
}

// batchState is what checkBatch found.
type batchState uint8

const (
	batchGood  batchState = iota
	batchShort            // b holds only a part
	batchBad
	batchNewer // intact, of a later format
)

// checkBatch verifies the batch that b starts with. need is the number of bytes that b must have for a decision, when
// it is batchShort; reason says what is wrong when it is batchBad. The head is that of the batch if it is good.
func (h *hasher) checkBatch(b []byte, head *batchHead) (state batchState, need int, reason string) {
	if len(b) < headLeast {
		return batchShort, headLeast, ""
	}
	if isShort(b) {
		return h.checkShort(b, head)
	}
	if len(b) < batchHeadBytes {
		return batchShort, batchHeadBytes, ""
	}
	if binary.LittleEndian.Uint32(b[60:]) != h.headSum(b) {
		return batchBad, 0, "checksum of a batch head does not match"
	}
	head.get(b)
	n := head.length
	if n < batchHeadBytes || n > h.max {
		return batchBad, 0, fmt.Sprintf("batch of %d bytes", n)
	}
	if len(b) < n {
		return batchShort, n, ""
	}
	if binary.LittleEndian.Uint64(b) != h.sum(b[8:n]) {
		return batchBad, 0, fmt.Sprintf("hash of batch %d does not match", head.Index)
	}
	if b[13] == 0 {
		return batchBad, 0, fmt.Sprintf("batch %d has no format", head.Index)
	}
	return head.judge()
}

// checkShort is checkBatch for a short head.
func (h *hasher) checkShort(b []byte, head *batchHead) (state batchState, need int, reason string) {
	n := int(binary.LittleEndian.Uint16(b[8:]))
	if n < headLeast || n > shortMost {
		return batchBad, 0, fmt.Sprintf("short batch of %d bytes", n)
	}
	if len(b) < n {
		return batchShort, n, ""
	}
	if binary.LittleEndian.Uint64(b) != h.sum(b[8:n]) {
		return batchBad, 0, "hash of a short batch does not match"
	}
	if !head.getShort(b[:n]) && !head.newer {
		return batchBad, 0, "head of a short batch makes no sense"
	}
	return head.judge()
}

// judge says whether the head of a batch whose checksums match makes sense.
func (h *batchHead) judge() (state batchState, need int, reason string) {
	known, sound := h.packedWell()
	if h.newer || !known || h.Kind > KindCommand {
		return batchNewer, 0, ""
	}
	if !sound || h.Kind == 0 || (h.Kind == KindMessages) != (h.Count > 0) || h.next() < h.Base {
		return batchBad, 0, fmt.Sprintf("batch %d contradicts itself", h.Index)
	}
	return batchGood, h.length, ""
}
