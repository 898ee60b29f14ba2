package router

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"
)

// infoHeader tells a service who asks.
const infoHeader = "Nats-Request-Info"

// timed is an Origin that knows its round-trip time.
type timed interface{ RTT() time.Duration }

func rttOf(o Origin) time.Duration {
	if t, ok := o.(timed); ok {
		return t.RTT()
	}
	return 0
}

// appendRequestInfo appends the JSON that describes the requester to the exporter of a service: only its account, unless
// the import shares more.
func appendRequestInfo(b []byte, from Origin, l *ServiceLink, c *crossing) []byte {
	rtt := rttOf(from)
	service := ""
	if l.Importer != c.from {
		service = l.Importer
	}
	if c.shared && from != nil {
		info := *from.OriginInfo()
		info.Account, info.Service, info.RTT = c.from, service, rtt
		js, _ := json.Marshal(&info) // plain values cannot fail
		return append(b, js...)
	}
	b = appendString(append(b, `{"acc":`...), c.from)
	if service != "" {
		b = appendString(append(b, `,"svc":`...), service)
	}
	if rtt > 0 {
		b = strconv.AppendInt(append(b, `,"rtt":`...), int64(rtt), 10)
	}
	return append(b, '}')
}

// appendString appends s as JSON.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if ch := s[i]; ch < ' ' || ch > '~' || ch == '"' || ch == '\\' || ch == '<' || ch == '>' || ch == '&' {
			js, _ := json.Marshal(s)
			return append(b, js...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

var (
	headerStart = []byte("NATS/1.0\r\n")
	headerEnd   = []byte("\r\n")
)

// appendHeader appends a header block with info as its last header. A block that is none is replaced.
func appendHeader(b, header, info []byte) []byte {
	if bytes.HasPrefix(header, headerStart[:len(headerStart)-2]) && bytes.HasSuffix(header, []byte("\r\n\r\n")) {
		b = append(b, header[:len(header)-2]...)
	} else {
		b = append(b, headerStart...)
	}
	b = append(append(b, infoHeader...), ": "...)
	return append(append(append(b, info...), headerEnd...), headerEnd...)
}

// withoutInfo returns a header block without what a client has put there in the place of the server's own description.
// The result is the block itself if there is nothing of that kind.
func withoutInfo(header []byte) []byte {
	var out []byte
	kept := 0 // bytes of header that are in out, or passed over
	for at := 0; ; {
		i := bytes.Index(header[at:], headerEnd)
		if i < 0 {
			break
		}
		line := at + i + 2
		at = line
		name, _, ok := bytes.Cut(header[line:], []byte{':'})
		if !ok || !bytes.EqualFold(bytes.TrimSpace(name), []byte(infoHeader)) {
			continue
		}
		end := bytes.Index(header[line:], headerEnd)
		if end < 0 {
			end = len(header) - line - 2
		}
		out = append(out, header[kept:line]...)
		kept = line + end + 2
		at = kept - 2
	}
	if kept == 0 {
		return header
	}
	return append(out, header[kept:]...)
}

// stranger is the publisher of a message that crossed into another account, as receivers there see it.
type stranger struct {
	self Origin
	link *ServiceLink
	via  crossing
}

// OriginInfo implements Origin.
func (o *stranger) OriginInfo() *OriginInfo {
	own := o.self.OriginInfo()
	info := &OriginInfo{Server: own.Server}
	if o.via.shared {
		*info = *own
	}
	info.Account, info.Service, info.RTT = o.via.from, o.link.Exporter, rttOf(o.self)
	return info
}

// unnamed is a publisher of which nothing is told. Each sender has its own, as each is somebody else.
type unnamed struct{ _ byte }

// OriginInfo implements Origin.
func (*unnamed) OriginInfo() *OriginInfo { return &OriginInfo{} }

// originFor returns how receivers in the exporting account see the sender. It is the same each time.
func (s *Sender) originFor(l *ServiceLink, c *crossing) Origin {
	key := strangerKey{l, c.from, c.shared}
	o := s.strangers[key]
	if o == nil {
		if s.strangers == nil || len(s.strangers) >= maxWays {
			s.strangers = make(map[strangerKey]*stranger)
		}
		o = &stranger{self: s.from, link: l, via: crossing{from: c.from, shared: c.shared}}
		s.strangers[key] = o
	}
	return o
}

type strangerKey struct {
	link   *ServiceLink
	from   string
	shared bool
}
