package conn

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"godwit/protocol"
	"godwit/protocol/jsapi"
	"godwit/server/monitor"
	"godwit/server/quota"
)

// readQuota is the largest read buffer of a connection with a quota: it may hold it for long.
const readQuota = 32 << 10

var (
	// unrefused are subjects without which consumers stand still, so that refusing them would make more traffic.
	unrefused = [][]byte{[]byte("$JS.ACK."), []byte("$JS.FC.")}

	errClosing = &fatal{monitor.ReasonClientClosed, ""}
)

// RetryHeader says in the answer to a refused message after which time the next one has a chance.
const RetryHeader = "Godwit-Retry-After"

// setQuota finds the buckets that the connection draws on.
func (c *Conn) setQuota() {
	old := c.meter
	user := ""
	if c.ident != nil {
		user = c.ident.Name
	}
	if c.meter = c.acc.Quota().Join(user); c.meter != nil {
		c.meter.Open(time.Now())
		c.mode |= modeQuota
	} else {
		c.mode &^= modeQuota
	}
	if old != nil {
		old.Pay()
		old.Leave()
	}
}

// meterPub asks the quotas for a message, and waits where they are used up. It reports false if the message is refused, of which
// the client is told. An error ends the connection.
func (c *Conn) meterPub(p *protocol.Pub) (bool, error) {
	m, request := c.meter, false
	if len(p.Subject) > 0 && p.Subject[0] == '$' {
		if hasPrefix(p.Subject, unrefused) {
			m.Count(len(p.Body), false)
			return true, nil
		}
		request = isRequest(p.Subject)
	}
	v := m.Take(len(p.Body), request)
	if v == quota.Later {
		if wait := m.Pay(); wait > 0 {
			c.count()
			c.handOver()
			if c.hold(wait); c.Gone.Load() {
				return false, errClosing
			}
			c.sender.Begin()
		}
		m.Begin(time.Now())
		v = m.Take(len(p.Body), request)
	}
	if v == quota.Admitted {
		return true, nil
	}
	c.overQuota(p, request)
	return false, nil
}

// isRequest reports whether a subject is one of the JetStream API: $JS.API.> or $JS.<domain>.API.>.
func isRequest(subject []byte) bool {
	rest, ok := bytes.CutPrefix(subject, []byte("$JS."))
	if !ok {
		return false
	}
	if bytes.HasPrefix(rest, []byte("API.")) {
		return true
	}
	_, rest, _ = bytes.Cut(rest, []byte("."))
	return bytes.HasPrefix(rest, []byte("API."))
}

// hold keeps the reader from reading for a while; Close ends it. What was read before is handed over.
func (c *Conn) hold(d time.Duration) {
	c.in.size, c.in.small = readLeast, 0
	quit := c.quitting()
	if quit == nil {
		return
	}
	start := time.Now()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-quit:
	}
	now := time.Now()
	c.active.Store(now.UnixNano())
	c.heldAt.Store(now.UnixNano())
	c.held.Add(int64(now.Sub(start)))
	c.meter.Waited(now.Sub(start))
}

// quitting returns what is closed when the connection is being closed, nil if it is already.
func (c *Conn) quitting() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.closing {
		return nil
	}
	if c.mu.quit == nil {
		c.mu.quit = make(chan struct{})
	}
	return c.mu.quit
}

// overflow gathers the refused messages of one read buffer that get no answer of their own.
type overflow struct {
	subject string // of the first
	why     quota.Excess
	msgs    int
}

// overQuota refuses a message.
func (c *Conn) overQuota(p *protocol.Pub, request bool) {
	c.sender.Skip()
	c.meter.Refuse(len(p.Body), request)
	c.turnedAway.Add(1)
	why := c.meter.Excess()
	answered := len(p.Reply) > 0 && c.answerExcess(p, request, why)
	switch {
	case c.mode&modeVerbose != 0: // it waits for a word on each
		c.soft(excessText(string(p.Subject), why, 1))
	case answered:
	case c.over == nil:
		c.over = &overflow{string(p.Subject), why, 1}
	default:
		c.over.msgs++
	}
}

// tellOverflow tells the client of messages refused without an answer.
func (c *Conn) tellOverflow() {
	if o := c.over; o != nil {
		c.over = nil
		c.soft(excessText(o.subject, o.why, o.msgs))
	}
}

// excessText is what a client is told of refused messages. It begins with words after which clients stay connected, and
// name the subject to whoever asked.
func excessText(subject string, why quota.Excess, msgs int) string {
	return fmt.Sprintf("Permissions Violation for Publish to %q: %s (%d), %d refused", subject, excessError(why).Description, excessCode(why), msgs)
}

func excessCode(why quota.Excess) jsapi.Code {
	if why.Kind == quota.Requests {
		return jsapi.ErrRequestQuota
	}
	return jsapi.ErrPublishQuota
}

func excessError(why quota.Excess) *jsapi.Error {
	owner := "account"
	if why.User {
		owner = "user"
	}
	return jsapi.Err(excessCode(why), "err", fmt.Sprintf("%v of the %s, try again in %v", why.Kind, owner, retryAfter(why)))
}

func retryAfter(why quota.Excess) time.Duration { return why.After.Round(time.Millisecond) }

// answerExcess answers a refused request where its client listens for the answer; it reports false if it does not.
func (c *Conn) answerExcess(p *protocol.Pub, request bool, why quota.Excess) bool {
	s := c.acc.Index().SubscribedBy(&c.Dest, p.Reply)
	if s == nil {
		return false
	}
	header := fmt.Appendf(nil, "NATS/1.0 429 Too Many Requests\r\n%s: %v\r\n\r\n", RetryHeader, retryAfter(why))
	var body []byte
	err := excessError(why)
	if request && c.env.RefusedRequest != nil {
		body = c.env.RefusedRequest(p.Subject, err)
	} else {
		body, _ = json.Marshal(struct { // strings and numbers cannot fail
			Error *jsapi.Error `json:"error"`
		}{err})
	}
	c.sender.Direct(s, &protocol.Pub{Subject: p.Reply, Tail: protocol.AppendHeaderTail(nil, nil, header, body),
		Body: append(header, body...), HeaderLen: len(header), HPUB: true})
	return true
}
