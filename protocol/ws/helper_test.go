package ws

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/flate"
)

const testKey = 0x44332211

// fr makes a frame as a client sends it. flags: F final, Z compressed, - nothing.
func fr(op Opcode, flags, payload string) []byte {
	h := Header{Op: op, Final: strings.Contains(flags, "F"), Compressed: strings.Contains(flags, "Z"), Masked: true, Key: testKey,
		Length: int64(len(payload))}
	b := h.Append(nil)
	at := len(b)
	b = append(b, payload...)
	Mask(b[at:], b[at:], testKey)
	return b
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// squeeze compresses as a sender does.
func squeeze(t testing.TB, s string) string {
	t.Helper()
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(w, s)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\x00\x00\xff\xff")
}

// outcome is everything that a stream does to a Reader.
type outcome struct {
	data     string
	controls string
	err      error
}

func (o outcome) String() string {
	return fmt.Sprintf("%q, controls %q, error %v", o.data, o.controls, o.err)
}

// same reports whether the outcomes are equal. How far a Reader is ahead when it finds compressed data to be bad depends
// on the reads, so that it may have seen more of the control frames after it.
func (o outcome) same(other outcome) bool {
	controls := o.controls == other.controls
	if o.err == errCorrupt || o.err == ErrTooLarge {
		controls = strings.HasPrefix(o.controls, other.controls) || strings.HasPrefix(other.controls, o.controls)
	}
	return o.data == other.data && controls && fmt.Sprint(o.err) == fmt.Sprint(other.err)
}

// read reads all of src with a buffer of size bytes.
func read(src io.Reader, cfg Config, size int) outcome {
	var o outcome
	r := NewReader(src, cfg, func(op Opcode, payload []byte) error {
		o.controls += fmt.Sprintf("%x:%s ", byte(op), payload)
		return nil
	})
	var data bytes.Buffer
	_, o.err = io.CopyBuffer(struct{ io.Writer }{&data}, struct{ io.Reader }{r}, make([]byte, size))
	if o.err == nil {
		o.err = io.EOF
	}
	o.data = data.String()
	return o
}

// readAllWays reads the stream cut in two at every place, byte by byte, and into buffers of several sizes. The
// outcome must be the same.
func readAllWays(t testing.TB, stream []byte, cfg Config) outcome {
	t.Helper()
	want := read(bytes.NewReader(stream), cfg, 64<<10)
	check := func(how string, got outcome) {
		t.Helper()
		if !got.same(want) {
			t.Fatalf("%s: got %v; at once %v", how, got, want)
		}
	}
	for cut := range stream {
		check(fmt.Sprintf("cut at %d", cut),
			read(io.MultiReader(bytes.NewReader(stream[:cut]), bytes.NewReader(stream[cut:])), cfg, 64<<10))
	}
	for _, size := range []int{1, 2, 7, 33, 500} {
		check(fmt.Sprintf("buffer of %d", size), read(bytes.NewReader(stream), cfg, size))
		check(fmt.Sprintf("byte by byte into %d", size), read(iotest.OneByteReader(bytes.NewReader(stream)), cfg, size))
	}
	check("data with the error", read(iotest.DataErrReader(bytes.NewReader(stream)), cfg, 64<<10))
	return want
}

func limit(n int64) func() int64 { return func() int64 { return n } }

var errTest = errors.New("test")
