package conn

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"time"

	"godwit/protocol"
	"godwit/server/monitor"
)

// tlsRecord is the first byte of a TLS handshake; no verb of the protocol begins with it.
const tlsRecord = 0x16

// sniffed is a connection whose first bytes have been looked at.
type sniffed struct {
	net.Conn
	r *bufio.Reader
}

func (s *sniffed) Read(b []byte) (int, error) { return s.r.Read(b) }

// peek looks at the first byte that the client sends, for at most wait.
func (c *Conn) peek(wait time.Duration) (byte, error) {
	s := c.head
	if s == nil {
		s = &sniffed{c.nc, bufio.NewReaderSize(c.nc, 512)}
	}
	c.nc.SetReadDeadline(time.Now().Add(wait))
	b, err := s.r.Peek(1)
	if c.Gone.Load() {
		return 0, net.ErrClosed
	}
	c.nc.SetReadDeadline(time.Time{})
	if err != nil {
		return 0, err
	}
	c.head = s
	return b[0], nil
}

// awaitHello waits for a handshake that comes before INFO. It reports false if the client sent none in time and the
// listener goes on in clear then.
func (c *Conn) awaitHello(t *TLS) (bool, error) {
	wait := t.FirstFallback
	if wait == 0 {
		return true, nil // the handshake's own timeout holds
	}
	b, err := c.peek(wait)
	switch {
	case err == nil:
		return b == tlsRecord, nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return false, nil
	}
	c.readFailed(err)
	return false, err
}

// peekTLS reports whether a client that may choose begins a handshake.
func (c *Conn) peekTLS() (bool, error) {
	wait := c.settings.AuthTimeout
	if wait <= 0 {
		wait = time.Minute
	}
	for {
		b, err := c.peek(wait)
		if errors.Is(err, os.ErrDeadlineExceeded) && !c.Gone.Load() && !c.auth().Required() {
			continue // no login, no hurry
		}
		if err != nil {
			c.readFailed(err)
			return false, err
		}
		if b == tlsRecord {
			return true, nil
		}
		return false, c.leaveSocket(c.head)
	}
}

// leaveSocket makes nc, which wraps the accepted connection, what is read from and written to.
func (c *Conn) leaveSocket(nc net.Conn) error {
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	if c.out.closed {
		return io.ErrClosedPipe
	}
	c.out.nc, c.out.sock = nc, nil
	return nil
}

// handshake turns the connection into a TLS one and reports whether it did.
func (c *Conn) handshake(t *TLS) bool {
	if t.Allow != nil && !t.Allow() {
		c.write(protocol.AppendErr(nil, "Connection throttling is active. Please try again later."))
		c.closing(monitor.ReasonTLSHandshakeError)
		return false
	}
	var plain net.Conn = c.nc
	if c.head != nil {
		plain = c.head
	}
	sec := tls.Server(plain, t.Config)
	c.nc.SetDeadline(time.Now().Add(t.Timeout))
	if err := sec.Handshake(); err != nil {
		if !c.Gone.Load() {
			c.env.Log.Errorf("%v - TLS handshake error: %v", c, err)
			c.write(protocol.AppendErr(nil, "Secure Connection - TLS Required"))
		}
		c.closing(monitor.ReasonTLSHandshakeError)
		return false
	}
	c.nc.SetDeadline(time.Time{})
	if c.leaveSocket(sec) != nil {
		return false
	}
	state := sec.ConnectionState()
	c.mu.Lock()
	next := *c.mu.info
	next.tls, next.tlsInit = monitor.NewTLSInfo(&state), t.First
	c.mu.info = &next
	c.mu.Unlock()
	c.tls = &state
	return true
}

func (c *Conn) tlsState() *tls.ConnectionState { return c.tls }
