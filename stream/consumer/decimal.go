package consumer

import "strconv"

// decimal is a number kept in digits. Sequences move by one from message to message, so the next digits come from
// the last ones by a carry instead of by divisions. The zero value is not usable before set.
type decimal struct {
	value uint64
	start int
	buf   [20]byte
}

func (d *decimal) set(v uint64) {
	d.value = v
	n := len(strconv.AppendUint(d.buf[:0], v, 10))
	d.start = len(d.buf) - n
	copy(d.buf[d.start:], d.buf[:n])
}

// digits returns v in decimal; it is valid until the next call.
func (d *decimal) digits(v uint64) []byte {
	switch {
	case v == d.value && d.start > 0:
	case v == d.value+1 && d.start > 0:
		d.value = v
		i := len(d.buf) - 1
		for ; i >= d.start && d.buf[i] == '9'; i-- {
			d.buf[i] = '0'
		}
		if i >= d.start {
			d.buf[i]++
		} else {
			d.set(v) // one digit more
		}
	case d.value > 10 && v == d.value-1:
		d.value = v
		i := len(d.buf) - 1
		for ; d.buf[i] == '0'; i-- {
			d.buf[i] = '9'
		}
		if d.buf[i]--; d.buf[d.start] == '0' {
			d.start++ // one digit less
		}
	default:
		d.set(v)
	}
	return d.buf[d.start:]
}
