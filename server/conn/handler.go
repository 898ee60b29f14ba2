package conn

import (
	"errors"
	"fmt"
	"time"

	"godwit/protocol"
	"godwit/server/monitor"
)

// handler is Conn as the parser sees it. Its methods run on the reader goroutine.
type handler Conn

// fatal ends the connection, after telling the client text if it is not empty.
type fatal struct {
	reason monitor.Reason
	text   string
}

func (f *fatal) Error() string { return fmt.Sprintf("%v: %s", f.reason, f.text) }

var errAuthorization = &fatal{monitor.ReasonAuthenticationViolation, "Authorization Violation"}

// refuse ends the connection for what the client sent.
func (c *Conn) refuse(err error) {
	var f *fatal
	log := c.env.Log.Errorf // a client that is wrong about the protocol
	switch {
	case errors.As(err, &f):
		log = c.env.Log.Debugf
	case errors.Is(err, protocol.ErrUnknownOp):
		f = &fatal{monitor.ReasonProtocolViolation, "Unknown Protocol Operation"}
	case errors.Is(err, protocol.ErrControlLine):
		f = &fatal{monitor.ReasonMaxControlLineExceeded, "maximum control line exceeded"}
	case errors.Is(err, protocol.ErrMaxPayload):
		f = &fatal{monitor.ReasonMaxPayloadExceeded, "Maximum Payload Violation"}
	case errors.Is(err, protocol.ErrPeer):
		f = &fatal{monitor.ReasonParseError, ""}
	default:
		f = &fatal{monitor.ReasonProtocolViolation, ""}
	}
	if f.text != "" && !c.Gone.Load() {
		c.sender.Write(protocol.AppendErr(nil, f.text))
	}
	log("%v - %v", c, err)
	c.sender.Flush()
	c.closing(f.reason)
}

// soft tells the client of an error that it survives.
func (c *Conn) soft(text string) {
	c.sender.Write(protocol.AppendErr(nil, text))
	c.env.Log.Debugf("%v - %s", c, text)
}

// violation is something that a client may not do, and that does not end the connection.
type violation struct {
	told   string // to the client
	logged string
}

// violated tells the client of a violation, and the log.
func (c *Conn) violated(v *violation) {
	c.sender.Write(protocol.AppendErr(nil, v.told))
	c.env.Log.RateLimitErrorf("%v - %s", c, v.logged)
}

func (c *Conn) ok() {
	if c.mode&modeVerbose != 0 {
		c.sender.Write(protocol.FrameOK)
	}
}

// Ping implements protocol.Handler.
func (h *handler) Ping() error {
	c := (*Conn)(h)
	c.traceIn("PING", nil)
	if c.over != nil { // a PONG says that all is told
		c.tellOverflow()
	}
	c.sender.Write(protocol.FramePong)
	c.pinged = true
	if c.asked && !c.greeted {
		c.greeted = true
		c.rtt.CompareAndSwap(0, int64(time.Since(c.start))) // a first guess: it has answered INFO since
		if c.opts.Protocol >= 1 {
			c.sendInfo(true)
		}
	}
	return nil
}

// Pong implements protocol.Handler.
func (h *handler) Pong() error {
	c := (*Conn)(h)
	c.traceIn("PONG", nil)
	c.gotPong()
	return nil
}

// PeerError implements protocol.Handler.
func (h *handler) PeerError(text []byte) error {
	(*Conn)(h).traceIn("-ERR", text)
	return protocol.ErrPeer
}
