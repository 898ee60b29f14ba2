package ws

import (
	"bytes"
	"compress/flate"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
)

// last returns s as a compressed message whose data ends with a last block.
func last(t testing.TB, s string) string {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(w, s)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// stored returns s as a block of compressed data that is not compressed.
func stored(s string) string {
	n := len(s)
	return string([]byte{0, byte(n), byte(n >> 8), ^byte(n), ^byte(n >> 8)}) + s
}

func TestCompressedMessages(t *testing.T) {
	text := "PUB foo 5\r\nhello\r\nPUB foo 5\r\nhello\r\n"
	z := squeeze(t, text)
	bin := func(flags, s string) []byte { return fr(OpBinary, flags, s) }
	cont := func(flags, s string) []byte { return fr(OpContinuation, flags, s) }
	tests := []struct {
		name     string
		in       []byte
		data     string
		controls string
		problem  string
	}{
		{"one frame", bin("FZ", z), text, "", ""},
		{"text message", fr(OpText, "FZ", z), text, "", ""},
		{"between others", join(bin("F", "a"), bin("FZ", z), bin("F", "b"), bin("FZ", z), bin("FZ", z)), "a" + text + "b" + text + text, "", ""},
		{"fragments", join(bin("Z", z[:1]), cont("-", z[1:5]), cont("-", ""), cont("F", z[5:])), text, "", ""},
		{"empty first and last fragment", join(bin("Z", ""), cont("-", z), cont("F", "")), text, "", ""},
		{"control between fragments", join(bin("Z", z[:4]), fr(OpPing, "F", "p"), cont("F", z[4:]), fr(OpPing, "F", "q")), text, "9:p 9:q ", ""},
		{"close after", join(bin("FZ", z), fr(OpClose, "F", "\x03\xe8"), bin("FZ", z)), text, "8:\x03\xe8 ", ""},
		{"close between fragments", join(bin("Z", stored("PING")), fr(OpClose, "F", "\x03\xe8")), "PING", "8:\x03\xe8 ", ""},
		{"of nothing", join(bin("FZ", "\x00"), bin("F", "x")), "x", "", ""},
		{"with a last block", join(bin("FZ", last(t, text)), bin("F", "x")), text + "x", "", ""},
		{"with a last block and the byte that the RFC adds", join(bin("FZ", last(t, text)+"\x00"), bin("F", "x")), text + "x", "", ""},
		{"with a last block in the middle", join(bin("FZ", last(t, text)+z), bin("F", "x")), text + text + "x", "", ""},
		{"with a last block and an empty fragment", join(bin("Z", last(t, text)), cont("F", ""), bin("F", "x")), text + "x", "", ""},
		{"without data", bin("FZ", ""), "", "", "compressed message is corrupt"},
		{"corrupt", join(bin("F", "a"), bin("FZ", "\xff\xff\xff\xff\xff"), bin("F", "b")), "a", "", "compressed message is corrupt"},
		{"cut short", join(bin("FZ", stored("PING")[:7]), bin("F", "b")), "PI\x00\x00", "", "compressed message is corrupt"},
		{"violation inside", join(bin("Z", stored("PING")), bin("F", "b")), "PING", "", "new message before the end of the last"},
		{"compression set again", join(bin("Z", stored("PING")), cont("FZ", "\x00")), "PING", "", "compression is set on a continuation"},
		{"stream ends inside", bin("FZ", stored("PING"))[:13], "PI", "", ""},
		{"many last blocks", bin("FZ", strings.Repeat(last(t, ""), maxEnds+2)), "", "", "compressed message is corrupt"},
		{"some last blocks", bin("FZ", strings.Repeat(last(t, "a"), maxEnds)), strings.Repeat("a", maxEnds), "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := readAllWays(t, tt.in, Config{Deflate: true, MaxMessage: limit(1 << 20)})
			problem := ""
			if v := IsViolation(got.err); v != nil {
				problem = v.Text
			} else if got.err != io.EOF {
				t.Fatal(got.err)
			}
			if got.data != tt.data || got.controls != tt.controls || problem != tt.problem {
				t.Fatalf("got %v, want %q, %q, %s", got, tt.data, tt.controls, tt.problem)
			}
		})
	}
}

