// Package websocket listens for clients that come by WebSocket: it does TLS and the HTTP upgrade, and gives what it
// opened to the server as a connection of bytes, with what the handshake has shown.
package websocket

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"godwit/protocol/ws"
	"godwit/server/options"
)

// ErrListen is returned by Start when the port cannot be had.
//
//lint:ignore ST1005 the text operators know
var ErrListen = errors.New("Unable to listen for websocket connections")

// ErrClosed is returned by Start after Close.
var ErrClosed = errors.New("the websocket listener is closed")

const (
	// handshakeMax is how long a handshake may take where no other time is configured.
	handshakeMax = time.Minute
	// handshakes is how many may be under way. More clients wait in the system's queue.
	handshakes = 4096
)

// Logger is where the listener reports to.
type Logger interface {
	Noticef(format string, args ...any)
	Warnf(format string, args ...any)
	Errorf(format string, args ...any)
	Debugf(format string, args ...any)
}

// Config is what a Listener is made of. The functions are called by many goroutines.
type Config struct {
	Options *options.Websocket // shared; Port is not 0
	TLS     *tls.Config        // of Options.TLS; nil without
	// AllowTLS is asked before each TLS handshake, for a rate limit; nil allows all.
	AllowTLS func() bool
	// MaxPayload returns the limit for a message in force, in bytes.
	MaxPayload func() int64
	// Leafnodes and MQTT tell which connections, other than clients', are wanted. Others are refused.
	Leafnodes, MQTT bool
	// Adopt takes an open connection, which is its own from then on. It must return soon, and not wait for Close.
	Adopt func(*Conn, *Meta)
	Log   Logger
}

// Listener listens on one port. New makes it, Start opens the port, Close ends it.
type Listener struct {
	cfg     Config
	origins origins
	headers []string // lines of each answer
	tls     atomic.Pointer[tls.Config]
	slots   chan struct{} // one is in it for each handshake
	done    chan struct{} // closed by Close
	tasks   sync.WaitGroup

	// mu is never held while something waits.
	mu       sync.Mutex
	listener net.Listener          // nil before Start
	pending  map[net.Conn]struct{} // whose handshake is not over
	closed   bool
}

// New checks the options, as far as they are about the listener alone. The errors are for the operator.
func New(cfg Config) (*Listener, error) {
	o := cfg.Options
	if cfg.TLS == nil && (o.TLS != nil || !o.NoTLS) {
		return nil, options.ErrWebsocketTLS
	}
	for name, value := range o.Headers {
		if !validName(name) {
			return nil, fmt.Errorf("websocket: header %q is not a valid name", name)
		}
		if !validValue(value) {
			return nil, fmt.Errorf("websocket: value of header %q has control characters", name)
		}
	}
	allowed, err := newOrigins(o.SameOrigin, o.AllowedOrigins)
	if err != nil {
		return nil, err
	}
	l := &Listener{cfg: cfg, origins: allowed, headers: ws.HeaderLines(o.Headers), slots: make(chan struct{}, handshakes),
		done: make(chan struct{}), pending: make(map[net.Conn]struct{})}
	l.tls.Store(cfg.TLS)
	return l, nil
}

// validName reports whether s is a token of HTTP.
func validName(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	}) < 0
}

// validValue reports whether s can be the value of a header of one line.
func validValue(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) < 0
}

// Start opens the port and accepts connections from then on.
func (l *Listener) Start() error {
	o := l.cfg.Options
	lc := net.ListenConfig{KeepAliveConfig: net.KeepAliveConfig{Enable: true}}
	ln, err := lc.Listen(context.Background(), "tcp", net.JoinHostPort(o.Host, strconv.Itoa(max(o.Port, 0))))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrListen, err)
	}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		ln.Close()
		return ErrClosed
	}
	l.listener = ln
	l.tasks.Add(1)
	l.mu.Unlock()
	port := ln.Addr().(*net.TCPAddr).Port
	l.cfg.Log.Noticef("Listening for websocket clients on %s://%s", l.Scheme(), net.JoinHostPort(o.Host, strconv.Itoa(port)))
	if l.cfg.TLS == nil {
		l.cfg.Log.Warnf("Websocket not configured with TLS. DO NOT USE IN PRODUCTION!")
	}
	go l.accept(ln)
	return nil
}

// Scheme is that of the listener's URLs: wss with TLS, else ws.
func (l *Listener) Scheme() string {
	if l.cfg.TLS != nil {
		return "wss"
	}
	return "ws"
}

// Addr is the address in use, nil before Start. After Close it is that which was in use.
func (l *Listener) Addr() net.Addr {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.listener == nil {
		return nil
	}
	return l.listener.Addr()
}

// SetTLS makes later handshakes use c. It must not be called on a listener that was made without TLS.
func (l *Listener) SetTLS(c *tls.Config) { l.tls.Store(c) }

// Close stops listening, ends the handshakes under way and waits until nothing is left of them. Connections that were
// adopted stay. It may be called more than once.
func (l *Listener) Close() {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.done)
		if l.listener != nil {
			l.listener.Close()
		}
		for nc := range l.pending {
			nc.Close()
		}
	}
	l.mu.Unlock()
	l.tasks.Wait()
}

// accept takes connections until the listener is closed. Errors such as too many open files pass: it waits and goes on.
func (l *Listener) accept(ln net.Listener) {
	defer l.tasks.Done()
	const least, most = 10 * time.Millisecond, time.Second
	wait := least
	for {
		select {
		case l.slots <- struct{}{}:
		case <-l.done:
			return
		}
		nc, err := ln.Accept()
		switch {
		case err == nil:
			wait = least
			if l.begin(nc) {
				go l.serve(nc)
				continue
			}
			nc.Close()
		case errors.Is(err, net.ErrClosed):
			return
		default:
			l.cfg.Log.Errorf("Temporary Websocket Accept Error (%v), sleeping %v", err, wait)
			select {
			case <-time.After(wait):
			case <-l.done:
				return
			}
			wait = min(2*wait, most)
		}
		<-l.slots
	}
}

// begin registers a connection whose handshake begins, and its task. It reports false if the listener is closed.
func (l *Listener) begin(nc net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.pending[nc] = struct{}{}
	l.tasks.Add(1)
	return true
}

// finish takes the connection out of those whose handshake is not over. It reports false if the listener has been
// closed, and the connection with it.
func (l *Listener) finish(nc net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pending, nc)
	return !l.closed
}
