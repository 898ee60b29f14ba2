package conn

import (
	"fmt"

	"godwit/server/auth"
	"godwit/server/monitor"
	"godwit/server/router"
)

// Recheck looks at the client's login again after the configuration has changed: one that no longer holds ends the
// connection, changed permissions are taken over, and subscriptions that they do not allow end. Any goroutine but the
// connection's own may call it.
func (c *Conn) Recheck() {
	a := c.auth()
	c.mu.Lock()
	login, ident, acc, closing := c.mu.login, c.mu.info.ident, c.mu.acc, c.mu.closing
	c.mu.Unlock()
	if closing || acc == nil {
		return
	}
	if !a.Required() {
		if acc != c.env.Accounts.Global() {
			c.Close(monitor.ReasonAuthenticationViolation, "")
			return
		}
		c.setRights(nil)
		return
	}
	if login == nil {
		c.Close(monitor.ReasonAuthenticationViolation, errAuthorization.text)
		return
	}
	if a.Keeps(ident) && c.env.Accounts.Lookup(ident.Account) == acc {
		return
	}
	id, err := a.Authenticate(login)
	switch {
	case err != nil:
		c.Close(monitor.ReasonAuthenticationViolation, errAuthorization.text)
	case c.env.Accounts.Lookup(id.Account) != acc:
		c.Close(monitor.ReasonAuthenticationViolation, "")
	default:
		c.SetRights(id.Permissions)
	}
}

// SetRights makes perms, nil for all rights, hold for the connection, and ends the subscriptions that they do not allow.
// Senders see it after Invalidate of the account's index. Any goroutine but the connection's own may call it.
func (c *Conn) SetRights(perms *auth.Permissions) {
	c.setRights(perms)
	c.dropForbidden(perms)
}

// setRights makes perms, nil for all rights, hold for the connection. Senders see it when they next build a route.
func (c *Conn) setRights(perms *auth.Permissions) {
	var replies *auth.ReplyTracker
	if perms != nil && perms.Responses() != nil {
		replies = auth.NewReplyTracker(perms.Responses())
	}
	c.perms.Store(perms)
	c.replies.Store(replies)
	c.Guarded.Store(perms != nil)
}

// dropForbidden ends the subscriptions that perms does not allow and tells the client of each.
func (c *Conn) dropForbidden(perms *auth.Permissions) {
	if perms == nil {
		return
	}
	var ended []*router.Sub
	c.mu.Lock()
	c.eachSubLocked(func(s *router.Sub) {
		if !perms.CanSubscribe(s.Subject(), s.Queue()) {
			ended = append(ended, s)
		}
	})
	for _, s := range ended {
		c.deleteLocked(s)
		c.mu.acc.Index().Unsubscribe(s)
	}
	c.mu.Unlock()
	for _, s := range ended {
		text := fmt.Sprintf("Permissions Violation for Subscription to %q", s.Subject())
		if s.Queue() != "" {
			text += fmt.Sprintf(" using queue %q", s.Queue())
		}
		c.tell(fmt.Sprintf("%s (sid %q)", text, s.SID()))
	}
}
