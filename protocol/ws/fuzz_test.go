package ws

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// fuzzConfig makes a Config of the bits of b.
func fuzzConfig(b byte) Config {
	cfg := Config{Client: b&1 != 0, NoMasking: b&2 != 0, Deflate: b&4 != 0, Unsplit: b&8 != 0, MaxMessage: limit(64 << 10)}
	if b&16 != 0 {
		cfg.FrameMax = 100
	}
	return cfg
}

// FuzzReader feeds a stream, in which some bytes mean frames, at once, cut in two, byte by byte, and into buffers of
// another size. All ways give the same.
func FuzzReader(f *testing.F) {
	z := squeeze(f, strings.Repeat("PUB foo 5\r\nhello\r\n", 9))
	for _, stream := range [][]byte{
		fr(OpBinary, "F", "PING\r\n"),
		join(fr(OpBinary, "-", "PI"), fr(OpPing, "F", "x"), fr(OpContinuation, "F", "NG\r\n"), fr(OpClose, "F", "\x03\xe8")),
		fr(OpBinary, "F", strings.Repeat("x", 300)),
		join(fr(OpBinary, "FZ", z), fr(OpBinary, "F", "x")),
		join(fr(OpBinary, "Z", z[:3]), fr(OpPong, "F", "x"), fr(OpContinuation, "F", z[3:]), fr(OpBinary, "FZ", z)),
		fr(OpBinary, "FZ", squeeze(f, strings.Repeat("x", 100<<10))),
		join(fr(OpBinary, "FZ", last(f, "hello")+z)),
		[]byte("\x82\x05hello\xc2\x07"),
	} {
		f.Add(stream, byte(0), 3, 5)
		f.Add(stream, byte(4), 7, 2)
		f.Add(stream, byte(7), 1, 9)
	}
	f.Fuzz(func(t *testing.T, stream []byte, flags byte, cut, size int) {
		if len(stream) > 4096 || cut < 0 || cut > len(stream) || size < 1 || size > 1<<16 {
			return
		}
		cfg := fuzzConfig(flags)
		want := read(bytes.NewReader(stream), cfg, 64<<10)
		for _, got := range []outcome{
			read(io.MultiReader(bytes.NewReader(stream[:cut]), bytes.NewReader(stream[cut:])), cfg, 64<<10),
			read(iotest.OneByteReader(bytes.NewReader(stream)), cfg, 64<<10),
			read(bytes.NewReader(stream), cfg, size),
			read(iotest.DataErrReader(bytes.NewReader(stream)), cfg, size),
		} {
			if !got.same(want) {
				t.Fatalf("cut %d, size %d: got %v; at once %v", cut, size, got, want)
			}
		}
		if !cfg.Deflate && len(want.data) > len(stream) {
			t.Fatalf("%d bytes became %d", len(stream), len(want.data))
		}
	})
}

// FuzzRoundTrip sends bytes in pieces, with control frames between them, to the other side.
func FuzzRoundTrip(f *testing.F) {
	for flags := range byte(32) {
		f.Add([]byte(strings.Repeat("PUB foo 5\r\nhello\r\n", 30)), flags, 70, 33)
	}
	f.Add([]byte(noise(20000)), byte(5), 9000, 4096)
	f.Fuzz(func(t *testing.T, data []byte, flags byte, piece, size int) {
		if len(data) > 60<<10 || piece < 1 || size < 1 || size > 1<<16 {
			return
		}
		cfg := fuzzConfig(flags)
		var stream bytes.Buffer
		w := NewWriter(&stream, cfg)
		pings := 0
		for rest := data; len(rest) > 0; pings++ {
			n := min(piece, len(rest))
			if _, err := w.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			if err := w.Control(OpPing, nil); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		cfg.Client = !cfg.Client
		got := read(&stream, cfg, size)
		if got.data != string(data) || got.controls != strings.Repeat("9: ", pings) || got.err != io.EOF {
			t.Fatalf("got %v", got)
		}
	})
}

// FuzzExpansion sends anything as a compressed message: it stays within the limit, whatever it is.
func FuzzExpansion(f *testing.F) {
	f.Add([]byte(squeeze(f, strings.Repeat("x", 1<<20))), 1000)
	f.Add([]byte(squeeze(f, strings.Repeat("x", 1000))), 1000)
	f.Add([]byte(last(f, "hello")), 5)
	f.Add([]byte{0}, 0)
	f.Fuzz(func(t *testing.T, data []byte, most int) {
		if most < 0 || most > 1<<16 {
			return
		}
		stream := fr(OpBinary, "FZ", string(data))
		got := read(bytes.NewReader(stream), Config{Deflate: true, MaxMessage: limit(int64(most))}, 1000)
		if len(got.data) > most {
			t.Fatalf("%d bytes with a limit of %d", len(got.data), most)
		}
		if got.err != io.EOF && IsViolation(got.err) == nil {
			t.Fatalf("error %v", got.err)
		}
	})
}

// FuzzHandshake checks requests with any header.
func FuzzHandshake(f *testing.F) {
	f.Add("permessage-deflate; server_max_window_bits=10, permessage-deflate", "websocket", "dGhlIHNhbXBsZSBub25jZQ==")
	f.Add(`;;,=,"`, ",,", "=")
	f.Fuzz(func(t *testing.T, extensions, upgrade, key string) {
		req := request(t, goodRequest)
		req.Header.Set("Sec-Websocket-Extensions", extensions)
		req.Header.Set("Upgrade", upgrade)
		req.Header.Set("Sec-Websocket-Key", key)
		offer, err := CheckRequest(req)
		if (offer == nil) == (err == nil) {
			t.Fatalf("got %v, %v", offer, err)
		}
		if offer != nil {
			a := Answer{Key: offer.Key, Deflate: offer.Deflate}
			if b := a.Append(nil); !bytes.HasSuffix(b, []byte("\r\n\r\n")) || bytes.Count(b, []byte("\r\n\r\n")) != 1 {
				t.Fatalf("got %q", b)
			}
		}
	})
}
