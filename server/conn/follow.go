package conn

import (
	"bytes"
	"math/rand/v2"
	"strconv"
	"strings"

	"godwit/protocol"
	"godwit/protocol/subject"
	"godwit/server/router"
)

const (
	// followLeast is the length of the shortest header block that asks for a trace, in bytes.
	followLeast = len(followFirst + "\r\n" + router.TraceHeader + ":x\r\n\r\n")
	followFirst = "NATS/1.0"
	followFrom  = len(followFirst)
)

var (
	// traceName is the end of router.TraceHeader. It begins with a letter that headers seldom have, and is found faster than the
	// whole of it.
	traceName         = []byte("Trace-Dest:")
	traceOnlyHeader   = []byte(router.TraceOnlyHeader)
	traceOriginHeader = []byte("Nats-Trace-Origin-Account")
	traceParentHeader = []byte("traceparent")
)

// publishFollowed publishes a message whose headers ask for a trace of its way, and reports false if they do not.
func (c *Conn) publishFollowed(p *protocol.Pub) bool {
	if c.env.Follow == nil || c.acc == nil {
		return false
	}
	header := p.Header()
	m := c.acc.Trace()
	if m == nil && !bytes.Contains(header[followFrom:], traceName) {
		return false
	}
	dest, only := router.TraceDest(header), false
	switch {
	case len(dest) == 0:
		if m == nil || !sampled(header) || rand.IntN(100) >= m.Sampling {
			return false
		}
		dest = []byte(m.Dest)
	case router.TraceEnded(dest):
		return false
	default:
		if value := headerOf(header, traceOriginHeader, false); len(value) > 0 {
			c.env.Log.Errorf("%v - Message tracing disabled because of header %q with value=%q", c, traceOriginHeader, value)
			return false
		}
		only = isOn(headerOf(header, traceOnlyHeader, false))
		if !subject.ValidLiteral(string(dest)) {
			c.env.Log.Errorf("%v - Destination %q is not valid, won't be able to trace events", c, dest)
			if only {
				c.sender.Skip()
			}
			return only
		}
		if r := (rights{c}); !r.CanPublish(dest) && !r.CanReply(dest) {
			c.sender.Skip()
			c.violated(mayNotPublish(dest))
			return true
		}
	}
	c.follow(p, dest, only)
	return true
}

// follow publishes a message and tells on dest where it goes.
func (c *Conn) follow(p *protocol.Pub, dest []byte, only bool) {
	refusal, why := c.refusal(p), ""
	if refusal != nil {
		why = refusal.told
	}
	acc := c.acc
	t := router.NewTrace(router.TraceIn{CID: c.id, Name: c.opts.Name, Account: acc.Name(), Subject: string(p.Subject), Error: why},
		func(t *router.Trace, events []any) { c.env.Follow(acc, t, events) })
	t.Dest, t.Only, t.Header, t.Size, t.Block = bytes.Clone(dest), only, headers(p.Header()), len(p.Body), bytes.Clone(p.Header())
	if refusal != nil {
		c.violated(refusal)
	} else {
		c.ok()
		if c.sender.DeliverTraced(p, t) == router.Undelivered && len(p.Reply) > 0 && c.opts.NoResponders {
			c.noResponders(p)
		}
	}
	c.followed = append(c.followed, t)
}

// sampled reports whether a header block has a W3C trace context that asks for a trace.
func sampled(header []byte) bool {
	parts := bytes.Split(headerOf(header, traceParentHeader, true), []byte("-"))
	if len(parts) != 4 || len(parts[3]) != 2 {
		return false
	}
	flags, err := strconv.ParseUint(string(parts[3]), 16, 8)
	return err == nil && flags&1 != 0
}

func isOn(value []byte) bool {
	switch strings.ToLower(string(value)) {
	case "1", "true", "on":
		return true
	}
	return false
}

// headerOf returns the first value of a header, in any case with fold. The result is part of the block.
func headerOf(block, name []byte, fold bool) (value []byte) {
	eachHeader(block, func(key, v []byte) bool {
		if bytes.Equal(key, name) || fold && bytes.EqualFold(key, name) {
			value = v
			return false
		}
		return true
	})
	return value
}

// headers returns what is in a header block, but empty values.
func headers(block []byte) map[string][]string {
	all := map[string][]string{}
	eachHeader(block, func(key, value []byte) bool {
		if len(value) > 0 {
			all[string(key)] = append(all[string(key)], string(value))
		}
		return true
	})
	return all
}

// eachHeader calls f with the headers of a block until it returns false.
func eachHeader(block []byte, f func(key, value []byte) bool) {
	_, rest, _ := bytes.Cut(block, []byte("\r\n"))
	for len(rest) > 0 {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\r\n"))
		key, value, ok := bytes.Cut(line, []byte{':'})
		if ok && !f(key, bytes.TrimSpace(value)) {
			return
		}
	}
}
