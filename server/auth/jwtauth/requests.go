package jwtauth

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nkeys"

	"godwit/server/options"
)

// Subjects of requests, in the system account. A star stands for an account key.
const (
	SubjectUpdate        = "$SYS.REQ.CLAIMS.UPDATE"
	SubjectAccountUpdate = "$SYS.REQ.ACCOUNT.*.CLAIMS.UPDATE"
	SubjectOldUpdate     = "$SYS.ACCOUNT.*.CLAIMS.UPDATE" // of older tools
	SubjectLookup        = "$SYS.REQ.ACCOUNT.*.CLAIMS.LOOKUP"
	SubjectList          = "$SYS.REQ.CLAIMS.LIST"
	SubjectPack          = "$SYS.REQ.CLAIMS.PACK"
	SubjectDelete        = "$SYS.REQ.CLAIMS.DELETE"

	// PackQueue is the queue group of those who answer SubjectPack: one answer is enough.
	PackQueue = "responder"

	accountNone = "n/a" // in replies about JWTs that cannot be read
)

// Subscription is a subject that a server must carry to Handle.
type Subscription struct{ Subject, Queue string }

// Subscriptions are what this server answers, which depends on where its account JWTs come from.
func (m *Manager) Subscriptions() []Subscription {
	subs := []Subscription{{SubjectAccountUpdate, ""}, {SubjectOldUpdate, ""}}
	d := m.directory()
	if d == nil {
		return subs
	}
	subs = append(subs, Subscription{SubjectUpdate, ""}, Subscription{SubjectList, ""}, Subscription{SubjectDelete, ""})
	if d.kind == options.ResolverFull {
		subs = append(subs, Subscription{SubjectLookup, ""}, Subscription{SubjectPack, PackQueue})
	}
	return subs
}

// Handle answers a request, whose body is lent. ok is false if it gets no reply: the subject is not of Subscriptions, or
// asks for what is no account. There is one reply, but to SubjectPack there may be many, which are made as they are
// taken and must be sent in order.
func (m *Manager) Handle(subject string, body []byte) (replies iter.Seq[[]byte], ok bool) {
	d := m.directory()
	full := d != nil && d.kind == options.ResolverFull
	tokens := strings.Split(subject, ".")
	switch {
	case matches(tokens, SubjectAccountUpdate):
		return one(m.handleUpdate(tokens[3], true, body)), true
	case matches(tokens, SubjectOldUpdate):
		return one(m.handleUpdate(tokens[2], true, body)), true
	case d == nil:
		return nil, false
	case subject == SubjectUpdate:
		return one(m.handleUpdate("", false, body)), true
	case subject == SubjectList:
		return one(m.handleList(d)), true
	case subject == SubjectDelete:
		return one(m.handleDelete(body)), true
	case full && subject == SubjectPack:
		return m.pack(d, slices.Clone(body)), true
	case full && matches(tokens, SubjectLookup):
		if !nkeys.IsValidPublicAccountKey(tokens[3]) {
			return nil, false
		}
		token, err := d.Load(tokens[3])
		if err != nil && !errors.Is(err, ErrNoAccount) {
			m.cfg.Log.Errorf("jwt lookup resulted in error - %s - %v", tokens[3], err)
			return nil, false
		}
		return one([]byte(token)), true
	}
	return nil, false
}

// matches compares tokens with a subject whose stars stand for any token.
func matches(tokens []string, pattern string) bool {
	return slices.EqualFunc(tokens, strings.Split(pattern, "."), func(t, p string) bool { return p == "*" || t == p })
}

func one(reply []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) { yield(reply) }
}

