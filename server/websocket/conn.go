package websocket

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"godwit/protocol/ws"
	"godwit/server/monitor"
)

const (
	// controlTimeout bounds the sending of a pong where the connection has no write deadline of its own.
	controlTimeout = 10 * time.Second
	// farewellTimeout bounds the sending of the close frame. It nearly always fits the socket's buffer.
	farewellTimeout = 100 * time.Millisecond
)

// Conn is an open WebSocket as a connection of bytes: Read returns what is in data frames, Write sends binary frames.
// Pings are answered by itself, the peer's close frame by Close. One goroutine may read, one write, and any others close it
// and set deadlines.
type Conn struct {
	nc net.Conn // TCP or TLS
	r  *ws.Reader

	// wmu is held while a frame is written, and ranks before ctl. Who holds it never waits for the reader.
	wmu  sync.Mutex
	w    *ws.Writer
	over bool  // a close frame was sent: nothing may follow
	werr error // a frame may have been sent in part: nothing can follow

	// ctl is what waits to be sent between frames. No system call waits under it.
	ctl struct {
		sync.Mutex
		ping     []byte // the payload to send back; nil if none is owed. Only the newest counts
		buf      [ws.MaxControl]byte
		farewell []byte // payload of the close frame that Close sends; nil if there is no reason yet
		deadline time.Time
	}

	closing  sync.Once
	closeErr error
}

// newConn makes a Conn of a connection whose handshake is over.
func newConn(nc net.Conn, cfg ws.Config) *Conn {
	c := &Conn{nc: nc}
	var out io.Writer = nc
	if tcp, ok := nc.(*net.TCPConn); ok {
		out = &tcpWriter{TCPConn: tcp}
	}
	c.r = ws.NewReader(nc, cfg, c.control)
	c.w = ws.NewWriter(out, cfg)
	return c
}

// tcpWriter sends a frame's header and payload with one system call.
type tcpWriter struct {
	*net.TCPConn
	pieces [2][]byte
	vec    net.Buffers // of pieces, consumed by writing
}

// Gather implements ws.Gatherer.
func (w *tcpWriter) Gather(head, body []byte) error {
	w.pieces = [2][]byte{head, body}
	w.vec = w.pieces[:]
	_, err := w.vec.WriteTo(w.TCPConn)
	w.pieces = [2][]byte{}
	return err
}

// Read reads bytes of data frames. It returns io.EOF once the peer has closed.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if err != nil {
		if v := ws.IsViolation(err); v != nil {
			c.setFarewell(v.Code, v.Text)
		}
	}
	return n, err
}

// Write sends p, which is lent, in binary frames. After Close has said why it sends nothing, and that is no error.
func (c *Conn) Write(p []byte) (int, error) {
	c.wmu.Lock()
	n, err := len(p), c.werr
	if err == nil && !c.over {
		if n, err = c.w.Write(p); err != nil {
			c.werr = err
		}
	}
	c.wmu.Unlock()
	if err != nil {
		return 0, err
	}
	return n, c.sendControls()
}

// control is told of control frames by the reader.
func (c *Conn) control(op ws.Opcode, payload []byte) error {
	c.ctl.Lock()
	if op == ws.OpClose { // Close answers it, after what is still to be sent
		c.ctl.farewell = append([]byte{}, payload...)
		c.ctl.Unlock()
		return nil
	}
	c.ctl.ping = c.ctl.buf[:copy(c.ctl.buf[:], payload)]
	c.ctl.Unlock()
	return c.sendControls()
}

// sendControls sends what control frames are owed, unless a frame is being written: then who writes it will.
func (c *Conn) sendControls() error {
	for c.owing() && c.wmu.TryLock() {
		err := c.sendControlsLocked()
		c.wmu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *Conn) owing() bool {
	c.ctl.Lock()
	defer c.ctl.Unlock()
	return c.ctl.ping != nil
}

func (c *Conn) sendControlsLocked() error {
	var pong [ws.MaxControl]byte
	c.ctl.Lock()
	owed := c.ctl.ping != nil
	n := copy(pong[:], c.ctl.ping)
	c.ctl.ping = nil
	if c.ctl.deadline.IsZero() {
		c.nc.SetWriteDeadline(time.Now().Add(controlTimeout))
	}
	c.ctl.Unlock()
	if owed && !c.over && c.werr == nil {
		c.werr = c.w.Control(ws.OpPong, pong[:n])
	}
	c.ctl.Lock()
	c.nc.SetWriteDeadline(c.ctl.deadline)
	c.ctl.Unlock()
	return c.werr
}

// closeLocked sends the close frame, once. Called with wmu held.
func (c *Conn) closeLocked(payload []byte) {
	if c.over || c.werr != nil {
		return
	}
	c.over = true
	c.werr = c.w.Control(ws.OpClose, payload)
}

// ClosingFor says why the connection is about to be closed: Close tells the peer. Only the first reason counts, and a
// violation of the WebSocket protocol by the peer is one.
func (c *Conn) ClosingFor(reason monitor.Reason) {
	c.setFarewell(closeCode(reason), reason.String())
}

func (c *Conn) setFarewell(code ws.CloseCode, text string) {
	c.ctl.Lock()
	defer c.ctl.Unlock()
	if c.ctl.farewell == nil {
		c.ctl.farewell = ws.AppendClose(nil, code, text)
	}
}

// Close tells the peer why, or answers its close frame, if no frame is half sent, and closes the connection. It may wait for a moment. What Write
// returned for has been given to the system before.
func (c *Conn) Close() error {
	c.closing.Do(func() {
		if c.wmu.TryLock() {
			c.sayFarewellLocked()
			c.wmu.Unlock()
		}
		c.closeErr = c.nc.Close()
	})
	return c.closeErr
}

func (c *Conn) sayFarewellLocked() {
	c.ctl.Lock()
	if c.ctl.farewell == nil {
		c.ctl.farewell = ws.AppendClose(nil, ws.CloseGoingAway, "")
	}
	farewell := c.ctl.farewell
	c.ctl.Unlock()
	c.nc.SetWriteDeadline(time.Now().Add(farewellTimeout))
	c.closeLocked(farewell)
}

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.nc.SetReadDeadline(t) }

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.ctl.Lock()
	defer c.ctl.Unlock()
	c.ctl.deadline = t
	return c.nc.SetWriteDeadline(t)
}

// LocalAddr implements net.Conn.
func (c *Conn) LocalAddr() net.Addr { return c.nc.LocalAddr() }

// RemoteAddr implements net.Conn. It is that of the TCP connection, whatever proxies say.
func (c *Conn) RemoteAddr() net.Addr { return c.nc.RemoteAddr() }
