package jsapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Decode reads a request body into v. Strict refuses unknown fields. The error is ErrInvalidJSON with the
// decoder's text. Several JSON values in one body are read into v one after the other, as the protocol has it.
func Decode(body []byte, v any, strict bool) *Error {
	d := json.NewDecoder(bytes.NewReader(body))
	if strict {
		d.DisallowUnknownFields()
	}
	for {
		err := d.Decode(v)
		if err == nil {
			continue
		}
		if err == io.EOF {
			return nil
		}
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			err = fmt.Errorf("%w at offset %d", err, syntax.Offset)
		}
		return Err(ErrInvalidJSON, "err", err.Error())
	}
}

// Empty says whether a body counts as no body: nothing but blanks, or {}.
func Empty(body []byte) bool {
	b := bytes.TrimSpace(body)
	return len(b) == 0 || string(b) == "{}"
}

// JSONOrEmpty says whether an optional body is to be decoded: one whose first byte opens neither an object nor an
// array counts as absent.
func JSONOrEmpty(body []byte) bool {
	b := bytes.TrimSpace(body)
	return len(b) > 0 && (b[0] == '{' || b[0] == '[')
}
