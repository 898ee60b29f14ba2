package monitor

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// ServerOptions configures a Server.
type ServerOptions struct {
	Host     string // address to listen on
	Port     int    // 0 or -1 lets the system choose one
	BasePath string // prefix of all paths; empty or "/" is none
	// TLS makes it HTTPS; one without a certificate is ErrHTTPSWithoutTLS. It is shared.
	TLS *tls.Config
}

// ErrHTTPSWithoutTLS is returned when HTTPS is asked for and there is no certificate.
var ErrHTTPSWithoutTLS = errors.New("TLS cert and key required for HTTPS")

// headerTimeout bounds how long a client may take to send a request's header.
const headerTimeout = 5 * time.Second

// idleTimeout is how long a connection may wait for its next request.
const idleTimeout = 3 * time.Minute

// Server listens for monitoring requests.
type Server struct {
	m        *Monitor
	o        ServerOptions
	http     *http.Server
	listener net.Listener
	cancel   context.CancelFunc
	serving  sync.WaitGroup // the accept loop, the only one that adds to conns
	conns    sync.WaitGroup // goroutines of connections, their handlers included
}

// Listen opens the port and starts to answer. Close ends it.
func (m *Monitor) Listen(o ServerOptions) (*Server, error) {
	if o.Port < 0 {
		o.Port = 0
	}
	if o.TLS != nil && len(o.TLS.Certificates) == 0 && o.TLS.GetCertificate == nil && o.TLS.GetConfigForClient == nil {
		return nil, ErrHTTPSWithoutTLS
	}
	addr := net.JoinHostPort(o.Host, fmt.Sprint(o.Port))
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("can't listen to the monitor port: %w", err)
	}
	s := &Server{m: m, o: o, listener: l}
	scheme := "http"
	if o.TLS != nil {
		scheme = "https"
		l = tls.NewListener(l, o.TLS)
	}
	m.log.Noticef("Starting %s monitor on %s", scheme, net.JoinHostPort(o.Host, fmt.Sprint(s.Addr().Port)))
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.http = &http.Server{
		Handler:           m.Handler(o.BasePath),
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    1 << 20,
		ErrorLog:          log.New(errorLog{m.log}, "monitor: ", 0),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnState: func(_ net.Conn, st http.ConnState) {
			switch st {
			case http.StateNew:
				s.conns.Add(1)
			case http.StateClosed, http.StateHijacked:
				s.conns.Done()
			}
		},
	}
	s.serving.Go(func() {
		if err := s.http.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
			m.log.Errorf("Error serving monitor on %s: %v", addr, err)
		}
	})
	return s, nil
}

// Addr is the address in use; its port is never 0.
func (s *Server) Addr() *net.TCPAddr { return s.listener.Addr().(*net.TCPAddr) }

// Close stops listening, closes all connections and waits for the requests at work. It may be called twice.
func (s *Server) Close() error {
	s.cancel()
	err := s.http.Close()
	s.serving.Wait()
	s.conns.Wait()
	return err
}

// errorLog passes the lines of net/http on to a Logger.
type errorLog struct{ log Logger }

func (l errorLog) Write(b []byte) (int, error) {
	l.log.Errorf("%s", strings.TrimRight(string(b), "\n"))
	return len(b), nil
}
