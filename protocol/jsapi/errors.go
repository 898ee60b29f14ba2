package jsapi

import (
	"errors"
	"slices"
	"strings"
)

// Error is an error as it travels in a response or an acknowledgement. It is shared: nobody changes one.
type Error struct {
	Status      int    `json:"code"`
	Code        Code   `json:"err_code,omitempty"`
	Description string `json:"description,omitempty"`
}

func (e *Error) Error() string { return e.Description }

// Is says whether err is an Error with the code.
func Is(err error, code Code) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}

// Err makes the error of a code. details are pairs of a placeholder without braces and the text for it, as in
// Err(ErrStreamWrongLastSequence, "seq", "7"). A code that is not in the table is a mistake of the caller and
// gives a 500 that names it.
func Err(code Code, details ...string) *Error {
	i, ok := slices.BinarySearchFunc(table[:], code, func(e entry, c Code) int { return int(e.code) - int(c) })
	if !ok {
		return &Error{Status: 500, Code: code, Description: "unknown error"}
	}
	text := table[i].text
	for len(details) > 1 {
		text = strings.ReplaceAll(text, "{"+details[0]+"}", details[1])
		details = details[2:]
	}
	return &Error{Status: table[i].status, Code: code, Description: text}
}

// Wrap makes the error of a code whose text is a cause. A cause that is an Error already is passed through.
func Wrap(code Code, cause error) *Error {
	var e *Error
	if errors.As(cause, &e) {
		return e
	}
	return Err(code, "err", cause.Error())
}

// InvalidConfig is the error of a stream or consumer configuration with a text of its own.
func InvalidConfig(text string) *Error { return Err(ErrStreamInvalidConfig, "err", text) }
