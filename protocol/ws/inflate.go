package ws

import (
	"bufio"
	"errors"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
)

// maxEnds bounds how often the data of one message may end before the message does. To start again costs much more
// than the two bytes with which a sender can ask for it.
const maxEnds = 64

// deflateTail is what a sender leaves off at the end of a compressed message, and an empty last block, so that the
// expansion ends.
var deflateTail = [...]byte{0x00, 0x00, 0xff, 0xff, 0x01, 0x00, 0x00, 0xff, 0xff}

var errCorrupt = violation("compressed message is corrupt")

// inflate expands one compressed message while it comes in. A connection holds one only from the first byte of such a
// message to the last: about 50 KiB.
type inflate struct {
	r      *Reader // whose message it is
	in     int64   // compressed bytes read
	out    int64   // bytes expanded
	max    int64   // of out
	tail   int     // bytes of deflateTail read; the message has ended then
	ended  bool    // the final frame was read
	ends   int     // last blocks before the message's end
	err    error   // of the source, or a violation
	buf    *bufio.Reader
	expand io.ReadCloser // of buf
}

var inflatePool = sync.Pool{New: func() any { // shared by all connections of a process
	z := &inflate{}
	z.buf = bufio.NewReaderSize(z, 4096)
	z.expand = flate.NewReader(z.buf)
	return z
}}

func newInflate(r *Reader) *inflate {
	z := inflatePool.Get().(*inflate)
	z.r, z.in, z.out, z.tail, z.ended, z.ends, z.err = r, 0, 0, 0, false, 0, nil
	z.max = r.cfg.MaxMessage()
	z.restart()
	z.buf.Reset(z)
	return z
}

func (z *inflate) restart() { z.expand.(flate.Resetter).Reset(z.buf, nil) } // only a bad dictionary is an error

// Read implements io.Reader for the expansion: it returns the compressed bytes of the message.
func (z *inflate) Read(p []byte) (int, error) {
	r := z.r
	for !z.ended {
		var n int
		var err error
		if !r.open || r.left > 0 { // otherwise the first frame is empty
			n, err = r.fill(p)
		}
		out, used, problem := r.decode(p[:n])
		z.ended = !r.message
		z.in += int64(out)
		if over := z.in - min(inputFactor*z.max, maxCompressed); over > 0 {
			out, problem = max(out-int(over), 0), ErrTooLarge
		}
		if problem != nil {
			z.err = problem
			return out, problem
		}
		r.unread(p[used:n])
		switch {
		case out > 0:
			return out, nil // an error of the source comes again
		case err != nil && !z.ended:
			z.err = err
			return 0, err
		}
	}
	n := copy(p, deflateTail[z.tail:])
	if z.tail += n; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// readExpanded reads from the message that is being expanded. All errors are final.
func (r *Reader) readExpanded(p []byte) (int, error) {
	z := r.expand
	room := z.max - z.out
	if room <= 0 {
		p = p[:1] // is there more?
	} else if int64(len(p)) > room {
		p = p[:room]
	}
	n, err := z.expand.Read(p)
	if n > 0 && room <= 0 {
		return 0, ErrTooLarge
	}
	z.out += int64(n)
	if err != io.EOF {
		return n, z.problem(err)
	}
	more, err := z.more()
	switch {
	case err != nil:
		return n, z.problem(err)
	case more:
		if z.ends++; z.ends > maxEnds {
			return n, errCorrupt
		}
		z.restart()
	default:
		r.expand = nil
		z.r = nil
		inflatePool.Put(z)
	}
	return n, nil
}

// more reports, at the end of the compressed data, whether the message goes on: a sender may end its data with a last
// block and go on after it.
func (z *inflate) more() (bool, error) {
	switch _, err := z.buf.Peek(1); {
	case err == io.EOF:
		return false, nil
	case err != nil:
		return false, err
	}
	return !z.ended || z.buf.Buffered()-z.tail > 0, nil
}

// problem makes the error for Reader.Read of one of the expansion. What is wrong in the data comes first: the frames
// after it may have been read already.
func (z *inflate) problem(err error) error {
	if err == nil {
		return nil
	}
	if _, corrupt := errors.AsType[flate.CorruptInputError](err); corrupt || z.err == nil {
		return errCorrupt
	}
	return z.err
}
