package router

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nuid"
)

// measure is one measured request. It is used by one goroutine after the other.
type measure struct {
	latency   *Latency
	from      Origin // of the requester
	requestor json.RawMessage
	rtt       time.Duration // of the requester
	header    map[string][]string
	arrived   time.Time

	responder *OriginInfo // nil before the response, or if the server itself responded
	waited    time.Duration
	back      time.Duration // the responder's round-trip time
	system    time.Duration
	done      time.Time
}

// latencyStatus is what became of a measured request.
type latencyStatus struct {
	code        int
	description string
}

var (
	statusOK             = latencyStatus{200, ""}
	statusBadRequest     = latencyStatus{400, "Bad Request"}
	statusRequestTimeout = latencyStatus{408, "Request Timeout"}
	statusUnavailable    = latencyStatus{503, "Service Unavailable"}
	statusServiceTimeout = latencyStatus{504, "Service Timeout"}
)

// measureFor returns the measure of a request if it is to be measured; nil if not. chance gives random numbers below its
// argument. header and info are lent.
func measureFor(l *ServiceLink, from Origin, header, info []byte, chance func(int) int) *measure {
	if l.Latency == nil {
		return nil
	}
	m := &measure{latency: l.Latency, from: from, requestor: bytes.Clone(info), rtt: rttOf(from), arrived: time.Now()}
	if p := l.Latency.Sampling; p >= 100 || p > 0 && chance(100) < p {
		return m
	}
	var traced bool
	if m.header, traced = tracing(header); !traced {
		return nil
	}
	return m
}

// answered notes the response of from, which began to be delivered at the time given.
func (m *measure) answered(from Origin, began time.Time) {
	m.done = time.Now()
	m.waited, m.system = began.Sub(m.arrived), m.done.Sub(began)
	if from != nil {
		info := *from.OriginInfo()
		m.back = rttOf(from)
		info.RTT = m.back
		m.responder = &info
	}
}

// metric is a measurement as it is published.
type metric struct {
	Type        string              `json:"type"`
	ID          string              `json:"id"`
	Time        time.Time           `json:"timestamp"`
	Status      int                 `json:"status"`
	Description string              `json:"description,omitempty"`
	Requestor   json.RawMessage     `json:"requestor,omitempty"`
	Responder   *OriginInfo         `json:"responder,omitempty"`
	Header      map[string][]string `json:"header,omitempty"`
	Start       time.Time           `json:"start"`
	Service     time.Duration       `json:"service"`
	System      time.Duration       `json:"system"`
	Total       time.Duration       `json:"total"`
}

func (m *measure) encode(st latencyStatus) []byte {
	out := metric{Type: "io.nats.server.metric.v1.service_latency", ID: nuid.Next(), Time: time.Now().UTC(), Status: st.code,
		Description: st.description, Requestor: m.requestor, Responder: m.responder, Header: m.header,
		Start: m.arrived.Add(-m.rtt).UTC()}
	if st == statusOK {
		out.Time = m.done.UTC()
		out.Service = max(m.waited-m.back, 0)
		out.System = m.system
		out.Total = m.rtt + m.back + out.Service + out.System
	}
	js, _ := json.Marshal(&out) // plain values cannot fail
	return js
}

// report publishes a measurement in the exporting account, along with what the sender has gathered.
func (s *Sender) report(x *Index, m *measure, st latencyStatus) {
	if s.hops < maxHops {
		s.hops++
		s.publishAt(x, m.latency.Subject, m.encode(st))
		s.hops--
	}
}

// report publishes measurements of requests that got no response.
func report(x *Index, list []*expected, st latencyStatus) {
	if len(list) == 0 {
		return
	}
	s := NewSender(x)
	s.Seed(rand.Uint64() | 1)
	for _, e := range list {
		s.report(x, e.measure, st)
	}
	s.Flush()
	s.Close()
}

// tracing returns the headers of a block that belong to a trace, of the first kind of trace that it has, and whether
// they say that the request is sampled.
func tracing(block []byte) (headers map[string][]string, sampled bool) {
	fields := make(map[string]string) // by name in lower case
	for line := range bytes.SplitSeq(block, headerEnd) {
		if key, value, ok := strings.Cut(string(line), ":"); ok {
			fields[strings.ToLower(key)] = strings.TrimSpace(value)
		}
	}
	has := func(name string) bool { _, ok := fields[name]; return ok }
	var prefixes []string
	switch {
	case has("uber-trace-id"):
		v := fields["uber-trace-id"]
		sampled = odd(v[strings.LastIndexByte(v, ':')+1:])
		prefixes = []string{"uber-trace-id", "uberctx-"}
	case has("x-b3-sampled"), has("x-b3-traceid"):
		flag, set := fields["x-b3-sampled"]
		sampled = flag == "1" || !set && fields["x-b3-traceid"] != ""
		prefixes = []string{"x-b3-"}
	case has("b3"):
		parts := strings.Split(fields["b3"], "-")
		sampled = parts[min(2, len(parts)-1)] != "0"
		prefixes = []string{"b3"}
	case has("traceparent"):
		v := fields["traceparent"]
		sampled = strings.Count(v, "-") == 3 && odd(v)
		prefixes = []string{"traceparent", "tracestate"}
	}
	if !sampled {
		return nil, false
	}
	headers = make(map[string][]string)
	for name, value := range fields {
		if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
			headers[textproto.CanonicalMIMEHeaderKey(name)] = []string{value}
		}
	}
	return headers, true
}

// odd reports whether the last bit of hexadecimal flags is set.
func odd(flags string) bool {
	return flags != "" && strings.ContainsRune("13579bdfBDF", rune(flags[len(flags)-1]))
}
