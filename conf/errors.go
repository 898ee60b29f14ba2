package conf

import (
	"errors"
	"fmt"
)

// Sentinel errors of parsing; what is wrong and where is in the text of the error that wraps them.
var (
	ErrSyntax   = errors.New("syntax error")               // the text is not of the language
	ErrVariable = errors.New("variable can not be found")  // a reference names nothing, or goes in a circle
	ErrInclude  = errors.New("file can not be included")   // an included file is missing or not of the language
	ErrValue    = errors.New("value is out of range")      // a number or time that Go can not hold
	ErrTooDeep  = errors.New("nested too deep")            // more than maxDepth brackets or maxIncludes files
	errEOF      = errors.New("end of input inside quotes") // a quote opens and the text ends: the original stops there silently
)

// parseError has a text of its own, belongs to one of the sentinels, and may have a cause.
type parseError struct {
	text  string
	kind  error
	cause error
}

func (e *parseError) Error() string { return e.text }

func (e *parseError) Unwrap() []error {
	if e.cause == nil {
		return []error{e.kind}
	}
	return []error{e.kind, e.cause}
}

func errorOf(kind error, format string, args ...any) error {
	return &parseError{text: fmt.Sprintf(format, args...), kind: kind}
}

// because is an error whose text ends with that of its cause.
func because(kind, cause error, format string, args ...any) error {
	return &parseError{text: fmt.Sprintf(format, args...) + cause.Error(), kind: kind, cause: cause}
}

// syntax is an error at the scanner's current line.
func (p *parser) syntax(format string, args ...any) error {
	return errorOf(ErrSyntax, "Parse error on line %d: '%s'", p.line, fmt.Sprintf(format, args...))
}
