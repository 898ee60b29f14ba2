package conn

import (
	"bytes"
	"fmt"

	"godwit/protocol"
	"godwit/protocol/subject"
	"godwit/server/account"
	"godwit/server/monitor"
	"godwit/server/router"
)

// Publish implements protocol.Handler.
func (h *handler) Publish(p *protocol.Pub) error {
	c := (*Conn)(h)
	c.inMsgs++
	c.inBytes += uint64(len(p.Body))
	if c.mode != 0 {
		return c.publishSpecial(p)
	}
	c.publish(p)
	return nil
}

// publish routes a message.
func (c *Conn) publish(p *protocol.Pub) {
	if p.HeaderLen >= followLeast && c.publishFollowed(p) {
		return
	}
	if c.may(p) {
		c.deliver(p)
	}
}

// may reports whether p may be published, and tells the client if not. Deliver follows if so.
func (c *Conn) may(p *protocol.Pub) bool {
	v := c.refusal(p)
	if v != nil {
		c.violated(v)
	}
	return v == nil
}

// refusal says why p may not be published, nil if it may. Deliver follows if so.
func (c *Conn) refusal(p *protocol.Pub) *violation {
	if len(p.Reply) > 0 && reservedReply(p.Reply) {
		c.sender.Skip()
		return &violation{fmt.Sprintf("Permissions Violation for Publish with Reply of %q", p.Reply), fmt.Sprintf("Publish Violation - Reply %q", p.Reply)}
	}
	if !c.sender.May(p) {
		return mayNotPublish(c.sender.Routed(p))
	}
	return nil
}

func mayNotPublish(subj []byte) *violation {
	return &violation{fmt.Sprintf("Permissions Violation for Publish to %q", subj), fmt.Sprintf("Publish Violation - Subject %q", subj)}
}

func (c *Conn) deliver(p *protocol.Pub) {
	if c.sender.Deliver(p) == router.Undelivered && len(p.Reply) > 0 && c.opts.NoResponders {
		c.noResponders(p)
	}
}

// publishSpecial is publish for connections that want more than routing.
func (c *Conn) publishSpecial(p *protocol.Pub) error {
	if c.mode&modeTrace != 0 {
		c.tracePub(p)
	}
	if p.HPUB && c.mode&modeNoHeaders != 0 {
		return &fatal{monitor.ReasonMsgHeaderViolation, ""}
	}
	if c.mode&modeQuota != 0 {
		if ok, err := c.meterPub(p); !ok {
			return err
		}
	}
	if c.mode&modePedantic != 0 && !subject.ValidLiteral(string(p.Subject)) {
		c.soft("Invalid Publish Subject")
	}
	if p.HeaderLen >= followLeast && c.publishFollowed(p) {
		return nil
	}
	if c.may(p) {
		c.ok() // before the message, should the client get it itself
		c.deliver(p)
	}
	return nil
}

var (
	reservedReplies = [][]byte{[]byte("_R_."), []byte("$JS.ACK."), []byte("_GR_."), []byte("$GR.")}
	reservedSubject = [][]byte{[]byte("_GR_."), []byte("$GR.")}
	raftSubject     = []byte("$NRG.")
)

// reservedReply reports whether clients must not use reply: the server makes such subjects itself.
func reservedReply(reply []byte) bool {
	return (reply[0] == '_' || reply[0] == '$') && hasPrefix(reply, reservedReplies)
}

func hasPrefix(b []byte, prefixes [][]byte) bool {
	for _, p := range prefixes {
		if bytes.HasPrefix(b, p) {
			return true
		}
	}
	return false
}

// noResponders answers a request that nobody received, if the client listens for the reply.
func (c *Conn) noResponders(p *protocol.Pub) {
	s := c.acc.Index().SubscribedBy(&c.Dest, p.Reply)
	if s == nil {
		return
	}
	header := protocol.NoResponders(c.sender.Routed(p))
	c.sender.Direct(s, &protocol.Pub{Subject: p.Reply, Tail: protocol.AppendHeaderTail(nil, nil, header, nil),
		Body: header, HeaderLen: len(header), HPUB: true})
}

// rights is what the client may publish, as its sender asks for it.
type rights struct{ c *Conn }

// CanPublish implements router.Rights.
func (r rights) CanPublish(subj []byte) bool {
	if len(subj) > 0 && (subj[0] == '$' || subj[0] == '_') {
		if hasPrefix(subj, reservedSubject) {
			return false
		}
		if bytes.HasPrefix(subj, raftSubject) && (r.c.acc == nil || r.c.acc.Name() != account.SystemName) {
			return false
		}
	}
	perms := r.c.perms.Load()
	return perms == nil || perms.CanPublish(subj)
}

// CanReply implements router.Rights.
func (r rights) CanReply(subj []byte) bool {
	t := r.c.replies.Load()
	return t != nil && !hasPrefix(subj, reservedSubject) && t.Allow(subj)
}

// Denies implements router.Sink.
func (c *Conn) Denies(subj []byte, queue string) bool {
	perms := c.perms.Load()
	return perms != nil && perms.DeniesQueueDelivery(subj, queue)
}

// Replies implements router.Sink.
func (c *Conn) Replies(reply []byte) {
	if t := c.replies.Load(); t != nil {
		if perms := c.perms.Load(); perms == nil || !perms.CanPublish(reply) {
			t.Track(reply)
		}
	}
}
