package ws

import (
	"bytes"
	"testing"
)

// maskNaively is the RFC's definition.
func maskNaively(b []byte, key uint32, offset int) []byte {
	out := make([]byte, len(b))
	for i := range b {
		out[i] = b[i] ^ byte(key>>(8*((i+offset)%4)))
	}
	return out
}

func TestMaskEqualsDefinition(t *testing.T) {
	src := make([]byte, 200)
	for i := range src {
		src[i] = byte(i * 7)
	}
	for n := range len(src) {
		for cut := 0; cut <= n; cut += 1 + cut/9 {
			dst := make([]byte, n)
			key := Mask(dst[:cut], src[:cut], testKey)
			Mask(dst[cut:], src[cut:n], key)
			if want := maskNaively(src[:n], testKey, 0); !bytes.Equal(dst, want) {
				t.Fatalf("%d bytes cut at %d: got % x, want % x", n, cut, dst, want)
			}
		}
	}
}

func TestMaskMovesToTheFront(t *testing.T) {
	for shift := range 40 {
		b := make([]byte, 200)
		for i := range b {
			b[i] = byte(i * 11)
		}
		want := maskNaively(b[shift:], testKey, 0)
		Mask(b, b[shift:], testKey)
		if got := b[:len(want)]; !bytes.Equal(got, want) {
			t.Fatalf("by %d: got % x, want % x", shift, got, want)
		}
	}
}

func FuzzMask(f *testing.F) {
	f.Add([]byte("hello, world: masked"), uint32(testKey), 3, 2)
	f.Add(bytes.Repeat([]byte{0xff, 0}, 50), uint32(0), 32, 14)
	f.Fuzz(func(t *testing.T, src []byte, key uint32, cut, shift int) {
		if len(src) > 1<<16 || cut < 0 || cut > len(src) || shift < 0 || shift > 64 {
			return
		}
		want := maskNaively(src, key, 0)
		b := append(make([]byte, shift), src...)
		next := Mask(b, b[shift:shift+cut], key)
		Mask(b[cut:], b[shift+cut:], next)
		if !bytes.Equal(b[:len(src)], want) {
			t.Fatalf("key %x, cut at %d, moved by %d: got % x, want % x", key, cut, shift, b[:len(src)], want)
		}
	})
}
