package ws

import (
	"io"
	"sync"
)

// Control is told of the peer's control frames: a ping with its payload, to be answered by the same in a pong, and a
// close with the payload that answers it. The payload is lent. An error ends the reading. While a compressed message is
// being expanded, it may be called before Read has returned the bytes that came before the frame.
type Control func(op Opcode, payload []byte) error

// Reader reads the bytes of the messages in a stream of frames. A frame, its header and its mask may be cut by reads
// at any byte. Frames are decoded in place, in the caller's buffer; nothing is allocated or copied but what the
// compression needs. One goroutine uses it.
type Reader struct {
	src     io.Reader
	cfg     Config
	control Control

	frame   Header // that is being read, if open
	open    bool
	left    int64  // bytes of its payload that are still to come
	key     uint32 // mask of the next of them
	message bool   // a message has begun and its final frame is still to end
	body    [MaxControl]byte
	bodyLen int // of a control frame, in body
	head    [MaxHeader]byte
	headLen int      // of an incomplete header, in head
	expand  *inflate // for the compressed message that is being read; nil if none is
	rest    rest
	err     error // final
}

// NewReader returns a Reader of what src delivers. An error that src returns together with bytes must be returned by
// its next read too. control is called from inside Read.
func NewReader(src io.Reader, cfg Config, control Control) *Reader {
	return &Reader{src: src, cfg: cfg, control: control}
}

// Read reads at least one byte of a message. It may use all of p meanwhile. The error is io.EOF after a close frame;
// a *ProtocolError, ErrTooLarge among them, if the peer did wrong; or that of the source or the control function. All
// but the source's are final.
func (r *Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for r.err == nil {
		n, err := r.step(p)
		if n > 0 || err != nil {
			return n, err
		}
	}
	return 0, r.err
}

// step does one read of the source, or of what is being expanded. It may bring nothing.
func (r *Reader) step(p []byte) (int, error) {
	if r.expand != nil {
		n, err := r.readExpanded(p)
		if err != nil {
			r.err = err
		}
		return n, nil
	}
	n, err := r.fill(p)
	out, used, problem := r.decode(p[:n])
	if problem != nil {
		r.err, err = problem, nil
	} else {
		r.unread(p[used:n])
	}
	if out > 0 || r.expand != nil {
		return out, nil // an error of the source comes again
	}
	return 0, err
}

// decode turns bytes of the stream into bytes of messages, in place. It returns how many there are of these, and how
// many bytes it used. Some may be left before a compressed message, after one, and with an error.
func (r *Reader) decode(raw []byte) (out, used int, err error) {
	for {
		if !r.open {
			n, ok, err := r.header(raw[used:])
			used += n
			if err != nil || !ok {
				return out, used, err
			}
			r.open = true
			if r.frame.Compressed {
				r.expand = newInflate(r)
				return out, used, nil
			}
		}
		n := int(min(r.left, int64(len(raw)-used)))
		dst := raw[out:]
		if r.frame.Op.Control() {
			dst = r.body[r.bodyLen:]
			r.bodyLen += n
		} else {
			out += n
		}
		if r.frame.Masked {
			r.key = Mask(dst, raw[used:used+n], r.key)
		} else {
			copy(dst, raw[used:used+n])
		}
		used += n
		if r.left -= int64(n); r.left > 0 {
			return out, used, nil
		}
		r.open = false
		if r.frame.Op.Control() {
			if err := r.controlled(); err != nil {
				return out, used, err
			}
		} else if r.frame.Final {
			r.message = false
			if r.expand != nil {
				return out, used, nil
			}
		}
	}
}

// header reads a frame's header, of which raw is the rest, and checks it. It returns how much of raw it used, and
// false if raw ends before the header does.
func (r *Reader) header(raw []byte) (used int, ok bool, err error) {
	var h Header
	var size int
	if r.headLen == 0 {
		h, size, err = ParseHeader(raw)
		used = size
	}
	for size == 0 && err == nil {
		if used == len(raw) {
			return used, false, nil
		}
		r.head[r.headLen] = raw[used]
		r.headLen++
		used++
		h, size, err = ParseHeader(r.head[:r.headLen])
	}
	if err == nil {
		err = r.check(&h)
	}
	if err != nil {
		return used, false, err
	}
	r.headLen, r.bodyLen = 0, 0
	r.frame, r.left, r.key = h, h.Length, h.Key
	if !h.Op.Control() {
		r.message = true
	}
	return used, true, nil
}

// check refuses frames that must not come now.
func (r *Reader) check(h *Header) error {
	switch {
	case h.Masked && r.cfg.Client:
		return violation("frame is masked")
	case !h.Masked && !r.cfg.Client && !r.cfg.NoMasking:
		return violation("frame is not masked")
	case h.Op.Control():
		switch {
		case !h.Final:
			return violation("control frame is fragmented")
		case h.Length > MaxControl:
			return violation("control frame is longer than 125 bytes")
		case h.Compressed:
			return violation("control frame is compressed")
		}
		return nil
	case h.Op == OpContinuation && !r.message:
		return violation("continuation of no message")
	case h.Op != OpContinuation && r.message:
		return violation("new message before the end of the last")
	case h.Compressed && h.Op == OpContinuation:
		return violation("compression is set on a continuation")
	case h.Compressed && !r.cfg.Deflate:
		return violation("message is compressed without agreement")
	}
	return nil
}

// controlled handles a control frame.
func (r *Reader) controlled() error {
	payload := r.body[:r.bodyLen]
	switch r.frame.Op {
	case OpPing:
		return r.control(OpPing, payload)
	case OpClose:
		if err := checkClose(payload); err != nil {
			return err
		}
		if err := r.control(OpClose, payload); err != nil {
			return err
		}
		return io.EOF
	}
	return nil // a pong is not asked for and not missed
}

// rest holds bytes of the stream that were read before their time: what follows the beginning or the end of a
// compressed message.
type rest struct {
	block    *[restBytes]byte // nil if none are held
	off, end int
	last     bool // what fill returned last came from here
}

const restBytes = 16 << 10

var restPool = sync.Pool{New: func() any { return new([restBytes]byte) }} // shared by all connections of a process

// fill reads raw bytes: first those held back.
func (r *Reader) fill(p []byte) (int, error) {
	if !r.cfg.Deflate {
		return r.src.Read(p)
	}
	h := &r.rest
	if h.last = h.off < h.end; h.last {
		n := copy(p, h.block[h.off:h.end])
		h.off += n
		return n, nil
	}
	if h.block != nil {
		restPool.Put(h.block)
		*h = rest{}
	}
	return r.src.Read(p[:min(len(p), restBytes)])
}

// unread holds back the last bytes that fill returned.
func (r *Reader) unread(b []byte) {
	h := &r.rest
	switch {
	case len(b) == 0:
	case h.last:
		h.off -= len(b)
	default:
		h.block = restPool.Get().(*[restBytes]byte)
		h.off, h.end = 0, copy(h.block[:], b)
	}
}
