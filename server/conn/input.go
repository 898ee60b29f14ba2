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
	readBytes   = 256 << 10 // of a read buffer on plain TCP, held only while there is something to read
	streamFirst = 4 << 10   // of a read buffer over TLS, at first
	streamMost  = 64 << 10
	minHeld     = 4 << 10 // smallest block for an incomplete frame of a resting connection
)

// input is the read side.
type input struct {
	buf  *router.Block // nil while idle and no frame is incomplete
	held int           // bytes in buf before the next read: an incomplete frame
	got  int           // bytes of the last read
	err  error
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
		if !c.consume(readBytes) {
			return
		}
	}
}

// readReady does one read and reports false if there was nothing to read: then the runtime waits for the socket and
// calls again. It never closes the connection: Close waits for it.
func (c *Conn) readReady(fd uintptr) bool {
	in := &c.in
	if in.buf == nil {
		in.moveTo(readBytes)
	} else if n := max(readBytes, c.parser.Want); len(in.buf.B) < n {
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
		in.moveTo(max(in.held, minHeld))
	}
	c.sender.Rest()
}

// readStream reads from TLS and other wrapped connections. They hold a small buffer while idle.
func (c *Conn) readStream() {
	in := &c.in
	size := streamFirst
	for {
		if in.buf == nil || len(in.buf.B) < max(size, c.parser.Want, in.held+1) {
			in.moveTo(max(size, c.parser.Want, in.held+1))
		}
		n, err := c.out.nc.Read(in.buf.B[in.held:])
		if n > 0 {
			in.got = n
			if full := in.held+n == len(in.buf.B); full && size < streamMost {
				size *= 2
			} else if n < size/4 && size > streamFirst {
				size /= 2
			}
			if !c.consume(size) {
				return
			}
		}
		if err != nil {
			c.readFailed(err)
			return
		}
	}
}

// consume handles what the last read brought and keeps the incomplete rest, in a buffer of size or what it needs. It
// reports false if the connection ends.
func (c *Conn) consume(size int) bool {
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
	if need := max(c.parser.Want, len(part)+1, size); need > len(in.buf.B) {
		bigger := router.NewBlock(need)
		copy(bigger.B, part)
		in.buf.Release()
		in.buf = bigger
	} else {
		copy(in.buf.B, part)
	}
	in.held = len(part)
	if in.held == 0 && len(in.buf.B) > 2*size { // was for one large frame
		in.moveTo(size)
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
		c.closing(monitor.ReasonReadError)
	}
}
