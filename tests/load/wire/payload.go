package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// MinPayload is the room that the stamp of a message needs.
const MinPayload = 16

// Payload layout: sequence number (8 bytes), publisher (4), check word (4),
// then a fixed pattern.

func checkWord(seq uint64, pub uint32) uint32 {
	return uint32(seq)*2654435761 ^ uint32(seq>>32) ^ pub ^ 0x5f3759df
}

// StampPayload writes sequence number, publisher and check word over the start of p.
func StampPayload(p []byte, seq uint64, pub uint32) {
	binary.LittleEndian.PutUint64(p, seq)
	binary.LittleEndian.PutUint32(p[8:], pub)
	binary.LittleEndian.PutUint32(p[12:], checkWord(seq, pub))
}

// ReadStamp returns the sequence number and the publisher of a payload.
func ReadStamp(p []byte) (seq uint64, pub uint32, err error) {
	if len(p) < MinPayload {
		return 0, 0, fmt.Errorf("payload of %d bytes is too short", len(p))
	}
	seq = binary.LittleEndian.Uint64(p)
	pub = binary.LittleEndian.Uint32(p[8:])
	if binary.LittleEndian.Uint32(p[12:]) != checkWord(seq, pub) {
		return 0, 0, fmt.Errorf("corrupt payload: stamp % x", p[:MinPayload])
	}
	return seq, pub, nil
}

// NewPayload makes a payload with the pattern that CheckBody expects.
func NewPayload(size int) []byte {
	p := make([]byte, size)
	for i := range p {
		p[i] = byte('a' + i%26)
	}
	return p
}

// CheckBody compares the length of a payload, and of every 64th its bytes after the stamp.
func CheckBody(want, got []byte, seq uint64) error {
	if len(got) != len(want) {
		return fmt.Errorf("message %d has %d bytes instead of %d", seq, len(got), len(want))
	}
	if seq%64 == 0 && !bytes.Equal(got[MinPayload:], want[MinPayload:]) {
		return fmt.Errorf("message %d has a corrupt body", seq)
	}
	return nil
}
