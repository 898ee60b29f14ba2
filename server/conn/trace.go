package conn

import (
	"bytes"
	"encoding/json"
	"strconv"

	"godwit/protocol"
)

// traceIn logs a control line that the client sent.
func (c *Conn) traceIn(verb string, args []byte) {
	if !c.settings.Trace {
		return
	}
	if len(args) > 0 {
		c.env.Log.Tracef("%v - <<- [%s %s]", c, verb, args)
		return
	}
	c.env.Log.Tracef("%v - <<- [%s]", c, verb)
}

// traceConnect logs a CONNECT without its secrets.
func (c *Conn) traceConnect(o *protocol.Connect) {
	if !c.settings.Trace {
		return
	}
	shown := *o
	for _, secret := range []*string{&shown.Pass, &shown.Token, &shown.Sig, &shown.JWT, &shown.ProxySig} {
		if *secret != "" {
			*secret = "[REDACTED]"
		}
	}
	js, _ := json.Marshal(&shown) // plain strings cannot fail
	c.traceIn("CONNECT", js)
}

func (c *Conn) tracePub(p *protocol.Pub) {
	verb := "PUB"
	if p.HPUB {
		verb = "HPUB"
	}
	sizes, _, _ := bytes.Cut(p.Tail, []byte("\r\n"))
	c.traceIn(verb, joinArgs(p.Subject, nil, sizes))
	c.traceBody("<<-", p.Body, p.HeaderLen)
}

// traceBody logs the part of a message body that traces show, if there is any.
func (c *Conn) traceBody(way string, body []byte, headerLen int) {
	st := c.env.Settings.Load()
	if st.TraceHeaders {
		if headerLen == 0 {
			return
		}
		body = bytes.TrimSuffix(body[:headerLen], []byte("\r\n\r\n"))
	}
	if limit := st.TraceMax; limit > 0 && len(body) > limit {
		body = append(bytes.Clone(body[:limit]), "..."...)
	}
	c.env.Log.Tracef("%v - %s MSG_PAYLOAD: [%q]", c, way, body)
}

// traceOut logs frames on their way to the client. They are whole and well-formed.
func (c *Conn) traceOut(frames []byte) {
	for len(frames) > 0 {
		line, rest, _ := bytes.Cut(frames, []byte("\r\n"))
		c.env.Log.Tracef("%v - ->> [%s]", c, bytes.TrimRight(line, " "))
		if headers := bytes.HasPrefix(line, []byte("HMSG ")); headers || bytes.HasPrefix(line, []byte("MSG ")) {
			fields, headerLen := bytes.Fields(line), 0
			size, err := strconv.Atoi(string(fields[len(fields)-1]))
			if headers && err == nil {
				headerLen, err = strconv.Atoi(string(fields[len(fields)-2]))
			}
			if err != nil || size+2 > len(rest) || headerLen > size {
				return
			}
			c.traceBody("->>", rest[:size], headerLen)
			rest = rest[size+2:]
		}
		frames = rest
	}
}

// joinArgs joins what is not empty with blanks.
func joinArgs(args ...[]byte) []byte {
	var b []byte
	for _, a := range args {
		if len(a) == 0 {
			continue
		}
		if len(b) > 0 {
			b = append(b, ' ')
		}
		b = append(b, a...)
	}
	return b
}
