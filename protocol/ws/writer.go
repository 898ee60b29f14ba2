package ws

import (
	"io"
	"math/rand/v2"
	"sync"
)

// Gatherer is a destination that can write two pieces with one system call. Writer then spares itself copying large
// payloads behind their headers.
type Gatherer interface {
	Gather(head, body []byte) error
}

const (
	// copyMax is the size of the largest payload that is always copied behind its header.
	copyMax = 8 << 10
	// assembleBytes is how much is put together before it is written: a TLS record.
	assembleBytes = 16 << 10
)

// assembly is memory in which frames are put together.
type assembly struct{ b []byte }

var assemblies = sync.Pool{New: func() any { return &assembly{make([]byte, 0, assembleBytes)} }} // shared by all connections of a process

// Writer writes bytes as binary messages, and control frames. One goroutine at a time uses it. After an error the
// stream may end inside a frame, and must not be used any more.
type Writer struct {
	dst    io.Writer
	gather Gatherer // dst, if it is one
	cfg    Config
	ctl    [MaxHeader + MaxControl]byte
}

// NewWriter returns a Writer to dst.
func NewWriter(dst io.Writer, cfg Config) *Writer {
	w := &Writer{dst: dst, cfg: cfg}
	w.gather, _ = dst.(Gatherer)
	return w
}

// Write sends p, which is lent, as one message or, where frames have a limit, as some. It returns 0 with an error.
func (w *Writer) Write(p []byte) (int, error) {
	var err error
	switch {
	case len(p) == 0:
		return 0, nil
	case w.cfg.Deflate && len(p) > compressAbove:
		err = w.compressed(p)
	case w.cfg.FrameMax > 0 && len(p) > w.cfg.FrameMax:
		err = w.messages(p)
	default:
		err = w.frame(&Header{Op: OpBinary, Final: true}, p)
	}
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// messages sends p as messages of one frame each.
func (w *Writer) messages(p []byte) error {
	for len(p) > 0 {
		n := min(len(p), w.cfg.FrameMax)
		if err := w.frame(&Header{Op: OpBinary, Final: true}, p[:n]); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// fragments sends p as one message in frames of limited size.
func (w *Writer) fragments(h Header, p []byte) error {
	for len(p) > w.cfg.FrameMax {
		if err := w.frame(&h, p[:w.cfg.FrameMax]); err != nil {
			return err
		}
		p = p[w.cfg.FrameMax:]
		h = Header{Op: OpContinuation}
	}
	h.Final = true
	return w.frame(&h, p)
}

// frame sends one frame with payload p; it sets the header's length and mask.
func (w *Writer) frame(h *Header, p []byte) error {
	h.Length = int64(len(p))
	if w.cfg.Client && !w.cfg.NoMasking {
		h.Masked, h.Key = true, rand.Uint32()
	}
	a := assemblies.Get().(*assembly)
	defer assemblies.Put(a)
	buf := h.Append(a.b[:0])
	if w.gather != nil && !h.Masked && len(p) > copyMax {
		return w.gather.Gather(buf, p)
	}
	key := h.Key
	for {
		n := min(len(p), cap(buf)-len(buf))
		at := len(buf)
		buf = buf[:at+n]
		if h.Masked {
			key = Mask(buf[at:], p[:n], key)
		} else {
			copy(buf[at:], p[:n])
		}
		if _, err := w.dst.Write(buf); err != nil {
			return err
		}
		if p = p[n:]; len(p) == 0 {
			return nil
		}
		if !h.Masked {
			_, err := w.dst.Write(p)
			return err
		}
		buf = buf[:0]
	}
}

// Control sends a control frame. The payload, of MaxControl bytes at most, is lent.
func (w *Writer) Control(op Opcode, payload []byte) error {
	h := Header{Op: op, Final: true, Length: int64(len(payload))}
	if w.cfg.Client && !w.cfg.NoMasking {
		h.Masked, h.Key = true, rand.Uint32()
	}
	b := h.Append(w.ctl[:0])
	at := len(b)
	b = append(b, payload...)
	if h.Masked {
		Mask(b[at:], payload, h.Key)
	}
	_, err := w.dst.Write(b)
	return err
}
