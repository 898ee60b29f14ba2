package conn

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"

	"godwit/server/monitor"
	"godwit/server/router"
)

const (
	readLeast   = 4 << 10   // of a read buffer, and of a block for the incomplete frame of a resting connection
	readMost    = 256 << 10 // on plain TCP, where the buffer is held only while there is something to read
	streamMost  = 64 << 10  // over TLS, where it is held always
	shrinkAfter = 16        // reads in a row that a quarter of the buffer would have held
)

// input is the read side. The buffer grows at once when a read fills it, as the traffic of a busy connection goes faster
// the more one read brings, and shrinks slowly.
type input struct {
	buf   *router.Block // nil while idle and no frame is incomplete
	held  int           // bytes in buf before the next read: an incomplete frame
	got   int           // bytes of the last read
	err   error
	size  int // of the next buffer
	small int // reads in a row that were small
}

// adapt chooses the size of the next buffer by what the last read brought.
func (in *input) adapt(most int) {
	switch {
	case in.held+in.got == len(in.buf.B):
		in.size, in.small = min(4*in.size, most), 0
	case in.got >= in.size/4:
		in.small = 0
	default:
		if in.small++; in.small >= shrinkAfter && in.size > readLeast {
			in.size, in.small = in.size/4, 0
		}
	}
}

func (in *input) free() {
	if in.buf != nil {
		in.buf.Release()
		in.buf = nil
	}
}

// moveTo changes the read buffer to one of at least n bytes, with the incomplete frame.
func (in *input) moveTo(n int) {
	buf := router.NewBlock(n)
	if in.buf != nil {
		copy(buf.B, in.buf.B[:in.held])
		in.buf.Release()
	}
	in.buf = buf
}

// read reads until the connection ends.
func (c *Conn) read() {
	if c.in.got > 0 && !c.consume() { // of what was read before
		return
	}
	if c.out.sock != nil {
		c.readSocket()
	} else {
		c.readStream()
	}
}

// readSocket reads from plain TCP. It waits for the socket without holding a buffer.
func (c *Conn) readSocket() {
	ready := c.readReady
	for {
		err := c.out.sock.raw.Read(ready)
		if err == nil {
			err = c.in.err
		}
		if err == nil && c.in.got == 0 {
			err = io.EOF
		}
		if err != nil {
			c.readFailed(err)
			return
		}
		if c.meter == nil {
			c.in.adapt(readMost)
		} else {
			c.in.adapt(readQuota)
		}
		if !c.consume() {
			return
		}
	}
}

// readReady does one read and reports false if there was nothing to read: then the runtime waits for the socket and
// calls again. It never closes the connection: Close waits for it.
func (c *Conn) readReady(fd uintptr) bool {
	in := &c.in
	if in.buf == nil {
		in.moveTo(in.size)
	} else if n := max(in.size, c.parser.Want); len(in.buf.B) < n {
		in.moveTo(n) // back from rest
	}
	for {
		n, err := syscall.Read(int(fd), in.buf.B[in.held:])
		switch err {
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
			c.rest()
			return false
		}
		in.got, in.err = n, err
		return true
	}
}

// rest gives back what an idle connection does not need.
func (c *Conn) rest() {
	in := &c.in
	if in.held == 0 {
		in.free()
	} else if in.held <= len(in.buf.B)/8 {
		in.moveTo(max(in.held, readLeast))
	}
	c.sender.Rest()
}

// readStream reads from TLS and other wrapped connections. They hold a buffer while idle, a small one.
func (c *Conn) readStream() {
	in := &c.in
	for {
		if n := max(in.size, c.parser.Want, in.held+1); in.buf == nil || len(in.buf.B) < n {
			in.moveTo(n)
		}
		n, err := c.out.nc.Read(in.buf.B[in.held:])
		if n > 0 {
			in.got = n
			if c.meter == nil {
				in.adapt(streamMost)
			} else {
				in.adapt(readQuota)
			}
			if !c.consume() {
				return
			}
		}
		if err != nil {
			c.readFailed(err)
			return
		}
	}
}

// consume handles what the last read brought and keeps the incomplete rest, in a buffer that it fits into. It reports
// false if the connection ends.
func (c *Conn) consume() bool {
	in := &c.in
	n := in.held + in.got
	in.got = 0
	if c.Gone.Load() {
		return false
	}
	if n < c.parser.Want {
		in.held = n
		return true
	}
	used, err := c.handle(in.buf.B[:n])
	if err != nil || c.Gone.Load() {
		return false
	}
	part := in.buf.B[used:n]
	if need := max(c.parser.Want, len(part)+1, in.size); need > len(in.buf.B) {
		bigger := router.NewBlock(need)
		copy(bigger.B, part)
		in.buf.Release()
		in.buf = bigger
	} else {
		copy(in.buf.B, part)
	}
	in.held = len(part)
	if in.held == 0 && len(in.buf.B) > 2*in.size { // was for one large frame, or for busier times
		in.moveTo(in.size)
	}
	return true
}

// readFailed ends the connection after a read error, unless it is closing already.
func (c *Conn) readFailed(err error) {
	switch {
	case errors.Is(err, io.EOF):
		c.closing(monitor.ReasonClientClosed)
	case errors.Is(err, net.ErrClosed), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, syscall.ECONNRESET):
		c.closing(monitor.ReasonClientClosed)
	default:
		if c.closing(monitor.ReasonReadError) {
			c.env.Log.Errorf("%v - read error: %v", c, err)
		}
	}
}
