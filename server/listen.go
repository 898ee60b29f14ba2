package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"godwit/server/conn"
	"godwit/server/monitor"
)

// ErrListen is returned by Start when the client port cannot be had.
//
//lint:ignore ST1005 the text that operators know
var ErrListen = errors.New("Error listening on port")

var errStopping = errors.New("server is shutting down")

func (s *Server) listen() error {
	addr := net.JoinHostPort(s.options().Host, strconv.Itoa(max(s.options().Port, 0)))
	lc := net.ListenConfig{KeepAliveConfig: net.KeepAliveConfig{Enable: true}}
	ln, err := lc.Listen(context.Background(), "tcp", addr)
	if err != nil {
		return fmt.Errorf("%w: %s, %q", ErrListen, addr, err)
	}
	port := ln.Addr().(*net.TCPAddr).Port
	s.info.Store(s.baseInfo(s.advertised(port)))
	s.mu.Lock()
	if s.stopping {
		s.mu.Unlock()
		ln.Close()
		return errStopping
	}
	s.listener = ln
	s.accepts.Add(1)
	s.mu.Unlock()
	s.log.Noticef("Listening for client connections on %s", net.JoinHostPort(s.options().Host, strconv.Itoa(port)))
	if s.env.TLS.Load() != nil {
		s.log.Noticef("TLS required for client connections")
	}
	go s.accept(ln)
	return nil
}

// accept takes connections until the listener is closed. Errors such as too many open files pass: it waits and goes on.
func (s *Server) accept(ln net.Listener) {
	defer s.accepts.Done()
	const least, most = 10 * time.Millisecond, time.Second
	wait := least
	for {
		nc, err := ln.Accept()
		switch {
		case err == nil:
			wait = least
			s.adopt(nc, nil)
		case errors.Is(err, net.ErrClosed):
			return
		default:
			s.log.Errorf("Temporary Client Accept Error (%v), sleeping %v", err, wait)
			time.Sleep(wait)
			wait = min(2*wait, most)
		}
	}
}

// adopt runs a new connection, on a goroutine of its own.
func (s *Server) adopt(nc net.Conn, by *conn.Arrival) {
	c, err := conn.New(&s.env, s.nextID.Add(1), nc, by)
	if err != nil {
		s.log.Errorf("%v", err)
		nc.Close()
		return
	}
	s.mu.Lock()
	if s.stopping || s.lameDuck.Load() {
		s.mu.Unlock()
		nc.Close()
		return
	}
	admitted := s.env.Registry.Add(c, s.env.Settings.Load().MaxConn)
	s.conns.Add(1)
	s.mu.Unlock()
	go func() {
		defer s.conns.Done()
		if !admitted {
			s.log.Errorf("%v - maximum connections exceeded", c)
			c.Reject(monitor.ReasonMaxConnectionsExceeded, "maximum connections exceeded")
			return
		}
		s.log.Debugf("%v - Client connection created", c)
		c.Serve()
	}()
}
