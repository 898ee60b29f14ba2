package conn

import (
	"encoding/json"
	"math/rand/v2"
	"time"

	"godwit/protocol"
	"godwit/server/monitor"
)

const (
	firstPing = 2 * time.Second // after CONNECT, if the interval is not shorter
	rttOld    = time.Hour       // a round trip measured longer ago is measured again
)

// armPing starts the pings to the client, the first soon after CONNECT, to know the round trip.
func (c *Conn) armPing() {
	first := min(firstPing, c.pingInterval(c.settings))
	first += rand.N(first/5 + 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.closing {
		return
	}
	if c.mu.ping == nil {
		c.mu.ping = time.AfterFunc(first, c.pingDue)
	} else {
		c.mu.ping.Reset(first)
	}
}

// pingInterval is that of the connection's listener, else the server's.
func (c *Conn) pingInterval(s *Settings) time.Duration {
	if c.by != nil && c.by.Front.PingInterval > 0 {
		return c.by.Front.PingInterval
	}
	return s.PingInterval
}

// pingDue runs when it is time for a PING.
func (c *Conn) pingDue() {
	s := c.env.Settings.Load()
	now, interval := time.Now(), c.pingInterval(s)
	quiet := now.Sub(time.Unix(0, c.active.Load())) >= interval
	c.mu.Lock()
	if c.mu.closing {
		c.mu.Unlock()
		return
	}
	if !quiet && !c.mu.rttAt.IsZero() && now.Sub(c.mu.rttAt) < rttOld {
		c.mu.ping.Reset(interval)
		c.mu.Unlock()
		return
	}
	if now.UnixNano()-c.heldAt.Load() < int64(interval) { // its PONG may lie behind what a quota holds back
		c.mu.ping.Reset(interval)
		c.mu.Unlock()
		return
	}
	if c.mu.pings+1 > s.MaxPings {
		c.mu.Unlock()
		c.env.Registry.stale.Add(1)
		c.env.Log.Debugf("%v - Stale Client Connection - Closing", c)
		c.Close(monitor.ReasonStaleConnection, "Stale Connection")
		return
	}
	c.sendPingLocked(now)
	c.mu.ping.Reset(interval)
	c.mu.Unlock()
	c.write(protocol.FramePing)
}

func (c *Conn) sendPingLocked(now time.Time) {
	c.mu.pings++
	c.mu.pingAt = now
}

// MeasureRTT sends a PING if the client is one that answers and its round trip is not known yet. A client that waits for
// its first PONG takes nothing else for an answer.
func (c *Conn) MeasureRTT() {
	if !c.ponged.Load() && time.Since(c.start) < firstPing {
		return
	}
	c.mu.Lock()
	wanted := c.mu.info.opts.Lang != "" && c.mu.rttAt.IsZero() && c.mu.pingAt.IsZero() && !c.mu.closing
	if wanted {
		c.sendPingLocked(time.Now())
	}
	c.mu.Unlock()
	if wanted {
		c.write(protocol.FramePing)
	}
}

func (c *Conn) gotPong() {
	now := time.Now()
	c.mu.Lock()
	c.mu.pings = 0
	if !c.mu.pingAt.IsZero() {
		c.rtt.Store(int64(now.Sub(c.mu.pingAt)))
		c.mu.rttAt = now
	}
	c.mu.Unlock()
}

// info is what INFO says to this client. Any goroutine may call it.
func (c *Conn) info(payload int) protocol.Info {
	i := c.env.Info()
	i.ClientID, i.ClientIP, i.MaxPayload = c.id, c.host(), int32(payload)
	if c.proxied {
		i.ClientIP = ""
	}
	a := c.auth()
	i.AuthRequired = a.Required() && !a.HasNoAuthUser()
	if c.by != nil {
		c.by.Front.Info(&i)
	} else if t := c.env.TLS.Load(); t != nil {
		i.TLSRequired, i.TLSAvailable, i.TLSVerify = !t.Optional, t.Optional, t.Verify
	}
	return i
}

// sendInfo sends INFO from the reader goroutine: the first one, or with login the one that says who the client is.
func (c *Conn) sendInfo(login bool) {
	i := c.info(c.payloadLimit())
	i.Nonce = c.nonce
	if login {
		i.ConnectInfo = true
		if c.acc != nil {
			i.RemoteAccount = c.acc.Name()
			i.IsSystem = c.acc == c.env.Accounts.System()
		}
	}
	c.sender.Write(encodeInfo(&i))
	if !login {
		c.sender.Flush()
	}
}

func encodeInfo(i *protocol.Info) []byte {
	js, _ := json.Marshal(i) // strings, numbers and lists of strings cannot fail
	b := append(make([]byte, 0, len(js)+16), "INFO "...)
	return append(append(b, js...), " \r\n"...)
}

// Announce sends a new INFO to a client that understands it; change adapts it. Any goroutine may call it.
//
// It reports false if the client does not understand it, or not yet.
func (c *Conn) Announce(change func(*protocol.Info)) bool {
	c.mu.Lock()
	ready := c.mu.info.opts.Protocol >= 1 && !c.mu.closing && c.mu.acc != nil
	acc := c.mu.acc
	c.mu.Unlock()
	if !ready {
		return false
	}
	payload := c.env.Settings.Load().MaxPayload
	if l := int(acc.Limits().MaxPayload); l >= 0 {
		payload = min(payload, l)
	}
	i := c.info(payload)
	change(&i)
	c.write(encodeInfo(&i))
	return true
}
