// Package archive is the form in which a stream is backed up: one S2 stream that holds, after the 8 bytes "NATSARC1", entries of
//
//	length of the name uvarint, time varint (ns since 1970), sequence uvarint, length of the headers uvarint,
//	length of the payload uvarint, name, headers, payload
//
// First comes the state of the stream (StateName), then one entry for each consumer (ConsumerPrefix), then the messages by
// sequence, with their subjects as names, then an entry of zeros. nats-server 2.15 writes and reads the same.
package archive

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/s2"
)

const (
	// StateName is the name of the entry that describes the stream.
	StateName = "state.json"
	// ConsumerPrefix opens the names of the entries of consumers.
	ConsumerPrefix = "consumers/"

	magic     = "NATSARC1"
	nameMax   = 64 << 10
	headerMax = 64 << 20 // bytes; also of a payload
)

// Errors of archives.
var (
	// ErrFormat: this is no archive.
	ErrFormat = errors.New("unknown format")
	// ErrCut: the archive ends before its end.
	ErrCut = errors.New("archive is cut off")
	// ErrEntry: an entry has impossible lengths.
	ErrEntry = errors.New("archive has a malformed entry")
)

// Entry is one entry. The slices of one that was read are valid until the next call.
type Entry struct {
	Name            []byte
	Time            int64 // ns since 1970
	Seq             uint64
	Header, Payload []byte
}

// Writer writes an archive.
type Writer struct {
	w   *s2.Writer
	buf []byte
}

// NewWriter begins an archive on w.
func NewWriter(w io.Writer) (*Writer, error) {
	a := &Writer{w: s2.NewWriter(w, s2.WriterConcurrency(1))}
	_, err := a.w.Write([]byte(magic))
	return a, err
}

// Write appends an entry. e is lent.
func (a *Writer) Write(e *Entry) error {
	b := binary.AppendUvarint(a.buf[:0], uint64(len(e.Name)))
	b = binary.AppendVarint(b, e.Time)
	b = binary.AppendUvarint(b, e.Seq)
	b = binary.AppendUvarint(b, uint64(len(e.Header)))
	b = binary.AppendUvarint(b, uint64(len(e.Payload)))
	b = append(append(b, e.Name...), e.Header...)
	a.buf = b
	if _, err := a.w.Write(b); err != nil {
		return err
	}
	_, err := a.w.Write(e.Payload)
	return err
}

// Close ends the archive. The writer below stays open.
func (a *Writer) Close() error {
	if err := a.Write(&Entry{}); err != nil {
		return err
	}
	return a.w.Close()
}

// Reader reads an archive.
type Reader struct {
	r    *bufio.Reader
	buf  bytes.Buffer
	done bool
}

// NewReader begins to read an archive. The error is ErrFormat, or what reading gave.
func NewReader(r io.Reader) (*Reader, error) {
	a := &Reader{r: bufio.NewReader(s2.NewReader(r))}
	var head [len(magic)]byte
	if _, err := io.ReadFull(a.r, head[:]); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, s2.ErrCorrupt) || errors.Is(err, s2.ErrUnsupported) {
			return nil, ErrFormat
		}
		return nil, err
	}
	if string(head[:]) != magic {
		return nil, ErrFormat
	}
	return a, nil
}

// Next reads an entry. The error is io.EOF behind the last one, ErrCut, ErrEntry, or what reading gave.
func (a *Reader) Next(e *Entry) error {
	if a.done {
		return io.EOF
	}
	var n [3]uint64 // lengths of name, headers and payload
	var err error
	if n[0], err = a.uvarint(); err != nil {
		return err
	}
	if e.Time, err = binary.ReadVarint(a.r); err != nil {
		return cut(err)
	}
	if e.Seq, err = a.uvarint(); err != nil {
		return err
	}
	for i := 1; i < len(n); i++ {
		if n[i], err = a.uvarint(); err != nil {
			return err
		}
	}
	if n == [3]uint64{} && e.Time == 0 && e.Seq == 0 {
		a.done = true
		return io.EOF
	}
	if n[0] > nameMax || n[1] > headerMax || n[2] > headerMax {
		return fmt.Errorf("%w: lengths %d", ErrEntry, n)
	}
	a.buf.Reset()
	if _, err := io.CopyN(&a.buf, a.r, int64(n[0]+n[1]+n[2])); err != nil { // grows as there is something
		return cut(err)
	}
	b := a.buf.Bytes()
	e.Name, e.Header, e.Payload = b[:n[0]:n[0]], b[n[0]:n[0]+n[1]:n[0]+n[1]], b[n[0]+n[1]:]
	return nil
}

func (a *Reader) uvarint() (uint64, error) {
	v, err := binary.ReadUvarint(a.r)
	return v, cut(err)
}

func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrCut
	}
	return err
}
