package stream

import "encoding/binary"

// decoder reads the parts of commands and checkpoints; bad is set, and stays, once something is missing.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) fail() {
	d.bad = true
	d.b = nil
}

func (d *decoder) byte() byte {
	if len(d.b) == 0 {
		d.fail()
		return 0
	}
	v := d.b[0]
	d.b = d.b[1:]
	return v
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.b = d.b[n:]
	return v
}

// bytes returns the next n bytes, which are part of the input.
func (d *decoder) bytes(n uint64) []byte {
	if uint64(len(d.b)) < n {
		d.fail()
		return nil
	}
	v := d.b[:n:n]
	d.b = d.b[n:]
	return v
}

// text returns a text with its length before it.
func (d *decoder) text() []byte { return d.bytes(d.uvarint()) }

func appendText[T ~string | ~[]byte](dst []byte, t T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(t))), t...)
}
