package stream

import (
	"fmt"
	"strings"
	"testing"

	"godwit/protocol/jsapi"
	"godwit/stream/vfs"
)

// TestCompression: a compressed stream takes less room, counts the same, and can be read after restarts and after the
// setting was changed.
func TestCompression(t *testing.T) {
	value := strings.Repeat("compressible ", 100)
	stored := map[jsapi.Compression]int64{}
	for _, kind := range []jsapi.Compression{jsapi.NoCompression, jsapi.S2Compression} {
		cfg := jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}, Compression: kind}
		b := openBench(t, vfs.NewMem(), cfg, nil, nil)
		for i := range 50 {
			b.accept(testMsg{subject: fmt.Sprintf("s.%d", i%3), value: value, headers: []string{"A: b"}})
		}
		one := uint64(22 + 3 + len(value) + 8 + 4 + len("NATS/1.0\r\nA: b\r\n\r\n"))
		for range 2 {
			if st := b.state(); st.Msgs != 50 || st.Bytes != 50*one {
				t.Errorf("%v: %+v, want %d bytes", kind, st, 50*one)
			}
			for i := range 50 {
				b.wantMsg(uint64(i+1), fmt.Sprintf("s.%d", i%3), "NATS/1.0\r\nA: b\r\n\r\n", value)
			}
			b = b.restart(true)
		}
		stored[kind] = b.p.log.Bytes()
		b.close()
	}
	if plain, packed := stored[jsapi.NoCompression], stored[jsapi.S2Compression]; packed > plain/3 {
		t.Errorf("compressed %d bytes, else %d", packed, plain)
	}
}
