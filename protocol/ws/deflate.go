package ws

import (
	"sync"

	"github.com/klauspost/compress/flate"
)

// compressors hold some 800 KiB each; one is taken only while a message is being compressed, not while it is sent.
var compressors = sync.Pool{New: func() any { // shared by all connections of a process
	w, _ := flate.NewWriter(nil, flate.BestSpeed) // only a bad level is an error
	return w
}}

// compressed is a compressed message on its way out.
type compressed struct{ b []byte }

// maxKept is the most memory that a compressed message in the pool holds.
const maxKept = 128 << 10

var compressedPool = sync.Pool{New: func() any { return &compressed{} }} // shared by all connections of a process

// Write implements io.Writer for the compression. It never fails.
func (z *compressed) Write(p []byte) (int, error) {
	z.b = append(z.b, p...)
	return len(p), nil
}

// compress returns p compressed on its own, without the tail that all messages have in common.
func compress(p []byte) *compressed {
	z := compressedPool.Get().(*compressed)
	z.b = z.b[:0]
	w := compressors.Get().(*flate.Writer)
	w.Reset(z)
	w.Write(p)
	w.Flush()
	compressors.Put(w)
	z.b = z.b[:len(z.b)-4]
	return z
}

func (z *compressed) release() {
	if cap(z.b) <= maxKept {
		compressedPool.Put(z)
	}
}

// compressed sends p as one compressed message, unless that would make it longer.
func (w *Writer) compressed(p []byte) error {
	z := compress(p)
	defer z.release()
	if len(z.b) >= len(p) {
		if w.cfg.FrameMax > 0 {
			return w.messages(p)
		}
		return w.frame(&Header{Op: OpBinary, Final: true}, p)
	}
	h := Header{Op: OpBinary, Compressed: true}
	if w.cfg.FrameMax > 0 && !w.cfg.Unsplit {
		return w.fragments(h, z.b)
	}
	h.Final = true
	return w.frame(&h, z.b)
}
