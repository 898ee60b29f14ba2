package protocol

import "strconv"

// Frames that a server sends as they are.
var (
	FramePing = []byte("PING\r\n")
	FramePong = []byte("PONG\r\n")
	FrameOK   = []byte("+OK\r\n")
)

// AppendErr appends a -ERR frame.
func AppendErr(dst []byte, text string) []byte {
	dst = append(dst, "-ERR '"...)
	dst = append(dst, text...)
	return append(dst, "'\r\n"...)
}

// AppendTail appends what follows the sid of a MSG frame and its blank: reply, if not empty, size and payload.
func AppendTail(dst, reply, payload []byte) []byte {
	if len(reply) > 0 {
		dst = append(append(dst, reply...), ' ')
	}
	dst = strconv.AppendInt(dst, int64(len(payload)), 10)
	dst = append(append(dst, '\r', '\n'), payload...)
	return append(dst, '\r', '\n')
}

// AppendHeaderTail appends what follows the sid of an HMSG frame and its blank. header is a whole block.
func AppendHeaderTail(dst, reply, header, payload []byte) []byte {
	if len(reply) > 0 {
		dst = append(append(dst, reply...), ' ')
	}
	dst = append(strconv.AppendInt(dst, int64(len(header)), 10), ' ')
	dst = strconv.AppendInt(dst, int64(len(header)+len(payload)), 10)
	dst = append(append(append(dst, '\r', '\n'), header...), payload...)
	return append(dst, '\r', '\n')
}

// NoResponders is the header block of the answer to a request that nobody received.
func NoResponders(subject []byte) []byte {
	b := append(make([]byte, 0, 48+len(subject)), "NATS/1.0 503\r\nNats-Subject: "...)
	return append(append(b, subject...), "\r\n\r\n"...)
}
