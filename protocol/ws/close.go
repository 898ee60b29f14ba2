package ws

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"
)

// CloseCode is the status of a close frame.
type CloseCode uint16

// The codes that have a meaning here. CloseNone and CloseTLS are never in a frame of the RFC; an empty close frame
// counts as the first.
const (
	CloseNormal        CloseCode = 1000
	CloseGoingAway     CloseCode = 1001
	CloseProtocol      CloseCode = 1002
	CloseUnsupported   CloseCode = 1003
	CloseNone          CloseCode = 1005
	CloseAbnormal      CloseCode = 1006
	CloseInvalidData   CloseCode = 1007
	ClosePolicy        CloseCode = 1008
	CloseTooBig        CloseCode = 1009
	CloseInternalError CloseCode = 1011
	CloseTLS           CloseCode = 1015
)

// inFrame reports whether a peer may send the code: those that the protocol or its registry define, and the ranges
// for libraries and applications.
func (c CloseCode) inFrame() bool {
	switch {
	case c >= 3000 && c <= 4999:
		return true
	case c == CloseNone, c == CloseAbnormal, c == 1004:
		return false
	}
	return c >= CloseNormal && c <= 1014
}

// ProtocolError is a violation of the WebSocket protocol by the peer. Code and Text are for the close frame that
// answers it.
type ProtocolError struct {
	Code CloseCode
	Text string
}

func (e *ProtocolError) Error() string { return "websocket: " + e.Text }

func violation(text string) error { return &ProtocolError{CloseProtocol, text} }

// ErrTooLarge is returned for a compressed message that is too large, or becomes so when it is expanded.
var ErrTooLarge error = &ProtocolError{CloseTooBig, "compressed message is too large"}

// IsViolation returns the error as a ProtocolError, or nil if it is another one.
func IsViolation(err error) *ProtocolError {
	e, _ := errors.AsType[*ProtocolError](err)
	return e
}

// AppendClose appends the payload of a close frame. Text that is too long is cut, and ends in dots then.
func AppendClose(dst []byte, code CloseCode, text string) []byte {
	const most, dots = MaxControl - 2, "..."
	dst = binary.BigEndian.AppendUint16(dst, uint16(code))
	if len(text) <= most {
		return append(dst, text...)
	}
	end := most - len(dots)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return append(append(dst, text[:end]...), dots...)
}

// checkClose checks the payload of a peer's close frame.
func checkClose(b []byte) error {
	switch {
	case len(b) == 0:
		return nil
	case len(b) == 1:
		return violation("close frame has half a status")
	}
	if code := CloseCode(binary.BigEndian.Uint16(b)); !code.inFrame() {
		return violation(fmt.Sprintf("invalid close status %d", code))
	}
	if !utf8.Valid(b[2:]) {
		return &ProtocolError{CloseInvalidData, "close frame's text is not UTF-8"}
	}
	return nil
}
