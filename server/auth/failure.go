package auth

import (
	"errors"
	"fmt"
)

// ErrAuthorization is what a client is told of every failure to log in. Its text is the protocol's.
//
//lint:ignore ST1005 the protocol's text
var ErrAuthorization = errors.New("Authorization Violation")

//lint:ignore ST1005 the protocol's text
var errBadUserNkey = errors.New("Not a valid public nkey for a user")

// CloseReason says why a connection is closed, for monitoring and events.
type CloseReason string

const (
	CloseAuthentication  CloseReason = "Authentication Failure"
	CloseProxyNotTrusted CloseReason = "Proxy Not Trusted"
	CloseProxyRequired   CloseReason = "Proxy Required"
)

// Failure is a refused login. Only the log and events may show more than ErrAuthorization of it.
type Failure struct {
	Close  CloseReason
	Reason string // for the debug log
	User   string // that tried; it may hold anything the client sent
	Nkey   string
	Token  bool // a token was presented; it is never shown
	JWT    bool // the user comes from a JWT

	Account string // whose service has refused the login; empty if none was asked
}

// refuse makes the Failure of a request.
func refuse(req *Request, why CloseReason, reason string) *Failure {
	return &Failure{Close: why, Reason: reason, User: req.User, Nkey: req.Nkey, Token: req.Token != ""}
}

func (f *Failure) Error() string { return f.LogText() + ": " + f.Reason }

// Unwrap returns what the client is told.
func (f *Failure) Unwrap() error { return ErrAuthorization }

// LogText is the line of the error log, without the reason.
func (f *Failure) LogText() string {
	switch {
	case f.JWT:
		return fmt.Sprintf("authentication error - JWT User %q", f.User)
	case f.Nkey != "":
		return fmt.Sprintf("authentication error - Nkey %q", f.Nkey)
	case f.User != "":
		return fmt.Sprintf("authentication error - User %q", f.User)
	case f.Token:
		return fmt.Sprintf("authentication error - Token %q", redacted)
	}
	return "authentication error"
}
