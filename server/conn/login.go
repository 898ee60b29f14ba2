package conn

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"godwit/protocol"
	"godwit/server/account"
	"godwit/server/auth"
	"godwit/server/monitor"
	"godwit/server/router"
)

// gate is asked before each operation while the client has yet to log in.
func (c *Conn) gate(first byte) error {
	if first|0x20 == 'c' {
		return nil
	}
	// A client that does not even send CONNECT is let in only as the user for those without credentials.
	if a := c.auth(); a.Anonymous() {
		req := c.request(&protocol.Connect{})
		if id, err := a.Authenticate(req); err == nil {
			return c.login(id, req)
		}
	}
	return errAuthorization
}

// Connect implements protocol.Handler.
func (h *handler) Connect(text []byte) error {
	c := (*Conn)(h)
	opts := c.opts // a later CONNECT keeps what it leaves out
	if err := json.Unmarshal(text, &opts); err != nil {
		return &fatal{monitor.ReasonProtocolViolation, ""}
	}
	if c.by != nil {
		c.by.Fill(&opts)
	}
	c.traceConnect(&opts)
	if c.asked { // once more: everything starts anew
		c.dropSubs()
	}
	c.opts, c.asked = opts, true
	if err := c.authenticate(&opts); err != nil {
		return err
	}
	if opts.Account != "" || opts.NewAccount {
		return errAuthorization
	}
	if opts.Protocol < 0 || opts.Protocol > 1 {
		return &fatal{monitor.ReasonBadClientProtocolVersion, "invalid client protocol"}
	}
	headers := opts.Headers && !c.settings.NoHeaders
	if opts.NoResponders && !headers {
		return &fatal{monitor.ReasonNoRespondersRequiresHeaders, "no responders requires headers support"}
	}
	c.opts.Headers = headers
	c.Headers.Store(headers)
	c.setMode()
	c.sender.Restrict(rights{c}, opts.Echo)
	c.publishAbout()
	c.armPing()
	c.env.Connected(c)
	c.ok()
	return nil
}

func (c *Conn) setMode() {
	c.mode = 0
	if c.opts.Verbose {
		c.mode |= modeVerbose
	}
	if c.opts.Pedantic {
		c.mode |= modePedantic
	}
	if !c.opts.Headers {
		c.mode |= modeNoHeaders
	}
	if c.settings.Trace {
		c.mode |= modeTrace
	}
	if c.meter != nil {
		c.mode |= modeQuota
	}
}

// authenticate logs the client in with what it sent.
func (c *Conn) authenticate(opts *protocol.Connect) error {
	a := c.auth()
	if !a.Required() {
		return c.enterOr(c.env.Accounts.Global(), nil)
	}
	c.stopAuthTimer() // who decides has a time of their own
	req := c.request(opts)
	id, err := a.Authenticate(req)
	if err != nil {
		c.showFailed(opts)
		return c.refused(err)
	}
	return c.login(id, req)
}

// showFailed lets monitoring show who could not log in.
func (c *Conn) showFailed(opts *protocol.Connect) {
	a := &about{opts: *opts}
	a.opts.Pass, a.opts.Token, a.opts.Sig, a.opts.JWT = "", "", "", ""
	c.showInstead(a)
}

// showInstead shows a in place of a login, unless there was one before.
func (c *Conn) showInstead(a *about) {
	c.mu.Lock()
	if c.mu.acc == nil {
		a.tls, a.tlsInit = c.mu.info.tls, c.mu.info.tlsInit
		c.mu.info = a
	}
	c.mu.Unlock()
}

// refused logs why a login failed and returns what ends the connection.
func (c *Conn) refused(err error) error {
	f := &fatal{errAuthorization.reason, errAuthorization.text}
	var why *auth.Failure
	if !errors.As(err, &why) {
		c.env.Log.Errorf("%v - authentication error: %v", c, err)
		return f
	}
	c.env.Log.Errorf("%v - %s", c, why.LogText())
	c.env.Log.Debugf("%v - %v", c, why)
	if why.Account != "" {
		c.env.Refused(c, why)
	}
	switch why.Close {
	case auth.CloseProxyNotTrusted:
		f.reason = monitor.ReasonProxyNotTrusted
	case auth.CloseProxyRequired:
		f.reason = monitor.ReasonProxyRequired
	}
	return f
}

func (c *Conn) request(opts *protocol.Connect) *auth.Request {
	return &auth.Request{User: opts.User, Pass: opts.Pass, Token: opts.Token, Nkey: opts.Nkey, Sig: opts.Sig, JWT: opts.JWT,
		ProxySig: opts.ProxySig, Nonce: c.nonce, TLS: c.tlsState(), Type: c.kind, Host: c.host(),
		Client: auth.Client{ID: c.id, Kind: string(monitor.KindClient), Type: c.clientType(), Name: opts.Name, Lang: opts.Lang,
			Version: opts.Version, Protocol: opts.Protocol}}
}

// login takes an identity that req has proved.
func (c *Conn) login(id *auth.Identity, req *auth.Request) error {
	c.mu.Lock()
	c.mu.login = req
	c.mu.Unlock()
	acc := c.env.Accounts.Lookup(id.Account)
	if acc == nil {
		return &fatal{monitor.ReasonMissingAccount, "Failed Account Registration"}
	}
	if err := c.enterOr(acc, id); err != nil {
		return err
	}
	if id.Detail != nil {
		c.env.Joined(c, id)
	}
	return nil
}

