//go:build unix

package logging

import (
	"errors"
	"fmt"
	"log/syslog"
	"net/url"
)

// syslogSink sends each line to a syslog daemon. Trace lines are notices there, not to be lost among debug lines.
type syslogSink struct{ w *syslog.Writer }

// openSyslog connects to the daemon at address, a URL, or to that of this machine if address is empty.
func openSyslog(address, name string) (*syslogSink, error) {
	network, host, err := syslogAddress(address)
	if err != nil {
		return nil, err
	}
	w, err := syslog.Dial(network, host, syslog.LOG_DEBUG, name)
	if err != nil {
		return nil, fmt.Errorf("error connecting to syslog: %q", err.Error())
	}
	return &syslogSink{w}, nil
}

// syslogAddress splits a URL into network and address; both are empty for the local daemon.
func syslogAddress(address string) (network, host string, err error) {
	if address == "" {
		return "", "", nil
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", "", err
	}
	switch u.Scheme {
	case "udp", "tcp":
		return u.Scheme, u.Host, nil
	case "unix":
		return u.Scheme, u.Path, nil
	}
	return "", "", fmt.Errorf("error invalid network type: %q", u.Scheme)
}

func (s *syslogSink) write(b *batch) error {
	var errs []error
	b.each(func(level Level, line []byte) {
		send := s.w.Notice
		switch level {
		case Warn:
			send = s.w.Warning
		case Error:
			send = s.w.Err
		case Fatal:
			send = s.w.Crit
		case Debug:
			send = s.w.Debug
		}
		if err := send(string(line)); err != nil {
			errs = append(errs, err)
		}
	})
	return errors.Join(errs...)
}

func (s *syslogSink) close() error { return s.w.Close() }
