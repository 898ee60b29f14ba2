package system

import "errors"

// Errors of a Host. The texts are those of the answers.
var (
	ErrNoConnection = errors.New("no such client or leafnode id")
	ErrNoClient     = errors.New("no such client id")
	ErrNotReady     = errors.New("client does not support Lame Duck Mode or is not ready to receive the notification")
)

// errNoBody is what is wrong with a request without a body that needs one.
var errNoBody = errors.New("the request has no body")
