package websocket

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// Errors for origins that do not match.
var (
	errNotListed = errors.New("not in the allowed list")
	errNotSame   = errors.New("not same origin")
)

// origin is where a page comes from: all lower case, the port never empty.
type origin struct{ scheme, host, port string }

func parseOrigin(text string) (origin, error) {
	u, err := url.ParseRequestURI(text)
	if err != nil {
		return origin{}, err
	}
	o := origin{scheme: strings.ToLower(u.Scheme), host: strings.ToLower(u.Hostname()), port: u.Port()}
	if o.port == "" {
		o.port = defaultPort(o.scheme == "https")
	}
	return o, nil
}

func defaultPort(secure bool) string {
	if secure {
		return "443"
	}
	return "80"
}

// origins decides which pages may connect.
type origins struct {
	same    bool
	allowed map[origin]bool // nil allows all
}

// newOrigins reads the configured list. Its errors are the operator's.
func newOrigins(same bool, list []string) (origins, error) {
	a := origins{same: same}
	for _, text := range list {
		o, err := parseOrigin(text)
		switch {
		case err != nil:
			return a, fmt.Errorf("unable to parse allowed origin: %w", err)
		case o.scheme != "http" && o.scheme != "https":
			return a, fmt.Errorf("unable to parse allowed origin %q: allowed origins must be absolute URLs with http or https scheme", text)
		case o.host == "":
			return a, fmt.Errorf("unable to parse allowed origin %q: host is required", text)
		}
		if a.allowed == nil {
			a.allowed = make(map[origin]bool)
		}
		a.allowed[o] = true
	}
	return a, nil
}

// check decides about a request. One that names no origin does not come from a page. secure tells that it came by TLS.
func (a *origins) check(req *http.Request, secure bool) error {
	if !a.same && a.allowed == nil {
		return nil
	}
	text := req.Header.Get("Origin")
	if text == "" {
		text = req.Header.Get("Sec-Websocket-Origin")
	}
	if text == "" {
		return nil
	}
	o, err := parseOrigin(text)
	if err != nil {
		return err
	}
	if a.same {
		own, err := ownOrigin(req.Host, secure)
		if err != nil {
			return err
		}
		if o != own {
			return errNotSame
		}
	}
	if a.allowed != nil && !a.allowed[o] {
		return errNotListed
	}
	return nil
}

// ownOrigin is the origin that a request was sent to.
func ownOrigin(host string, secure bool) (origin, error) {
	o := origin{scheme: "http", port: defaultPort(secure)}
	if secure {
		o.scheme = "https"
	}
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		if addr, ok := errors.AsType[*net.AddrError](err); !ok || addr.Err != "missing port in address" {
			return o, err
		}
		name = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	} else {
		o.port = port
	}
	o.host = strings.ToLower(name)
	return o, nil
}
