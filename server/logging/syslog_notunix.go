//go:build !unix

package logging

import "errors"

// ErrNoSyslog is returned where there is no syslog.
var ErrNoSyslog = errors.New("syslog is not available on this system")

func openSyslog(string, string) (sink, error) { return nil, ErrNoSyslog }
