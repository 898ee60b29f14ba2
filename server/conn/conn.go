package conn

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"godwit/protocol"
	"godwit/server/account"
	"godwit/server/auth"
	"godwit/server/monitor"
	"godwit/server/quota"
	"godwit/server/router"
)

// Conn is one client. Its reader goroutine owns everything down to mu and is the only one that parses, matches and
// gathers; what follows is shared, with its own rules.
//
// An idle connection holds no buffer: a read buffer is taken when the socket has something, and given back, with spare
// chunks, before waiting again.
type Conn struct {
	router.Dest
	env     *Env
	id      uint64
	nc      net.Conn // the accepted connection; out.nc is what is written to
	in      input
	by      *Arrival // nil for connections of the client port
	head    *sniffed // the first bytes were looked at before the protocol began; nil otherwise
	tls     *tls.ConnectionState
	peer    atomic.Pointer[netip.AddrPort] // of the client, as a proxy says where one does; nil for connections from inside the process
	kind    auth.ConnectionType
	proxied bool // a proxy has yet to say for whom the connection is

	sender   router.Sender
	parser   protocol.Parser
	opts     protocol.Connect
	mode     mode
	nonce    string
	acc      *account.Account                  // nil until logged in
	ident    *auth.Identity                    // nil until logged in with credentials
	perms    atomic.Pointer[auth.Permissions]  // written by the reader; nil has all rights
	replies  atomic.Pointer[auth.ReplyTracker] // nil unless permissions allow responses
	asked    bool                              // the client has sent CONNECT
	greeted  bool                              // the INFO after the first PING has been sent
	pinged   bool                              // the client has sent PING
	inMsgs   uint64
	inBytes  uint64
	settings *Settings
	meter    *quota.Meter    // of the quotas that bound the client; nil if none does
	over     *overflow       // messages that they refuse; nil for none
	followed []*router.Trace // of messages that are gathered and not handed over yet

	start  time.Time
	active atomic.Int64 // ns since 1970 of the last bytes read or PING sent to us
	seen   struct{ inMsgs, inBytes atomic.Uint64 }
	stalls atomic.Int64
	// What quotas did: ns that the reader was held back, when the last time, and how many messages were refused.
	held, heldAt, turnedAway atomic.Int64
	ponged                   atomic.Bool  // the answer to the client's first PING is out
	rtt                      atomic.Int64 // ns; 0 if not measured
	out                      outbound

	// mu ranks before router.Index.mu and outbound.mu.
	mu struct {
		sync.Mutex
		subs    map[uint64]*router.Sub
		named   map[string]*router.Sub // by sids that are no numbers
		acc     *account.Account
		login   *auth.Request      // with which the client logged in; nil if none was needed
		info    *about             // what others may know of the client; immutable
		origin  *router.OriginInfo // made of info when first asked for
		ping    *time.Timer
		auth    *time.Timer
		expiry  *time.Timer
		pings   int       // unanswered
		pingAt  time.Time // of the last PING sent
		rttAt   time.Time // of the last measurement
		reason  monitor.Reason
		closing bool
		subsEnd bool          // the connection is being cleaned up: no subscription is added any more
		quit    chan struct{} // closed with closing; nil unless the reader has waited for it
	}
	done chan struct{} // closed when the reader goroutine has cleaned up
}

// mode is what makes publishing need more than routing.
type mode uint8

const (
	modeVerbose mode = 1 << iota
	modePedantic
	modeNoHeaders // the client has not asked for headers
	modeTrace
	modeQuota // the client's publishes are metered
)

// about describes the client to monitoring and to receivers.
type about struct {
	opts    protocol.Connect
	ident   *auth.Identity
	refused string // the account that had no room for the client; empty for most
	tls     *monitor.TLSInfo
	tlsInit bool // the handshake came before INFO
	asked   bool // it has sent CONNECT
}

