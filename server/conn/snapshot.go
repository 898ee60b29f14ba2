package conn

import (
	"time"

	"godwit/server/account"
	"godwit/server/auth"
	"godwit/server/monitor"
)

// Snapshot describes the connection for monitoring, without its list of subscriptions.
func (c *Conn) Snapshot() monitor.Conn {
	outMsgs, outBytes := c.out.counts()
	m := monitor.Conn{CID: c.id, Kind: monitor.KindClient, Type: c.clientType(), IP: c.host(), Port: c.port(), Start: c.start,
		LastActivity: time.Unix(0, c.active.Load()), RTT: time.Duration(c.rtt.Load()), Pending: c.out.queuedBytes(),
		InMsgs: int64(c.seen.inMsgs.Load()), InBytes: int64(c.seen.inBytes.Load()),
		OutMsgs: int64(outMsgs), OutBytes: int64(outBytes), Stalls: c.stalls.Load(), Throttled: time.Duration(c.held.Load()),
		Refused: c.turnedAway.Load(), NumSubs: uint32(c.NumSubs())}
	c.mu.Lock()
	info, acc := c.mu.info, c.mu.acc
	if c.mu.closing {
		m.Reason, m.Stop = c.mu.reason, time.Now()
	}
	c.mu.Unlock()
	m.Name, m.Lang, m.Version = info.opts.Name, info.opts.Lang, info.opts.Version
	m.TLS, m.TLSFirst = info.tls, info.tlsInit
	m.User = info.opts.User // of a login that failed
	if info.ident != nil {
		m.User = info.ident.Name
	} else if acc != nil {
		m.User = ""
	}
	m.Account = account.GlobalName
	if acc != nil {
		m.Account = acc.Name()
	} else if info.refused != "" {
		m.Account = info.refused
	}
	m.NameTag = m.Account
	if id := info.ident; id != nil {
		m.JWT, m.IssuerKey, m.Tags = id.JWT, id.IssuerKey, id.Tags
		if id.NameTag != "" {
			m.NameTag = id.NameTag
		}
	}
	return m
}

// Traffic returns what the connection has counted so far.
func (c *Conn) Traffic() (inMsgs, inBytes, outMsgs, outBytes int64) {
	out, outB := c.out.counts()
	return int64(c.seen.inMsgs.Load()), int64(c.seen.inBytes.Load()), int64(out), int64(outB)
}

// Account is the client's account; nil if it has not logged in.
func (c *Conn) Account() *account.Account {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.acc
}

// Identity is who the client has logged in as; nil if it needed no login.
func (c *Conn) Identity() *auth.Identity {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.info.ident
}

// Rights returns what the client may do, nil for everything, and when its login ends, zero for never.
func (c *Conn) Rights() (*auth.Permissions, time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var expires time.Time
	if c.mu.info.ident != nil {
		expires = c.mu.info.ident.Expires
	}
	return c.perms.Load(), expires
}
