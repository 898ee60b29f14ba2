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
	c.env.Log.Tracef("%v - <<- MSG_PAYLOAD: [%q]", c, c.shown(p.Body, p.HeaderLen))
}

// shown is the part of a message body that traces show.
func (c *Conn) shown(body []byte, headerLen int) []byte {
	if c.settings.TraceHeaders {
		body = body[:headerLen]
	}
	if limit := c.settings.TraceMax; limit > 0 && len(body) > limit {
		return append(bytes.Clone(body[:limit]), "..."...)
	}
	return body
}

// traceOut logs the control lines of frames on their way to the client. They are whole and well-formed.
func (c *Conn) traceOut(frames []byte) {
	for len(frames) > 0 {
		line, rest, _ := bytes.Cut(frames, []byte("\r\n"))
		if bytes.HasPrefix(line, []byte("MSG ")) || bytes.HasPrefix(line, []byte("HMSG ")) {
			size, err := strconv.Atoi(string(line[bytes.LastIndexByte(line, ' ')+1:]))
			if err != nil || size+2 > len(rest) {
				return
			}
			rest = rest[size+2:]
		}
		c.env.Log.Tracef("%v - ->> [%s]", c, bytes.TrimRight(line, " "))
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
