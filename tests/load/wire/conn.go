// Package wire speaks the client protocol as cheaply as it can, so that the load generator leaves the
// CPU to the server, and checks that every message arrives once, whole and in order.
package wire

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// ReadBuffer is the starting size of a connection's receive buffer: one read
// system call fetches up to this much, which keeps the client's own share of
// the CPU small.
const ReadBuffer = 256 << 10

const crlf = "\r\n"

// ServerInfo holds what we use of the INFO line that a server greets with.
type ServerInfo struct {
	Name       string `json:"server_name"`
	Version    string `json:"version"`
	JetStream  bool   `json:"jetstream"`
	MaxPayload int64  `json:"max_payload"`
}

// Conn is one raw protocol connection. Reading and writing may be done from
// two different goroutines; each direction from one only (writes are locked,
// because the reader answers PING by itself).
type Conn struct {
	Info ServerInfo

	// OnDrain, if set, is called whenever everything received so far has been
	// handed out and the reader is about to ask the kernel for more: the place
	// to flush acks gathered meanwhile and to publish progress.
	OnDrain func() error

	nc     net.Conn
	wmu    sync.Mutex
	buf    []byte
	r, w   int // unread bytes are buf[r:w]
	msg    Msg
	pongs  int
	rx, tx atomic.Uint64
}

// Login says how a server wants to be spoken to.
type Login struct {
	TLS            bool // its certificate is not verified
	User, Password string
}

// Dial opens a connection and completes the handshake. All later reads and
// writes fail at the deadline, so that no scenario can hang for ever.
func Dial(addr string, login Login, deadline time.Time) (*Conn, error) {
	nc, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return nil, err
	}
	c := &Conn{nc: nc, buf: make([]byte, 4096)}
	if err := c.handshake(login, deadline); err != nil {
		nc.Close()
		return nil, err
	}
	return c, nil
}

func (c *Conn) handshake(login Login, deadline time.Time) error {
	c.nc.SetDeadline(time.Now().Add(10 * time.Second))
	for bytes.IndexByte(c.buf[:c.w], '\n') < 0 {
		if err := c.fill(); err != nil {
			return err
		}
	}
	eol := bytes.IndexByte(c.buf[:c.w], '\n')
	line := c.buf[:eol]
	if !bytes.HasPrefix(line, []byte("INFO ")) {
		return fmt.Errorf("expected INFO, got %q", line)
	}
	if err := json.Unmarshal(line[5:], &c.Info); err != nil {
		return fmt.Errorf("INFO: %w", err)
	}
	c.r = eol + 1
	if login.TLS {
		secure := tls.Client(c.nc, &tls.Config{InsecureSkipVerify: true})
		if err := secure.Handshake(); err != nil {
			return err
		}
		c.nc = secure
	}
	const connect = `CONNECT {"verbose":false,"pedantic":false,"headers":true,"no_responders":true,` +
		`"echo":true,"protocol":1,"lang":"godwit-load","version":"1","name":"godwit-load"`
	line = []byte(connect)
	if login.User != "" {
		line = fmt.Appendf(line, `,"user":%q,"pass":%q`, login.User, login.Password)
	}
	if err := c.Write(append(line, "}\r\n"...)); err != nil {
		return err
	}
	if err := c.Flush(); err != nil {
		return err
	}
	return c.nc.SetDeadline(deadline)
}

// Write sends raw protocol bytes.
func (c *Conn) Write(b []byte) error {
	c.wmu.Lock()
	n, err := c.nc.Write(b)
	c.wmu.Unlock()
	c.tx.Add(uint64(n))
	return err
}

// Sub subscribes; queue may be empty.
func (c *Conn) Sub(subject, queue string, sid uint64) error {
	return c.Write(AppendSub(nil, subject, queue, sid))
}

// Pub sends one message; not for hot paths.
func (c *Conn) Pub(subject, reply string, payload []byte) error {
	return c.Write(AppendPub(nil, subject, reply, payload))
}

