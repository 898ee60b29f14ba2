package system

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
)

// encoding is how an answer's body is written.
type encoding uint8

const (
	encodingNone     encoding = iota // nothing was asked for: no header
	encodingIdentity                 // something unknown was asked for: not compressed, and the header says so
	encodingSnappy                   // framed
	encodingGzip
)

var encodingNames = [...]string{encodingIdentity: "identity", encodingSnappy: "snappy", encodingGzip: "gzip"}

// accepted reads the encoding that the header block of a request asks for. The header's name must be written exactly
// so; of several encodings snappy, alias s2, comes first.
func accepted(header []byte) encoding {
	const name = "\r\nAccept-Encoding:"
	i := bytes.Index(header, []byte(name))
	if i < 0 {
		return encodingNone
	}
	value, _, _ := bytes.Cut(header[i+len(name):], []byte("\r\n"))
	switch v := strings.ToLower(strings.TrimSpace(string(value))); {
	case v == "":
		return encodingNone
	case strings.Contains(v, "snappy"), strings.Contains(v, "s2"):
		return encodingSnappy
	case strings.Contains(v, "gzip"):
		return encodingGzip
	}
	return encodingIdentity
}

// apply returns the header block that tells of the encoding, empty for none, and the body so written.
func (e encoding) apply(body []byte) (header, encoded []byte, err error) {
	if e == encodingNone {
		return nil, body, nil
	}
	header = fmt.Appendf(nil, "NATS/1.0\r\nContent-Encoding: %s\r\n\r\n", encodingNames[e])
	if e == encodingIdentity {
		return header, body, nil
	}
	var b bytes.Buffer
	var w io.WriteCloser
	if e == encodingSnappy {
		w = s2.NewWriter(&b, s2.WriterSnappyCompat(), s2.WriterConcurrency(1))
	} else {
		w = gzip.NewWriter(&b)
	}
	_, err = w.Write(body)
	if cerr := w.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, nil, fmt.Errorf("encode an answer as %s: %w", encodingNames[e], err)
	}
	return header, b.Bytes(), nil
}