func TestExpansionLimit(t *testing.T) {
	const most = 1000
	tests := []struct {
		name string
		size int
		ok   bool
	}{{"below", most - 1, true}, {"at", most, true}, {"above", most + 1, false}, {"far above", 100 * most, false}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			stream := join(fr(OpBinary, "FZ", squeeze(t, strings.Repeat("x", tt.size))), fr(OpBinary, "F", "after"))
			got := readAllWays(t, stream, Config{Deflate: true, MaxMessage: limit(most)})
			want := outcome{data: strings.Repeat("x", tt.size) + "after", err: io.EOF}
			if !tt.ok {
				want = outcome{data: strings.Repeat("x", most), err: ErrTooLarge}
			}
			if !got.same(want) {
				t.Fatalf("got %.100v…, want %.100v…", got, want)
			}
		})
	}
}

func TestLimitIsPerMessage(t *testing.T) {
	one := fr(OpBinary, "FZ", squeeze(t, strings.Repeat("x", 900)))
	got := read(bytes.NewReader(bytes.Repeat(one, 50)), Config{Deflate: true, MaxMessage: limit(1000)}, 512)
	if len(got.data) != 50*900 || got.err != io.EOF {
		t.Fatalf("got %d bytes, %v", len(got.data), got.err)
	}
}

// TestInputLimit sends a message that never becomes anything.
func TestInputLimit(t *testing.T) {
	const most = 1000
	const block = "\x00\x00\x00\xff\xff"
	send := func(blocks int) outcome {
		stream := join(fr(OpBinary, "Z", strings.Repeat(block, blocks)), fr(OpContinuation, "F", "\x00"), fr(OpBinary, "F", "x"))
		return read(bytes.NewReader(stream), Config{Deflate: true, MaxMessage: limit(most)}, 100)
	}
	if got := send(inputFactor*most/len(block) - 1); got.data != "x" || got.err != io.EOF {
		t.Fatalf("below the limit: got %v", got)
	}
	if got := send(inputFactor * most / len(block)); got.data != "" || got.err != ErrTooLarge {
		t.Fatalf("above: got %v", got)
	}
}

// TestBombHoldsLittle expands a message up to a limit of 16 MiB, and looks at the memory.
func TestBombHoldsLittle(t *testing.T) {
	block := squeeze(t, strings.Repeat("\x00", 1<<20)) + "\x00\x00\xff\xff"
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	src := io.MultiReader(bytes.NewReader(fr(OpBinary, "Z", block)), &repeat{b: fr(OpContinuation, "-", block), n: 100})
	r := NewReader(src, Config{Deflate: true, MaxMessage: limit(16 << 20)}, nil)
	total := 0
	p := make([]byte, 32<<10)
	for {
		n, err := r.Read(p)
		total += n
		if err == ErrTooLarge {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if total != 16<<20 {
		t.Fatalf("got %d bytes", total)
	}
	if held := after.TotalAlloc - before.TotalAlloc; held > 1<<20 {
		t.Fatalf("allocated %d bytes", held)
	}
}

// repeat delivers b n times.
type repeat struct {
	b   []byte
	n   int
	cur []byte
}

func (r *repeat) Read(p []byte) (int, error) {
	if len(r.cur) == 0 {
		if r.n == 0 {
			return 0, io.EOF
		}
		r.n--
		r.cur = r.b
	}
	n := copy(p, r.cur)
	r.cur = r.cur[n:]
	return n, nil
}

// TestLargeStream mixes messages of many sizes, more than all buffers hold, in both directions.
func TestLargeStream(t *testing.T) {
	for _, server := range []Config{{}, {Deflate: true}, {Deflate: true, FrameMax: 4096}, {Deflate: true, FrameMax: 4096, Unsplit: true}, {FrameMax: 100}, {NoMasking: true}} {
		rng := rand.New(rand.NewPCG(1, 2))
		var stream, want bytes.Buffer
		for _, client := range []bool{false, true} {
			cfg := server
			cfg.Client, cfg.MaxMessage = client, limit(1<<20)
			w := NewWriter(&stream, cfg)
			for range 40 {
				b := make([]byte, rng.IntN(1<<rng.IntN(18))+1)
				if rng.IntN(2) == 0 {
					for i := range b {
						b[i] = byte(rng.Uint32())
					}
				}
				want.Write(b)
				if n, err := w.Write(b); n != len(b) || err != nil {
					t.Fatal(n, err)
				}
				if err := w.Control(OpPing, b[:min(len(b), MaxControl)]); err != nil {
					t.Fatal(err)
				}
			}
			cfg.Client = !client
			if got := read(&stream, cfg, 5000); got.data != want.String() || got.err != io.EOF || strings.Count(got.controls, "9:") < 40 {
				t.Fatalf("%+v: %d bytes, want %d; %v", cfg, len(got.data), want.Len(), got.err)
			}
			want.Reset()
		}
	}
}