// New makes a connection of nc, which it owns from now on. Serve runs it. by is nil for connections of the client port.
func New(env *Env, id uint64, nc net.Conn, by *Arrival) (*Conn, error) {
	c := &Conn{env: env, id: id, nc: nc, by: by, start: time.Now(), settings: env.Settings.Load(), done: make(chan struct{})}
	c.kind = auth.InProcess
	if addr, err := netip.ParseAddrPort(nc.RemoteAddr().String()); err == nil {
		c.kind = auth.Standard
		c.setPeer(addr)
	}
	c.active.Store(c.start.UnixNano())
	c.out.nc, c.out.failed, c.out.done = nc, c.outFailed, make(chan struct{})
	c.out.pending, c.out.retry = c.settings.MaxPending, c.settings.WriteRetry
	c.out.soft = min(softBytes, c.out.pending/2)
	c.out.deadline.Store(int64(c.settings.WriteDeadline))
	if c.settings.NoStall {
		c.out.dropMax = c.settings.MaxPending / 4 * 3
	}
	c.Dest.Init(c)
	c.in.size = readLeast
	c.opts = protocol.NewConnect()
	c.parser.ControlLine, c.parser.Payload = c.settings.ControlLine, c.settings.MaxPayload
	c.mu.info = &about{opts: c.opts}
	c.sender.Init(env.Accounts.Global().Index(), &c.Dest, c)
	c.sender.Seed(id)
	c.sender.Restrict(rights{c}, true)
	c.mode = modeNoHeaders | modeVerbose | modePedantic
	if by != nil {
		c.kind, c.tls = by.Front.Kind, by.TLS
		if by.TLS != nil {
			c.mu.info.tls, c.mu.info.tlsInit = monitor.NewTLSInfo(by.TLS), true
		}
	}
	if tcp, ok := nc.(*net.TCPConn); ok {
		sock, err := newSocket(tcp)
		if err != nil {
			return nil, fmt.Errorf("connection of %s: %w", c.address(), err)
		}
		c.out.sock = sock
	}
	return c, nil
}

// ID is the connection's number, unique for the life of the server.
func (c *Conn) ID() uint64 { return c.id }

func (c *Conn) address() string {
	peer := c.peer.Load()
	if peer == nil {
		return "pipe"
	}
	if c.by != nil && c.by.Forwarded != "" {
		return c.by.Forwarded + "/" + peer.String()
	}
	return peer.String()
}

func (c *Conn) setPeer(addr netip.AddrPort) {
	addr = netip.AddrPortFrom(addr.Addr().Unmap(), addr.Port())
	c.peer.Store(&addr)
}

// host is the client's address without its port, empty for connections from inside the process.
func (c *Conn) host() string {
	if peer := c.peer.Load(); peer != nil {
		return peer.Addr().String()
	}
	return ""
}

// port is the client's, 0 for connections from inside the process.
func (c *Conn) port() int {
	if peer := c.peer.Load(); peer != nil {
		return int(peer.Port())
	}
	return 0
}

// Serve is the reader goroutine. It returns when the connection has ended and nothing of it is left behind.
func (c *Conn) Serve() {
	defer c.end()
	if !c.greet() {
		return
	}
	c.read()
}

// greet sends INFO and does the TLS handshake where it comes first, and logs in who needs no login.
func (c *Conn) greet() bool {
	t := c.env.TLS.Load()
	if c.by != nil {
		t = nil // its front has done what there is to do
	}
	tlsFirst := t != nil && t.First
	c.proxied = c.by == nil && c.settings.ProxyProtocol && c.peer.Load() != nil
	if tlsFirst && c.proxied {
		if !c.readProxy(true) {
			return false
		}
		c.proxied = false
	}
	if tlsFirst {
		switch started, err := c.awaitHello(t); {
		case err != nil:
			return false
		case started:
			if !c.handshake(t) {
				return false
			}
		default:
			tlsFirst = false
		}
	}
	c.armAuth(t)
	c.admit()
	c.sendInfo(false)
	if c.proxied && !c.readProxy(t != nil && !tlsFirst) {
		return false
	}
	if t == nil || tlsFirst {
		return true
	}
	if t.Optional {
		secure, err := c.peekTLS()
		if err != nil || !secure {
			return err == nil
		}
	}
	return c.handshake(t)
}

// admit lets the client in at once if the server asks for no credentials.
func (c *Conn) admit() {
	a := c.auth()
	if a.NonceRequired() {
		c.nonce = c.env.Nonce()
	}
	if a.Required() {
		c.parser.Gate = c.gate
		return
	}
	c.enter(c.env.Accounts.Global(), nil)
}

// auth is the authenticator in force for connections of this kind.
func (c *Conn) auth() *auth.Authenticator {
	if c.by != nil {
		return c.by.Front.Auth.Load()
	}
	return c.env.Auth.Load()
}

// handle processes the n bytes that lie at the start of buf, and hands over all of their outcome. It returns how many
// it used.
func (c *Conn) handle(buf []byte) (used int, err error) {
	now := time.Now()
	c.active.Store(now.UnixNano())
	if s := c.env.Settings.Load(); s != c.settings {
		c.adopt(s)
	}
	c.sender.Begin()
	if c.meter != nil {
		c.meter.Open(now)
	}
	used, err = c.parser.Parse(buf, (*handler)(c))
	c.count()
	if c.over != nil {
		c.tellOverflow()
	}
	if err != nil {
		c.refuse(err)
	}
	c.handOver()
	if c.meter != nil {
		if wait := c.meter.Pay(); wait > 0 && err == nil {
			c.hold(wait)
		}
	}
	return used, err
}