// handleUpdate answers a push. named is whether the subject named an account.
func (m *Manager) handleUpdate(account string, named bool, body []byte) []byte {
	d := m.directory()
	words := updateWords{"jwt updated", "jwt update skipped", "jwt update resulted in error", "jwt validation failed"}
	if d != nil && d.kind == options.ResolverCache {
		words = updateWords{"jwt updated cache", "jwt update cache skipped", "jwt update cache resulted in error", "jwt validation failed"}
	}
	if d == nil && len(body) == 0 {
		return m.failed(account, "jwt update error", errEmptyBody)
	}
	token := strings.TrimSpace(string(body))
	c, err := decodeAccount(token)
	switch {
	case err != nil && (!named || d != nil && d.kind == options.ResolverFull):
		return m.failed(accountNone, words.failed, err)
	case err != nil:
		return m.failed(account, words.failed, err)
	case named && c.Subject != account:
		return m.failed(account, words.failed, ErrSubject)
	}
	outcome, err := m.update(token, c)
	var why *invalidError
	switch {
	case err != nil && d != nil && errors.As(err, &why):
		return m.failed(c.Subject, words.invalid, errors.New(why.Reason()))
	case err != nil:
		return m.failed(c.Subject, words.failed, err)
	case outcome == Skipped:
		return m.succeeded(c.Subject, words.skipped)
	}
	return m.succeeded(c.Subject, words.done)
}

// updateWords are the messages about pushes.
type updateWords struct{ done, skipped, failed, invalid string }

// handleDelete answers a request to delete accounts: a JWT that an operator has signed, of itself, with the accounts.
func (m *Manager) handleDelete(body []byte) []byte {
	n, by, err := m.deleteRequested(string(body))
	if err != nil {
		return m.failed("", fmt.Sprintf("delete accounts request by %s failed", by), err)
	}
	return m.succeeded("", fmt.Sprintf("deleted %d accounts", n))
}

func (m *Manager) deleteRequested(token string) (n int, by string, err error) {
	c, err := decodeGeneric(token)
	if err != nil {
		return 0, "", err
	}
	d := m.directory()
	switch {
	case d == nil || d.delete == deleteNothing:
		return 0, c.Subject, errDeleteOff
	case c.Subject != c.Issuer:
		return 0, c.Subject, errNotSelfSigned
	case !m.trust.keys[c.Issuer]:
		return 0, c.Subject, errNotTrusted
	case over(unixTime(c.Expires), time.Now()):
		return 0, c.Subject, errExpired
	}
	list, ok := c.Data["accounts"].([]any)
	if !ok {
		return 0, c.Subject, errMalformed
	}
	accounts := make([]string, len(list))
	for i, e := range list {
		if accounts[i], ok = e.(string); !ok {
			return 0, c.Subject, errMalformed
		}
	}
	n, err = m.Delete(accounts)
	return n, c.Subject, err
}

func (m *Manager) handleList(d *dirResolver) []byte {
	accounts := d.Accounts()
	if accounts == nil {
		accounts = []string{}
	}
	return m.encode(struct {
		Data   []string        `json:"data"`
		Server json.RawMessage `json:"server"`
	}{accounts, m.cfg.ServerInfo()})
}

// succeeded reports success to the log and makes the reply that says so.
func (m *Manager) succeeded(account, message string) []byte {
	m.cfg.Log.Debugf("%s", logLine(message, account, nil))
	type data struct {
		Account string `json:"account,omitempty"`
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	return m.encode(struct {
		Server json.RawMessage `json:"server"`
		Data   data            `json:"data"`
	}{m.cfg.ServerInfo(), data{account, 200, message}})
}

// failed reports a failure to the log and makes the reply that says so.
func (m *Manager) failed(account, message string, cause error) []byte {
	m.cfg.Log.Errorf("%s", logLine(message, account, cause))
	type data struct {
		Account     string `json:"account,omitempty"`
		Code        int    `json:"code"`
		Description string `json:"description"`
	}
	return m.encode(struct {
		Server json.RawMessage `json:"server"`
		Error  data            `json:"error"`
	}{m.cfg.ServerInfo(), data{account, 500, message + " - " + cause.Error()}})
}

func logLine(message, account string, cause error) string {
	if account != "" {
		message += " - " + account
	}
	if cause != nil {
		message += " - " + cause.Error()
	}
	return message
}

func (m *Manager) encode(reply any) []byte {
	b, err := json.Marshal(reply)
	if err != nil { // the server's description is no JSON
		m.cfg.Log.Errorf("reply about accounts: %v", err)
		return []byte{}
	}
	return b
}
