package server

import (
	"bytes"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nuid"

	"godwit/server/account"
	"godwit/server/auth"
	"godwit/server/auth/callout"
	"godwit/server/options"
	"godwit/server/router"
)

// delegate is who decides about logins beside the configured users; nil if nobody does.
func (s *Server) delegate(o *options.Options) (auth.Delegate, error) {
	if s.operators == nil && o.Authorization.Callout == nil {
		return nil, nil
	}
	co := callout.Options{Config: o.Authorization.Callout, Key: s.key, Curve: s.curve, Timeout: authTimeout(o),
		Ask: s.inquiries.ask, Debugf: s.log.Debugf,
		Server: func() jwt.ServerID {
			return jwt.ServerID{Name: s.name, Host: s.options().Host, ID: s.id, Version: ProtocolVersion, Tags: o.Tags}
		}}
	if s.operators != nil {
		co.Config, co.Operators = nil, s.operators.manager
		return callout.New(co), nil
	}
	defaults := map[string]*auth.Permissions{}
	for _, a := range o.Accounts {
		var err error
		if defaults[a.Name], err = auth.Compile(a.Defaults); err != nil {
			return nil, err
		}
	}
	co.Target = func(name string) (*auth.Permissions, bool) {
		return defaults[name], name != "" && s.accounts.Lookup(name) != nil
	}
	return callout.New(co), nil
}

// inquiries are the server's own requests to services in accounts. There are no more at a time than connections that log in.
type inquiries struct {
	accounts *account.Registry
	quit     chan struct{}

	mu    sync.Mutex
	desks map[*account.Account]*desk
	ended bool
}

// desk is where answers come in from one account. It implements router.Receiver.
type desk struct {
	sub    *router.Sub
	prefix string

	send   sync.Mutex // guards sender; ranks before mu
	sender *router.Sender

	mu      sync.Mutex // guards what follows
	waiting map[string]chan []byte
	last    uint64
}

func (q *inquiries) init(accounts *account.Registry) {
	q.accounts, q.quit, q.desks = accounts, make(chan struct{}), map[*account.Account]*desk{}
}

// ask publishes a request in an account and returns the first answer; callout.ErrNoAnswer if there is none in time.
func (q *inquiries) ask(name, subject string, header, body []byte, wait time.Duration) ([]byte, error) {
	d := q.desk(name)
	if d == nil {
		return nil, callout.ErrNoAnswer
	}
	answer := make(chan []byte, 1)
	d.mu.Lock()
	d.last++
	token := strconv.FormatUint(d.last, 36)
	d.waiting[token] = answer
	d.mu.Unlock()
	d.send.Lock()
	d.sender.Send(&router.Message{Subject: []byte(subject), Reply: []byte(d.prefix + token), Header: header, Payload: body})
	d.sender.Flush()
	d.send.Unlock()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	defer func() {
		d.mu.Lock()
		delete(d.waiting, token)
		d.mu.Unlock()
	}()
	select {
	case a := <-answer:
		return a, nil
	case <-timer.C:
	case <-q.quit:
	}
	return nil, callout.ErrNoAnswer
}

// desk returns that of an account; nil without such an account, or when the server ends.
func (q *inquiries) desk(name string) *desk {
	a := q.accounts.Lookup(name)
	if a == nil {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended {
		return nil
	}
	d := q.desks[a]
	if d == nil {
		d = &desk{prefix: "$SYS._INBOX." + nuid.Next() + ".", sender: router.NewSender(a.Index()), waiting: map[string]chan []byte{}}
		d.sub = a.Index().SubscribeReceiver(d.prefix+"*", "", d)
		q.desks[a] = d
	}
	return d
}

// close ends all requests that wait, and refuses others.
func (q *inquiries) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended {
		return
	}
	q.ended = true
	close(q.quit)
	for a, d := range q.desks {
		a.Index().Unsubscribe(d.sub)
	}
}

// NewBatch implements router.Receiver.
func (d *desk) NewBatch() router.Batch { return &answers{d: d} }

// answers gathers what one sender has for a desk. It implements router.Batch.
type answers struct {
	d    *desk
	list []answer
}

type answer struct {
	token string
	body  []byte
}

// Add implements router.Batch.
func (b *answers) Add(m *router.Message) {
	b.list = append(b.list, answer{string(m.Subject[len(b.d.prefix):]), bytes.Clone(m.Payload)})
}

// Flush implements router.Batch.
func (b *answers) Flush() {
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	for _, a := range b.list {
		if ch := b.d.waiting[a.token]; ch != nil {
			select {
			case ch <- a.body:
			default: // one is there already
			}
		}
	}
	clear(b.list)
	b.list = b.list[:0]
}
