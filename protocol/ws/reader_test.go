package ws

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestReader(t *testing.T) {
	bin := func(flags, s string) []byte { return fr(OpBinary, flags, s) }
	long := strings.Repeat("0123456789", 70)
	tests := []struct {
		name     string
		in       []byte
		data     string
		controls string
		problem  string // empty: the stream ends regularly
	}{
		{"nothing", nil, "", "", ""},
		{"binary", bin("F", "PING\r\n"), "PING\r\n", "", ""},
		{"text", fr(OpText, "F", "PING\r\n"), "PING\r\n", "", ""},
		{"text need not be UTF-8", fr(OpText, "F", "\xff\xfe"), "\xff\xfe", "", ""},
		{"two messages", join(bin("F", "a"), bin("F", "b")), "ab", "", ""},
		{"16-bit length", join(bin("F", long), bin("F", "b")), long + "b", "", ""},
		{"empty frames", join(bin("F", ""), bin("-", ""), fr(OpContinuation, "-", ""), fr(OpContinuation, "F", ""), bin("F", "x")), "x", "", ""},
		{"fragments", join(bin("-", "PI"), fr(OpContinuation, "-", "NG"), fr(OpContinuation, "F", "\r\n")), "PING\r\n", "", ""},
		{"ping", fr(OpPing, "F", "hi"), "", "9:hi ", ""},
		{"longest ping", fr(OpPing, "F", long[:125]), "", "9:" + long[:125] + " ", ""},
		{"empty ping", fr(OpPing, "F", ""), "", "9: ", ""},
		{"pong is ignored", join(fr(OpPong, "F", "hi"), bin("F", "x")), "x", "", ""},
		{"control between fragments", join(bin("-", "a"), fr(OpPing, "F", "p"), fr(OpContinuation, "-", "b"), fr(OpPong, "F", "q"), fr(OpContinuation, "F", "c")), "abc", "9:p ", ""},
		{"close ends it", join(bin("F", "a"), fr(OpClose, "F", "\x03\xe8bye"), bin("F", "b")), "a", "8:\x03\xe8bye ", ""},
		{"close between fragments", join(bin("-", "a"), fr(OpClose, "F", "")), "a", "8: ", ""},
		{"close of an application", fr(OpClose, "F", "\x0f\xa0"), "", "8:\x0f\xa0 ", ""},
		{"close with half a status", fr(OpClose, "F", "\x03"), "", "", "close frame has half a status"},
		{"close 999", fr(OpClose, "F", "\x03\xe7"), "", "", "invalid close status 999"},
		{"close 1004", fr(OpClose, "F", "\x03\xec"), "", "", "invalid close status 1004"},
		{"close 1005", fr(OpClose, "F", "\x03\xed"), "", "", "invalid close status 1005"},
		{"close 1006", fr(OpClose, "F", "\x03\xee"), "", "", "invalid close status 1006"},
		{"close 1015", fr(OpClose, "F", "\x03\xf7"), "", "", "invalid close status 1015"},
		{"close 2999", fr(OpClose, "F", "\x0b\xb7"), "", "", "invalid close status 2999"},
		{"close 5000", fr(OpClose, "F", "\x13\x88"), "", "", "invalid close status 5000"},
		{"close text is not UTF-8", fr(OpClose, "F", "\x03\xe8\xff"), "", "", "close frame's text is not UTF-8"},
		{"not masked", join(bin("F", "a"), []byte("\x82\x01b")), "a", "", "frame is not masked"},
		{"ping not masked", []byte("\x89\x00"), "", "", "frame is not masked"},
		{"fragmented ping", fr(OpPing, "-", "a"), "", "", "control frame is fragmented"},
		{"long ping", fr(OpPing, "F", long[:126]), "", "", "control frame is longer than 125 bytes"},
		{"compressed ping", fr(OpPing, "FZ", ""), "", "", "control frame is compressed"},
		{"continuation of nothing", fr(OpContinuation, "F", "a"), "", "", "continuation of no message"},
		{"continuation after the end", join(bin("F", "a"), fr(OpContinuation, "F", "b")), "a", "", "continuation of no message"},
		{"message inside a message", join(bin("-", "a"), bin("F", "b")), "a", "", "new message before the end of the last"},
		{"compressed without agreement", bin("FZ", "a"), "", "", "message is compressed without agreement"},
		{"compressed continuation", join(bin("-", "a"), fr(OpContinuation, "FZ", "b")), "a", "", "compression is set on a continuation"},
		{"unknown opcode", join(bin("F", "a"), fr(OpBinary+1, "F", "b")), "a", "", "unknown opcode 3"},
		{"ends inside a header", bin("F", long)[:3], "", "", ""},
		{"ends inside a payload", bin("F", "abcd")[:8], "ab", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := readAllWays(t, tt.in, Config{})
			want := outcome{data: tt.data, controls: tt.controls, err: io.EOF}
			if v := IsViolation(got.err); v != nil {
				got.err = errors.New(v.Text)
			}
			if tt.problem != "" {
				want.err = errors.New(tt.problem)
			}
			if !got.same(want) {
				t.Fatalf("got %v, want %v", got, want)
			}
		})
	}
}