func (c *Conn) enterOr(acc *account.Account, id *auth.Identity) error {
	if err := c.enter(acc, id); err != nil {
		if errors.Is(err, account.ErrConnections) {
			a := &about{opts: c.opts, ident: id, refused: acc.Name()}
			a.opts.Pass, a.opts.Token, a.opts.Sig, a.opts.JWT = "", "", "", ""
			c.showInstead(a)
			return &fatal{monitor.ReasonMaxAccountConnectionsExceeded, err.Error()}
		}
		return err
	}
	return nil
}

// enter makes the client a member of acc, with the rights of id; nil has all rights.
func (c *Conn) enter(acc *account.Account, id *auth.Identity) error {
	c.parser.Gate = nil
	c.parser.Forget()
	if c.acc != acc {
		if err := acc.Join(); err != nil {
			return err
		}
		c.mu.Lock()
		old := c.mu.acc
		c.mu.acc = acc
		c.mu.Unlock()
		if old != nil {
			old.Leave()
			c.env.Left(old)
		}
		c.acc = acc
		c.sender.Use(acc.Index())
	}
	c.ident = id
	c.setQuota()
	var perms *auth.Permissions
	if id != nil {
		perms = id.Permissions
	}
	c.setRights(perms)
	c.sender.Restrict(rights{c}, c.opts.Echo)
	c.parser.Payload = c.payloadLimit()
	c.stopAuthTimer()
	c.mu.Lock()
	if c.mu.expiry != nil {
		c.mu.expiry.Stop()
		c.mu.expiry = nil
	}
	if id != nil && !id.Expires.IsZero() {
		c.mu.expiry = time.AfterFunc(time.Until(id.Expires), func() {
			c.Close(monitor.ReasonAuthenticationExpired, "User Authentication Expired")
		})
	}
	c.mu.Unlock()
	c.publishAbout()
	return nil
}

// payloadLimit is the smallest of the server's and the account's.
func (c *Conn) payloadLimit() int {
	limit := c.settings.MaxPayload
	if c.acc != nil {
		if l := int(c.acc.Limits().MaxPayload); l >= 0 && l < limit {
			limit = l
		}
	}
	if c.ident != nil && c.ident.Limits != nil && c.ident.Limits.MaxPayload >= 0 {
		limit = min(limit, int(c.ident.Limits.MaxPayload))
	}
	return limit
}

// armAuth starts the time that the client has for a login.
func (c *Conn) armAuth(t *TLS) {
	if !c.auth().Required() && (t == nil || !t.Map) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	limit := c.settings.AuthTimeout
	if c.by != nil {
		limit = c.by.Front.AuthTimeout
	}
	c.mu.auth = time.AfterFunc(limit, func() {
		c.Close(monitor.ReasonAuthenticationTimeout, "Authentication Timeout")
	})
}

func (c *Conn) stopAuthTimer() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.auth != nil {
		c.mu.auth.Stop()
		c.mu.auth = nil
	}
}

// publishAbout renews what monitoring and receivers know of the client.
func (c *Conn) publishAbout() {
	a := &about{opts: c.opts, ident: c.ident, asked: c.asked}
	a.opts.Pass, a.opts.Token, a.opts.Sig, a.opts.JWT = "", "", "", ""
	c.mu.Lock()
	a.tls, a.tlsInit = c.mu.info.tls, c.mu.info.tlsInit
	c.mu.info, c.mu.origin = a, nil
	c.mu.Unlock()
}

// String names the connection in logs: its address and number and, once it has logged in, what it says of itself.
func (c *Conn) String() string {
	c.mu.Lock()
	a, acc := c.mu.info, c.mu.acc
	c.mu.Unlock()
	s := c.address() + " - " + c.label() + ":" + strconv.FormatUint(c.id, 10)
	if !a.asked {
		return s
	}
	var client []string
	if a.opts.Version != "" {
		client = append(client, "v"+a.opts.Version)
	}
	for _, part := range []string{a.opts.Lang, a.opts.Name} {
		if part != "" {
			client = append(client, part)
		}
	}
	if client != nil {
		s += fmt.Sprintf(" - %q", strings.Join(client, ":"))
	}
	if a.ident != nil && a.ident.Name != "" && acc != nil {
		s += fmt.Sprintf(" - %q", acc.Name()+"/user:"+a.ident.Name)
	}
	return s
}

// label is what logs call the number of a connection of this kind.
func (c *Conn) label() string {
	if c.by != nil {
		return "wid"
	}
	return "cid"
}

// clientType is the kind of connection as monitoring shows it.
func (c *Conn) clientType() string {
	if c.by != nil {
		return c.by.Front.Type
	}
	return monitor.TypeNATS
}

// RTT is the client's round-trip time; 0 if it was not measured.
func (c *Conn) RTT() time.Duration { return time.Duration(c.rtt.Load()) }

// OriginInfo implements router.Origin.
func (c *Conn) OriginInfo() *router.OriginInfo {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.origin != nil {
		return c.mu.origin
	}
	a := c.mu.info
	o := &router.OriginInfo{ID: c.id, Name: a.opts.Name, Lang: a.opts.Lang, Version: a.opts.Version, Host: c.host(),
		Start: c.start.UTC().Format(time.RFC3339Nano), Server: c.env.Settings.Load().ServerName, Kind: "Client", ClientType: c.clientType()}
	if c.mu.acc != nil {
		o.Account = c.mu.acc.Name()
	}
	if a.ident != nil {
		o.User = a.ident.Name
	}
	c.mu.origin = o
	return o
}