// Flush does a PING/PONG round trip: afterwards the server has processed
// everything written before. No message may be waiting to be read.
func (c *Conn) Flush() error {
	before := c.pongs
	if err := c.Write([]byte("PING\r\n")); err != nil {
		return err
	}
	for c.pongs == before {
		m, err := c.next(true)
		if err != nil {
			return err
		}
		if m != nil {
			return fmt.Errorf("unexpected message on %q while waiting for PONG", m.Subject())
		}
	}
	return nil
}

// Next returns the next message, answering PINGs on the way.
func (c *Conn) Next() (*Msg, error) { return c.next(false) }

// next returns the next message, or nil after a PONG if stopAtPong is set.
func (c *Conn) next(stopAtPong bool) (*Msg, error) {
	for {
		data := c.buf[c.r:c.w]
		eol := bytes.IndexByte(data, '\n')
		if eol < 1 {
			if err := c.fill(); err != nil {
				return nil, err
			}
			continue
		}
		line := data[:eol-1] // without CR LF
		switch data[0] {
		case 'M', 'H':
			complete, err := c.message(data, line, eol+1)
			if err != nil {
				return nil, err
			}
			if complete {
				return &c.msg, nil
			}
			if err := c.fill(); err != nil {
				return nil, err
			}
			continue
		case '-':
			return nil, fmt.Errorf("server said %s", line)
		}
		c.r += eol + 1
		switch string(line) {
		case "PING":
			if err := c.Write([]byte("PONG\r\n")); err != nil {
				return nil, err
			}
		case "PONG":
			c.pongs++
			if stopAtPong {
				return nil, nil
			}
		default: // +OK and INFO updates
			if data[0] != '+' && data[0] != 'I' {
				return nil, fmt.Errorf("unknown protocol line %q", line)
			}
		}
	}
}

// message parses the MSG or HMSG at the start of data into c.msg and consumes
// it, if all of it has arrived.
func (c *Conn) message(data, line []byte, body int) (bool, error) {
	size, rest := trailingNumber(line)
	end := body + size + 2
	if len(data) < end {
		c.reserve(end)
		return false, nil
	}
	if data[end-2] != '\r' || data[end-1] != '\n' {
		return false, fmt.Errorf("message not ended by CR LF after %q", line)
	}
	c.msg.Header = nil
	hdr := 0
	if data[0] == 'H' {
		hdr, _ = trailingNumber(rest)
		c.msg.args = line[5:]
		c.msg.Header = data[body : body+hdr]
	} else {
		c.msg.args = line[4:]
	}
	c.msg.Payload = data[body+hdr : end-2]
	c.r += end
	return true, nil
}

// reserve makes room for a frame of n bytes.
func (c *Conn) reserve(n int) {
	if n <= len(c.buf) {
		return
	}
	size := len(c.buf)
	for size < n {
		size *= 2
	}
	buf := make([]byte, size)
	c.w = copy(buf, c.buf[c.r:c.w])
	c.r, c.buf = 0, buf
}

// GrowReadBuffer gives the connection the large receive buffer used for bulk
// traffic (idle connections keep a small one).
func (c *Conn) GrowReadBuffer() { c.reserve(ReadBuffer) }

func (c *Conn) fill() error {
	if c.OnDrain != nil {
		if err := c.OnDrain(); err != nil {
			return err
		}
	}
	if c.r > 0 {
		c.w = copy(c.buf, c.buf[c.r:c.w])
		c.r = 0
	}
	if c.w == len(c.buf) {
		c.reserve(2 * len(c.buf))
	}
	n, err := c.nc.Read(c.buf[c.w:])
	c.w += n
	c.rx.Add(uint64(n))
	if n > 0 {
		return nil
	}
	if err == nil {
		err = errors.New("empty read")
	}
	return err
}

// Close closes the connection.
func (c *Conn) Close() { c.nc.Close() }

// SetReadDeadline bounds the next reads; a moment in the past ends one that waits.
func (c *Conn) SetReadDeadline(at time.Time) { c.nc.SetReadDeadline(at) }

// Moved returns how many bytes have gone over the connection in both directions.
func (c *Conn) Moved() uint64 { return c.rx.Load() + c.tx.Load() }