func TestReaderSides(t *testing.T) {
	masked, plain := fr(OpBinary, "F", "a"), []byte("\x82\x01a")
	tests := []struct {
		name string
		cfg  Config
		in   []byte
		want outcome
	}{
		{"client gets unmasked frames", Config{Client: true}, plain, outcome{data: "a", err: io.EOF}},
		{"client refuses masked frames", Config{Client: true}, masked, outcome{err: violation("frame is masked")}},
		{"agreed not to mask", Config{NoMasking: true}, plain, outcome{data: "a", err: io.EOF}},
		{"agreed not to mask, but does", Config{NoMasking: true}, masked, outcome{data: "a", err: io.EOF}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := readAllWays(t, tt.in, tt.cfg); !got.same(tt.want) {
				t.Fatalf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestReaderKeepsGoingAfterSourceErrors(t *testing.T) {
	stream := fr(OpBinary, "F", "hello")
	src := &stutter{r: bytes.NewReader(stream)}
	r := NewReader(src, Config{}, nil)
	var got []byte
	for p := make([]byte, 100); len(got) < 5; {
		n, err := r.Read(p)
		got = append(got, p[:n]...)
		if err != nil && err != errTest {
			t.Fatal(err)
		}
	}
	if string(got) != "hello" {
		t.Fatalf("got %q", got)
	}
}

// stutter returns one byte and one error in turn.
type stutter struct {
	r    io.Reader
	fail bool
}

func (s *stutter) Read(p []byte) (int, error) {
	if s.fail = !s.fail; s.fail {
		return 0, errTest
	}
	return s.r.Read(p[:1])
}

func TestControlErrorIsFinal(t *testing.T) {
	r := NewReader(bytes.NewReader(join(fr(OpBinary, "F", "a"), fr(OpPing, "F", ""), fr(OpBinary, "F", "b"))), Config{},
		func(Opcode, []byte) error { return errTest })
	p := make([]byte, 100)
	if n, err := r.Read(p); n != 1 || err != nil {
		t.Fatalf("got %d, %v", n, err)
	}
	for range 2 {
		if n, err := r.Read(p); n != 0 || err != errTest {
			t.Fatalf("got %d, %v", n, err)
		}
	}
}

func TestHugeFrameHoldsNothing(t *testing.T) {
	h := Header{Op: OpBinary, Final: true, Masked: true, Length: 1<<63 - 1}
	src := io.MultiReader(bytes.NewReader(h.Append(nil)), zeros{})
	r := NewReader(src, Config{}, nil)
	p := make([]byte, 4096)
	allocs := testing.AllocsPerRun(100, func() {
		if n, err := r.Read(p); n == 0 || err != nil {
			t.Fatal(n, err)
		}
	})
	if allocs > 0 {
		t.Fatalf("%v allocations per read", allocs)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