// count shows others what has come in.
func (c *Conn) count() {
	c.seen.inMsgs.Store(c.inMsgs)
	c.seen.inBytes.Store(c.inBytes)
}

// handOver hands over what was gathered, and waits a little if others do not keep up.
func (c *Conn) handOver() {
	full := c.sender.Flush()
	for _, t := range c.followed {
		t.End()
	}
	c.followed = nil
	if c.pinged && !c.ponged.Load() {
		c.ponged.Store(true)
	}
	if full != nil && !c.Gone.Load() {
		if full.(*Conn).out.stall() {
			c.stalls.Add(1)
		}
	}
}

// adopt takes over reloaded settings.
func (c *Conn) adopt(s *Settings) {
	c.settings = s
	c.parser.ControlLine = s.ControlLine
	c.parser.Payload = c.payloadLimit()
	c.out.deadline.Store(int64(s.WriteDeadline))
	c.setMode()
	if c.acc != nil {
		c.setQuota()
	}
}

// Take implements router.Sink.
func (c *Conn) Take(h router.Handover) router.Done {
	if c.env.Settings.Load().Trace {
		c.traceOut(h.Block.B[:h.N])
	}
	return c.out.take(h)
}

// tell sends an error that the client survives, from any goroutine.
func (c *Conn) tell(text string) {
	c.write(protocol.AppendErr(nil, text))
	c.env.Log.Debugf("%v - %s", c, text)
}

// write sends text to the client from any goroutine.
func (c *Conn) write(text []byte) {
	bl := router.NewBlock(len(text))
	if done := c.Take(router.Handover{Block: bl, N: copy(bl.B, text), Alone: true}); !done.Kept {
		bl.Release()
	}
}

// Close ends the connection for a reason. If text is not empty, the client is told it as an error first; what is queued
// is still written. Any goroutine may call it; only the first call counts.
func (c *Conn) Close(reason monitor.Reason, text string) {
	if !c.closing(reason) {
		return
	}
	if text != "" {
		c.write(protocol.AppendErr(nil, text))
	}
	c.out.finish()
	c.wakeReader()
}

// closing records the reason and reports whether it is the first.
func (c *Conn) closing(reason monitor.Reason) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.closing {
		return false
	}
	if c.by != nil {
		c.by.ClosingFor(reason)
	}
	c.mu.closing, c.mu.reason = true, reason
	c.Gone.Store(true)
	if c.mu.quit != nil {
		close(c.mu.quit)
	}
	return true
}

// wakeReader makes a waiting read return, so that the reader goroutine sees that the connection is closing.
func (c *Conn) wakeReader() { c.nc.SetReadDeadline(time.Unix(1, 0)) }

// outFailed ends a connection that cannot be written to.
func (c *Conn) outFailed(reason monitor.Reason, detail string) {
	if c.closing(reason) && detail != "" {
		c.env.Registry.slow(c, reason)
		c.env.Log.Noticef("%v - Slow Consumer Detected: %s", c, detail)
	}
	c.out.abort()
}

// end cleans up after the reader has stopped reading.
func (c *Conn) end() {
	c.closing(monitor.ReasonClientClosed)
	c.out.finish()
	c.mu.Lock()
	for _, t := range []*time.Timer{c.mu.ping, c.mu.auth, c.mu.expiry} {
		if t != nil {
			t.Stop()
		}
	}
	c.mu.subsEnd = true
	acc := c.mu.acc
	c.mu.Unlock()
	snapshot := c.Snapshot()
	snapshot.Subs = c.Subscriptions()
	snapshot.NumSubs = uint32(len(snapshot.Subs))
	c.dropSubs()
	c.in.free()
	c.sender.Close()
	c.meter.Leave()
	c.env.Log.Debugf("%v - Client connection closed: %s", c, snapshot.Reason)
	<-c.out.done
	if acc != nil {
		acc.Leave()
		acc.Index().Left(c)
		out := snapshot.OutMsgs
		acc.Closed().Add(snapshot.InMsgs, snapshot.InBytes, out, snapshot.OutBytes)
	}
	c.env.Registry.remove(c, &snapshot)
	c.env.Disconnected(&snapshot)
	close(c.done)
}

// Done is closed when the connection has ended and nothing of it is left behind.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Reject tells a client that was never served why, after the INFO that it waits for, and closes.
func (c *Conn) Reject(reason monitor.Reason, text string) {
	c.sendInfo(false)
	c.closing(reason)
	c.write(protocol.AppendErr(nil, text))
	c.out.finish()
	<-c.out.done
	snapshot := c.Snapshot()
	c.env.Disconnected(&snapshot)
	close(c.done)
}
