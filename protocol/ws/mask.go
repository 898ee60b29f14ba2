package ws

import (
	"encoding/binary"
	"math/bits"
)

// Mask sets dst to src, which is as long or shorter, masked or unmasked with key, and returns the key turned so that
// it fits the byte after src. The two may overlap if dst does not begin after src.
func Mask(dst, src []byte, key uint32) uint32 {
	dst = dst[:len(src)]
	wide := uint64(key)<<32 | uint64(key)
	for len(src) >= 64 && len(dst) >= 64 {
		// All is read before any of it is written: with an overlap a write may hit what comes next.
		from, to := (*[64]byte)(src), (*[64]byte)(dst)
		a, b := binary.LittleEndian.Uint64(from[0:]), binary.LittleEndian.Uint64(from[8:])
		c, d := binary.LittleEndian.Uint64(from[16:]), binary.LittleEndian.Uint64(from[24:])
		e, f := binary.LittleEndian.Uint64(from[32:]), binary.LittleEndian.Uint64(from[40:])
		g, h := binary.LittleEndian.Uint64(from[48:]), binary.LittleEndian.Uint64(from[56:])
		binary.LittleEndian.PutUint64(to[0:], a^wide)
		binary.LittleEndian.PutUint64(to[8:], b^wide)
		binary.LittleEndian.PutUint64(to[16:], c^wide)
		binary.LittleEndian.PutUint64(to[24:], d^wide)
		binary.LittleEndian.PutUint64(to[32:], e^wide)
		binary.LittleEndian.PutUint64(to[40:], f^wide)
		binary.LittleEndian.PutUint64(to[48:], g^wide)
		binary.LittleEndian.PutUint64(to[56:], h^wide)
		src, dst = src[64:], dst[64:]
	}
	for len(src) >= 8 {
		binary.LittleEndian.PutUint64(dst, binary.LittleEndian.Uint64(src)^wide)
		src, dst = src[8:], dst[8:]
	}
	for i, b := range src {
		dst[i] = b ^ byte(key)
		key = bits.RotateLeft32(key, -8)
	}
	return key
}
