package segment

import (
	"encoding/binary"
	"math"
)

// Record is one message. After ReadRecord its slices point into the bytes read, and are nil where empty.
type Record struct {
	Attrs     uint8 // meaning is the caller's
	TimeDelta int64 // ns; the message's time is its batch's plus this
	Subject   []byte
	Header    []byte
	Value     []byte
}

// minRecordBytes is the size of an empty record: attributes, time delta and three lengths.
const minRecordBytes = 5

// AppendRecord encodes r behind dst:
//
//	attributes u8, time delta varint (zigzag), lengths of subject, header and value as uvarints, subject, header, value
func AppendRecord(dst []byte, r *Record) []byte {
	dst = append(dst, r.Attrs)
	dst = binary.AppendVarint(dst, r.TimeDelta)
	dst = binary.AppendUvarint(dst, uint64(len(r.Subject)))
	dst = binary.AppendUvarint(dst, uint64(len(r.Header)))
	dst = binary.AppendUvarint(dst, uint64(len(r.Value)))
	dst = append(dst, r.Subject...)
	dst = append(dst, r.Header...)
	return append(dst, r.Value...)
}

// recordLayout says where the parts of a record lie: subject at at, header behind it, value behind that.
type recordLayout struct {
	delta                  int64
	at                     int // end of the lengths
	subject, header, value int // in bytes
}

func (l *recordLayout) end() int { return l.at + l.subject + l.header + l.value }

// layoutRecord measures the record that b starts with. It reports false if b does not hold a whole one.
func layoutRecord(b []byte, l *recordLayout) bool {
	if len(b) < minRecordBytes {
		return false
	}
	if (b[1]|b[2]|b[3]|b[4])&0x80 == 0 { // every number is one byte
		l.delta = int64(b[1]>>1) ^ -int64(b[1]&1)
		l.at, l.subject, l.header, l.value = 5, int(b[2]), int(b[3]), int(b[4])
		return l.end() <= len(b)
	}
	delta, n := binary.Varint(b[1:])
	if n <= 0 {
		return false
	}
	l.delta = delta
	at := 1 + n
	var lengths [3]int
	rest := uint64(len(b))
	for i := range lengths {
		v, n := binary.Uvarint(b[at:])
		if n <= 0 || v > rest || v > math.MaxInt32 {
			return false
		}
		rest -= v
		at += n
		lengths[i] = int(v)
	}
	l.at, l.subject, l.header, l.value = at, lengths[0], lengths[1], lengths[2]
	return l.end() <= len(b)
}

// ReadRecord decodes the record that b starts with and returns its length. The slices of r point into b and cannot be
// appended to in place. The error is ErrBadRecord.
func ReadRecord(b []byte, r *Record) (n int, err error) {
	var l recordLayout
	if !layoutRecord(b, &l) {
		return 0, ErrBadRecord
	}
	r.Attrs = b[0]
	r.TimeDelta = l.delta
	r.Subject, r.Header, r.Value = nil, nil, nil
	at := l.at
	if l.subject > 0 {
		r.Subject = b[at : at+l.subject : at+l.subject]
		at += l.subject
	}
	if l.header > 0 {
		r.Header = b[at : at+l.header : at+l.header]
		at += l.header
	}
	if l.value > 0 {
		r.Value = b[at : at+l.value : at+l.value]
		at += l.value
	}
	return at, nil
}

// checkRecords walks a body of exactly count records and returns the largest time delta among them.
func checkRecords(body []byte, count uint32) (maxDelta int64, ok bool) {
	if uint64(count)*minRecordBytes > uint64(len(body)) {
		return 0, false
	}
	maxDelta = math.MinInt64
	var l recordLayout
	for range count {
		if !layoutRecord(body, &l) {
			return 0, false
		}
		maxDelta = max(maxDelta, l.delta)
		body = body[l.end():]
	}
	return maxDelta, len(body) == 0
}
