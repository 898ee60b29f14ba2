package websocket

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"godwit/protocol/ws"
)

const (
	// headMax is the most bytes that the head of a request may have.
	headMax = 64 << 10
	// messageSlack is what a compressed message may have beyond the largest payload: its control line, and what a
	// client has gathered before it.
	messageSlack = 64 << 10

	answerMalformed = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request"
	answerTooLarge  = "HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n" +
		"431 Request Header Fields Too Large"
	answerPlain = "HTTP/1.0 400 Bad Request\r\n\r\nThis port speaks TLS: use https or wss.\n"
)

// Errors that end a handshake without an answer.
var (
	errEarlyData = errors.New("client sent data before the handshake was over")
	errHTTP      = errors.New("client speaks HTTP without TLS")
	errRate      = errors.New("too many TLS handshakes per second")
)

// errHeadTooLarge is returned by head.
var errHeadTooLarge = errors.New("head of the request is too large")

// serve does the handshake of a connection and gives it away.
func (l *Listener) serve(nc net.Conn) {
	defer l.tasks.Done()
	defer func() { <-l.slots }()
	limit := l.cfg.Options.HandshakeTimeout
	if limit <= 0 {
		limit = handshakeMax
	}
	nc.SetDeadline(time.Now().Add(limit))
	c, meta := l.open(nc)
	if c == nil {
		l.finish(nc)
		nc.Close()
		return
	}
	nc.SetDeadline(time.Time{})
	if l.finish(nc) {
		l.cfg.Adopt(c, meta)
	}
}

// open does the handshake. If it fails, it has told the client and the log as much as they are to know.
func (l *Listener) open(nc net.Conn) (*Conn, *Meta) {
	var state *tls.ConnectionState
	if cfg := l.tls.Load(); cfg != nil {
		secure, err := l.secure(nc, cfg)
		if err != nil {
			l.report("websocket: TLS handshake error from %v: %v", nc.RemoteAddr(), err)
			return nil, nil
		}
		nc = secure
		s := secure.ConnectionState()
		state = &s
	}
	in := &head{r: nc}
	br := bufio.NewReader(in)
	for {
		in.left = headMax
		req, err := http.ReadRequest(br)
		if err != nil {
			l.unreadable(nc, in, err)
			return nil, nil
		}
		c, meta, err := l.upgrade(nc, br, req, state)
		if err == nil {
			return c, meta
		}
		l.report("%v - websocket handshake error: %v", nc.RemoteAddr(), err)
		var refused *ws.Refusal
		if !errors.As(err, &refused) {
			return nil, nil
		}
		last := req.Close || req.ContentLength != 0
		if _, err := nc.Write(ws.AppendRefusal(nil, req, refused.Status, time.Now(), last)); err != nil || last {
			return nil, nil
		}
	}
}

// report logs an error, unless it comes from the listener being closed.
func (l *Listener) report(format string, args ...any) {
	select {
	case <-l.done:
	default:
		l.cfg.Log.Errorf(format, args...)
	}
}

// secure does the TLS handshake.
func (l *Listener) secure(nc net.Conn, cfg *tls.Config) (*tls.Conn, error) {
	if l.cfg.AllowTLS != nil && !l.cfg.AllowTLS() {
		return nil, errRate
	}
	t := tls.Server(nc, cfg)
	err := t.Handshake()
	if record, ok := errors.AsType[tls.RecordHeaderError](err); ok && record.Conn != nil && isHTTP(record.RecordHeader) {
		io.WriteString(nc, answerPlain)
		return nil, errHTTP
	}
	return t, err
}

// isHTTP reports whether what came instead of a TLS record begins like a request.
func isHTTP(b [5]byte) bool {
	switch string(b[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "OPTIO":
		return true
	}
	return false
}

// unreadable answers what is no request, if it came at all.
func (l *Listener) unreadable(nc net.Conn, in *head, err error) {
	switch {
	case errors.Is(in.err, errHeadTooLarge):
		io.WriteString(nc, answerTooLarge)
	case in.err != nil: // the connection has ended, or its time
	default:
		io.WriteString(nc, answerMalformed)
	}
	l.cfg.Log.Debugf("%v - websocket handshake error: %v", nc.RemoteAddr(), err)
}

// head is where requests are read from, with a limit.
type head struct {
	r    io.Reader
	left int
	err  error // that ended the reading
}

func (h *head) Read(p []byte) (int, error) {
	if h.left <= 0 {
		h.err = errHeadTooLarge
		return 0, h.err
	}
	n, err := h.r.Read(p[:min(len(p), h.left)])
	h.left -= n
	h.err = err
	return n, err
}

// upgrade answers a request. The error is a *ws.Refusal for the client, or ends the connection.
func (l *Listener) upgrade(nc net.Conn, br *bufio.Reader, req *http.Request, state *tls.ConnectionState) (*Conn, *Meta, error) {
	o := l.cfg.Options
	kind := kindOf(req)
	if kind == MQTT && !l.cfg.MQTT {
		return nil, nil, &ws.Refusal{Status: http.StatusNotFound, Cause: "MQTT is not enabled"}
	}
	offer, err := ws.CheckRequest(req)
	if err != nil {
		return nil, nil, err
	}
	if err := l.origins.check(req, state != nil); err != nil {
		return nil, nil, &ws.Refusal{Status: http.StatusForbidden, Cause: fmt.Sprintf("origin not allowed: %v", err)}
	}
	if br.Buffered() > 0 {
		return nil, nil, errEarlyData
	}
	answer := ws.Answer{Key: offer.Key, Deflate: offer.Deflate && o.Compression, NoMasking: offer.NoMasking, Headers: l.headers}
	if kind == MQTT {
		answer.Subprotocol = mqttProtocol
	}
	if _, err := nc.Write(answer.Append(nil)); err != nil {
		return nil, nil, err
	}
	if kind == Leafnode && !l.cfg.Leafnodes {
		return nil, nil, errNoLeafnodes
	}
	cfg := ws.Config{Deflate: answer.Deflate, NoMasking: answer.NoMasking,
		MaxMessage: func() int64 { return l.cfg.MaxPayload() + messageSlack }}
	limitFrames(&cfg, req.UserAgent())
	meta := &Meta{Kind: kind, TLS: state, Compression: answer.Deflate, NoMasking: answer.NoMasking,
		Forwarded: forwarded(req), Credentials: credentials(req, o)}
	return newConn(nc, cfg), meta, nil
}

// errNoLeafnodes ends a connection that wants to be a leaf node.
var errNoLeafnodes = errors.New("leafnode connections are not configured")
