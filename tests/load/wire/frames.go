package wire

import (
	"strconv"
	"strings"
)

// ChunkBytes is about how much a publisher hands to the kernel in one write.
const ChunkBytes = 64 << 10

// Frames is a run of equally long publish frames in one buffer. Only the
// varying parts (stamp, counters inside subject and reply) are rewritten
// before each use; everything else is built once.
type Frames struct {
	Max   int // number of frames in the buffer
	Size  int // bytes per frame
	buf   []byte
	pub   uint32
	body  int     // offset of the payload inside a frame
	subj  Counter // digits inside the subject
	reply Counter // digits inside the reply
}

// Counter is the place of a fixed-width decimal number inside a frame.
type Counter struct{ Off, Width int }

// Put writes v, zero-padded; digits that do not fit are cut.
func (c Counter) Put(frame []byte, v uint64) {
	d := frame[c.Off : c.Off+c.Width]
	for i := len(d) - 1; i >= 0; i-- {
		q := v / 10
		d[i] = byte('0' + v - q*10)
		v = q
	}
}

// NewFrames builds the frames. A run of '#' in subject or reply is replaced
// by a zero-padded number of that many digits. reply may be empty.
func NewFrames(subject, reply string, size int, pub uint32) *Frames {
	frame := AppendPub(nil, subject, reply, NewPayload(size))
	subj, repl := "PUB ", "PUB "+subject+" "
	f := &Frames{Size: len(frame), pub: pub, body: len(frame) - 2 - size}
	f.subj = findCounter(subject, len(subj))
	f.reply = findCounter(reply, len(repl))
	f.Max = max(1, ChunkBytes/len(frame))
	for i := 0; i < f.Max; i++ {
		f.buf = append(f.buf, frame...)
	}
	for i := 0; i < f.Max; i++ {
		f.Subject(i, 0)
		f.Reply(i, 0)
	}
	return f
}

func findCounter(s string, base int) Counter {
	i := strings.IndexByte(s, '#')
	if i < 0 {
		return Counter{}
	}
	return Counter{base + i, strings.Count(s, "#")}
}

// Stamp writes the sequence number into the payload of frame i, if it has one.
func (f *Frames) Stamp(i int, seq uint64) {
	if f.Size-f.body > MinPayload {
		StampPayload(f.buf[i*f.Size+f.body:], seq, f.pub)
	}
}

// Subject writes the number inside the subject of frame i.
func (f *Frames) Subject(i int, v uint64) { f.subj.Put(f.buf[i*f.Size:], v) }

// Reply writes the number inside the reply subject of frame i.
func (f *Frames) Reply(i int, v uint64) { f.reply.Put(f.buf[i*f.Size:], v) }

// Bytes returns the first n frames.
func (f *Frames) Bytes(n int) []byte { return f.buf[:n*f.Size] }

// AppendSub appends a SUB line; queue may be empty.
func AppendSub(b []byte, subject, queue string, sid uint64) []byte {
	b = append(b, "SUB "...)
	b = append(b, subject...)
	if queue != "" {
		b = append(b, ' ')
		b = append(b, queue...)
	}
	b = append(b, ' ')
	b = strconv.AppendUint(b, sid, 10)
	return append(b, crlf...)
}

// AppendPub appends a whole PUB frame; reply may be empty.
func AppendPub(b []byte, subject, reply string, payload []byte) []byte {
	b = append(b, "PUB "...)
	b = append(b, subject...)
	b = append(b, ' ')
	if reply != "" {
		b = append(b, reply...)
		b = append(b, ' ')
	}
	b = strconv.AppendInt(b, int64(len(payload)), 10)
	b = append(b, crlf...)
	b = append(b, payload...)
	return append(b, crlf...)
}
