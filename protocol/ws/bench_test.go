package ws

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// traffic is what a publisher sends: 128-byte messages in frames of 64 KiB.
func traffic() []byte {
	msg := "PUB bench.subject 128\r\n" + strings.Repeat("0123456789abcdef", 8) + "\r\n"
	return []byte(strings.Repeat(msg, 64<<10/len(msg)))
}

const messagesPerFrame = (64 << 10) / 153

func TestReadingAndWritingDoNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes pools forget")
	}
	payload := traffic()
	for _, tt := range []struct {
		name   string
		cfg    Config
		stream []byte
	}{
		{"plain", Config{}, fr(OpBinary, "F", string(payload))},
		{"small frames", Config{}, bytes.Repeat(fr(OpBinary, "F", "PING\r\n"), 100)},
		{"compressed", Config{Deflate: true, MaxMessage: limit(1 << 20)}, fr(OpBinary, "FZ", squeeze(t, string(payload)))},
	} {
		t.Run("read "+tt.name, func(t *testing.T) {
			src := &repeat{b: tt.stream, n: 1 << 30}
			r := NewReader(src, tt.cfg, nil)
			p := make([]byte, 64<<10)
			if n := testing.AllocsPerRun(200, func() {
				if _, err := r.Read(p); err != nil {
					t.Fatal(err)
				}
			}); n >= 1 {
				t.Fatalf("%v allocations", n)
			}
		})
	}
	for _, tt := range []struct {
		name string
		cfg  Config
	}{
		{"plain", Config{}}, {"masked", Config{Client: true}}, {"compressed", Config{Deflate: true}},
		{"browser", Config{FrameMax: 4096}}, {"compressed browser", Config{Deflate: true, FrameMax: 4096}},
	} {
		t.Run("write "+tt.name, func(t *testing.T) {
			w := NewWriter(io.Discard, tt.cfg)
			for _, p := range [][]byte{payload, payload[:200], payload[:20]} {
				if n := testing.AllocsPerRun(200, func() {
					if _, err := w.Write(p); err != nil {
						t.Fatal(err)
					}
				}); n >= 1 {
					t.Fatalf("%v allocations for %d bytes", n, len(p))
				}
			}
			if n := testing.AllocsPerRun(200, func() { w.Control(OpPong, payload[:20]) }); n >= 1 {
				t.Fatalf("%v allocations for a pong", n)
			}
		})
	}
}

func BenchmarkMask(b *testing.B) {
	p := make([]byte, 64<<10)
	b.SetBytes(int64(len(p)))
	for b.Loop() {
		Mask(p, p, testKey)
	}
}

func benchmarkRead(b *testing.B, cfg Config, stream []byte, bytes int) {
	r := NewReader(&repeat{b: stream, n: 1 << 62}, cfg, nil)
	p := make([]byte, 64<<10)
	b.SetBytes(int64(bytes))
	b.ReportAllocs()
	for b.Loop() {
		for got := 0; got < bytes; {
			n, err := r.Read(p)
			if err != nil {
				b.Fatal(err)
			}
			got += n
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/messagesPerFrame, "ns/msg")
}

func BenchmarkReadMasked(b *testing.B) {
	p := traffic()
	benchmarkRead(b, Config{}, fr(OpBinary, "F", string(p)), len(p))
}

func BenchmarkReadUnmasked(b *testing.B) {
	p := traffic()
	h := Header{Op: OpBinary, Final: true, Length: int64(len(p))}
	benchmarkRead(b, Config{NoMasking: true}, append(h.Append(nil), p...), len(p))
}

func BenchmarkReadCompressed(b *testing.B) {
	p := traffic()
	benchmarkRead(b, Config{Deflate: true, MaxMessage: limit(1 << 20)}, fr(OpBinary, "FZ", squeeze(b, string(p))), len(p))
}

func benchmarkWrite(b *testing.B, cfg Config) {
	p := traffic()
	w := NewWriter(gatherDiscard{}, cfg)
	b.SetBytes(int64(len(p)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.Write(p); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/messagesPerFrame, "ns/msg")
}

type gatherDiscard struct{}

func (gatherDiscard) Write(p []byte) (int, error)    { return len(p), nil }
func (gatherDiscard) Gather(head, body []byte) error { return nil }

func BenchmarkWrite(b *testing.B)           { benchmarkWrite(b, Config{}) }
func BenchmarkWriteMasked(b *testing.B)     { benchmarkWrite(b, Config{Client: true}) }
func BenchmarkWriteBrowser(b *testing.B)    { benchmarkWrite(b, Config{FrameMax: 4096}) }
func BenchmarkWriteCompressed(b *testing.B) { benchmarkWrite(b, Config{Deflate: true}) }
