// Package ws is the WebSocket protocol (RFC 6455, with compression as in RFC 7692) as the transport of a stream of
// bytes: where messages begin and end means nothing to the protocol inside. Reader takes the bytes out of frames,
// Writer puts them in; the opening handshake and the codes of the closing one are here too. Nothing here opens, closes
// or waits for a connection.
package ws

import (
	"encoding/binary"
	"fmt"
)

// Opcode says what a frame holds.
type Opcode byte

// The opcodes.
const (
	OpContinuation Opcode = 0x0
	OpText         Opcode = 0x1
	OpBinary       Opcode = 0x2
	OpClose        Opcode = 0x8
	OpPing         Opcode = 0x9
	OpPong         Opcode = 0xA
)

// Control reports whether frames of the opcode are about the connection, not part of a message.
func (o Opcode) Control() bool { return o&0x8 != 0 }

func (o Opcode) known() bool { return o <= OpBinary || o >= OpClose && o <= OpPong }

const (
	// MaxHeader is the size of the longest frame header.
	MaxHeader = 14
	// MaxControl is the most that the payload of a control frame may have.
	MaxControl = 125

	finalBit      = 0x80
	compressedBit = 0x40 // RSV1
	reservedBits  = 0x30 // RSV2 and RSV3
	maskBit       = 0x80
	len16         = 126 // two bytes with the length follow
	len64         = 127 // eight bytes
)

// Header is what comes before the payload of a frame:
//
//	final, RSV1-3, opcode (1 byte) | masked, length (1 byte) | longer length (0, 2 or 8) | mask key (0 or 4)
type Header struct {
	Op         Opcode
	Final      bool   // the last frame of its message
	Compressed bool   // of the first frame of a message: the message is compressed
	Masked     bool   // the payload is masked with Key
	Key        uint32 // its lowest byte is for the first byte of the payload
	Length     int64  // bytes of payload
}

// Append appends the header's bytes, MaxHeader at most.
func (h *Header) Append(dst []byte) []byte {
	first := byte(h.Op)
	if h.Final {
		first |= finalBit
	}
	if h.Compressed {
		first |= compressedBit
	}
	mask := byte(0)
	if h.Masked {
		mask = maskBit
	}
	switch {
	case h.Length < len16:
		dst = append(dst, first, mask|byte(h.Length))
	case h.Length <= 0xffff:
		dst = append(dst, first, mask|len16, byte(h.Length>>8), byte(h.Length))
	default:
		dst = append(dst, first, mask|len64)
		dst = binary.BigEndian.AppendUint64(dst, uint64(h.Length))
	}
	if h.Masked {
		dst = binary.LittleEndian.AppendUint32(dst, h.Key)
	}
	return dst
}

// headerSize is the size of the header that begins with these two bytes.
func headerSize(second byte) int {
	size := 2
	switch second &^ maskBit {
	case len16:
		size += 2
	case len64:
		size += 8
	}
	if second&maskBit != 0 {
		size += 4
	}
	return size
}

// ParseHeader reads the header at the start of b. It returns the header's size, or 0 if b ends inside it. The error is
// a *ProtocolError; lengths that are longer than they need to be are no error.
func ParseHeader(b []byte) (h Header, size int, err error) {
	if len(b) < 2 {
		return h, 0, nil
	}
	size = headerSize(b[1])
	if len(b) < size {
		return h, 0, nil
	}
	h.Op, h.Final, h.Compressed = Opcode(b[0]&0xf), b[0]&finalBit != 0, b[0]&compressedBit != 0
	if b[0]&reservedBits != 0 {
		return h, 0, violation("reserved bits RSV2 and RSV3 are set")
	}
	if !h.Op.known() {
		return h, 0, violation(fmt.Sprintf("unknown opcode %d", h.Op))
	}
	switch n := b[1] &^ maskBit; n {
	case len16:
		h.Length = int64(binary.BigEndian.Uint16(b[2:]))
	case len64:
		if h.Length = int64(binary.BigEndian.Uint64(b[2:])); h.Length < 0 {
			return h, 0, violation("frame length does not fit 63 bits")
		}
	default:
		h.Length = int64(n)
	}
	if h.Masked = b[1]&maskBit != 0; h.Masked {
		h.Key = binary.LittleEndian.Uint32(b[size-4:])
	}
	return h, size, nil
}
