package ws

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

// frames lists the frames of a stream: opcode, flags, length.
func frames(t *testing.T, b []byte) string {
	t.Helper()
	var list []string
	for len(b) > 0 {
		h, n, err := ParseHeader(b)
		if n == 0 || err != nil || int64(len(b)-n) < h.Length {
			t.Fatalf("bad frame % .20x: %v", b, err)
		}
		s := fmt.Sprintf("%x", byte(h.Op))
		for _, f := range []struct {
			set  bool
			name string
		}{{h.Final, "F"}, {h.Compressed, "Z"}, {h.Masked, "M"}} {
			if f.set {
				s += f.name
			}
		}
		list = append(list, fmt.Sprintf("%s:%d", s, h.Length))
		b = b[n+int(h.Length):]
	}
	return strings.Join(list, " ")
}

// noise is text that does not compress.
func noise(n int) string {
	rng := rand.New(rand.NewPCG(1, 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return string(b)
}

func TestWriterFrames(t *testing.T) {
	// Half of it compresses, so that the rest is longer than one frame of a browser.
	half := noise(9000) + strings.Repeat("x", 3000)
	squeezed := len(squeeze(t, half))
	deflate, browser := Config{Deflate: true}, Config{Deflate: true, FrameMax: 4096}
	tests := []struct {
		name string
		cfg  Config
		in   string
		want string
	}{
		{"nothing", Config{}, "", ""},
		{"small", Config{}, "PING\r\n", "2F:6"},
		{"large", Config{}, noise(100000), "2F:100000"},
		{"client", Config{Client: true}, "PING\r\n", "2FM:6"},
		{"large of a client", Config{Client: true}, noise(100000), "2FM:100000"},
		{"client that need not mask", Config{Client: true, NoMasking: true}, "PING\r\n", "2F:6"},
		{"64 bytes stay as they are", deflate, strings.Repeat("x", 64), "2F:64"},
		{"65 bytes do not", deflate, strings.Repeat("x", 65), fmt.Sprintf("2FZ:%d", len(squeeze(t, strings.Repeat("x", 65))))},
		{"what does not compress stays", deflate, noise(1000), "2F:1000"},
		{"browser", Config{FrameMax: 4096}, noise(10000), "2F:4096 2F:4096 2F:1808"},
		{"browser, exactly", Config{FrameMax: 4096}, noise(8192), "2F:4096 2F:4096"},
		{"browser, compressed", browser, half, fmt.Sprintf("2Z:4096 0:4096 0F:%d", squeezed-8192)},
		{"browser, compressed into one", browser, strings.Repeat("x", 10000), fmt.Sprintf("2FZ:%d", len(squeeze(t, strings.Repeat("x", 10000))))},
		{"browser, not compressible", browser, noise(5000), "2F:4096 2F:904"},
		{"Safari", Config{Deflate: true, FrameMax: 4096, Unsplit: true}, half, fmt.Sprintf("2FZ:%d", squeezed)},
		{"Safari, not compressible", Config{Deflate: true, FrameMax: 4096, Unsplit: true}, noise(5000), "2F:4096 2F:904"},
	}
	for _, tt := range tests {
		for _, gather := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s gather %v", tt.name, gather), func(t *testing.T) {
				var b bytes.Buffer
				var dst io.Writer = &b
				if gather {
					dst = gatherBuffer{&b}
				}
				n, err := NewWriter(dst, tt.cfg).Write([]byte(tt.in))
				if n != len(tt.in) || err != nil {
					t.Fatal(n, err)
				}
				if got := frames(t, b.Bytes()); got != tt.want {
					t.Fatalf("got %s, want %s", got, tt.want)
				}
				peer := tt.cfg
				peer.Client, peer.MaxMessage = !peer.Client, limit(1<<20)
				if got := read(&b, peer, 1000); got.data != tt.in {
					t.Fatalf("the other side read %d bytes %v", len(got.data), got.err)
				}
			})
		}
	}
}

type gatherBuffer struct{ *bytes.Buffer }

func (b gatherBuffer) Gather(head, body []byte) error {
	b.Write(head)
	b.Write(body)
	return nil
}

func TestControlFrames(t *testing.T) {
	for _, client := range []bool{false, true} {
		var b bytes.Buffer
		w := NewWriter(&b, Config{Client: client})
		for _, payload := range []string{"", "hello", strings.Repeat("x", MaxControl)} {
			for _, op := range []Opcode{OpPing, OpClose} {
				if op == OpClose && payload != "" {
					payload = "\x03\xe8" + payload[2:]
				}
				if err := w.Control(op, []byte(payload)); err != nil {
					t.Fatal(err)
				}
				want := fmt.Sprintf("%x:%s ", byte(op), payload)
				if got := read(&b, Config{Client: !client}, 100); got.controls != want || got.err != io.EOF {
					t.Fatalf("got %v, want %q", got, want)
				}
			}
		}
	}
}

func TestClientChangesItsMask(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b, Config{Client: true})
	keys := map[uint32]bool{}
	for range 20 {
		w.Write([]byte("x"))
		h, _, err := ParseHeader(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		keys[h.Key] = true
		b.Reset()
	}
	if len(keys) < 10 {
		t.Fatalf("%d keys in 20 frames", len(keys))
	}
}

func TestWriteErrors(t *testing.T) {
	for _, cfg := range []Config{{}, {Client: true}, {Deflate: true}, {FrameMax: 100}, {Deflate: true, FrameMax: 100}} {
		for _, in := range []string{noise(50000), "x", strings.Repeat("x", 50000)} {
			if n, err := NewWriter(failing{}, cfg).Write([]byte(in)); n != 0 || err != errTest {
				t.Errorf("%+v: got %d, %v", cfg, n, err)
			}
		}
		if err := NewWriter(failing{}, cfg).Control(OpPong, nil); err != errTest {
			t.Errorf("%+v: got %v", cfg, err)
		}
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errTest }
