package system

import (
	"bytes"
	"strings"

	"godwit/server/account"
	"godwit/server/router"
)

// handler answers a request: what it returns is sent as JSON, or nothing for nil. A success in an envelope is
// compressed if the request asks for it. Only the goroutine that answers calls handlers.
type handler func(s *Service, r *request) any

// receiver takes requests on one subscription. It is its own batch: there is nothing to gather, as each request is
// queued by itself, and the taker is woken once per read buffer.
type receiver struct {
	handle handler
	queue  *queue
	in     *account.Account // where it subscribed, and where answers go
	named  bool             // the subject's fourth token names the account that is asked about
	// imported says that every account has the request, the system account, too, as an importer of the service.
	imported bool
	system   string // name of the system account
}

// NewBatch implements router.Receiver.
func (v *receiver) NewBatch() router.Batch { return v }

// Add implements router.Batch. What has no reply subject wants no answer.
func (v *receiver) Add(m *router.Message) {
	if len(m.Reply) == 0 {
		return
	}
	v.queue.put(newRequest(v, m))
}

// Flush implements router.Batch.
func (v *receiver) Flush() { v.queue.notify() }

// TraceService implements router.TracedService: what every account has is an import of the system account's. That one's own
// requests are none.
func (v *receiver) TraceService(subject []byte) (account, to string) {
	to = string(subject)
	if v.in.Name() == v.system {
		return "", ""
	}
	if to == userSubject {
		to = userPrefix + v.in.Name() + ".INFO"
	} else if v.imported && to != debugSubject {
		to = accountPrefix + v.in.Name() + to[strings.LastIndexByte(to, '.'):]
	}
	return v.system, to
}

// request is one request, copied from the message.
type request struct {
	*receiver
	account string // asked about: the caller's, or the one the subject names
	reply   []byte
	body    []byte
	accept  encoding
	from    router.Origin
}

// requestBytes is what a request holds besides its texts, about.
const requestBytes = 160

func newRequest(v *receiver, m *router.Message) *request {
	r := &request{receiver: v, account: v.in.Name(), accept: accepted(m.Header), from: m.From}
	text := append(append(make([]byte, 0, len(m.Reply)+len(m.Payload)), m.Reply...), m.Payload...)
	r.reply, r.body = text[:len(m.Reply):len(m.Reply)], text[len(m.Reply):]
	if v.named {
		r.account = accountToken(m.Subject)
	}
	return r
}

func (r *request) size() int { return requestBytes + len(r.reply) + len(r.body) }

// accountToken returns the account in "$SYS.REQ.ACCOUNT.<account>.<X>". A name with dots never gets here.
func accountToken(subject []byte) string {
	rest := bytes.TrimPrefix(subject, []byte(accountPrefix))
	name, _, _ := strings.Cut(string(rest), ".")
	return name
}

const (
	serverPrefix  = "$SYS.REQ.SERVER."
	accountPrefix = "$SYS.REQ.ACCOUNT."
)

// subscribe subscribes to the requests that a can make.
func (s *Service) subscribe(a *account.Account) []*router.Sub {
	var subs []*router.Sub
	on := func(subject string, v receiver) {
		v.in, v.queue, v.system = a, s.guests, s.system.Name()
		if a == s.system {
			v.queue = s.requests
		}
		subs = append(subs, a.Index().SubscribeReceiver(subject, "", &v))
	}
	on(userSubject, receiver{handle: (*Service).userInfo, imported: true})
	if a != s.system {
		on(serverPrefix+"PING.CONNZ", receiver{handle: (*Service).accountConnz, imported: true})
		on(accountPrefix+"PING.CONNZ", receiver{handle: (*Service).accountConnz, imported: true})
		on(accountPrefix+"PING.STATZ", receiver{handle: (*Service).accountStatz, imported: true})
		if s.debugEverywhere {
			on(debugSubject, receiver{handle: (*Service).subscribers, imported: true})
		}
		return subs
	}
	on(serverPrefix+"PING", receiver{handle: (*Service).statszRequest})
	for name, h := range serverRequests() {
		on(serverPrefix+"PING."+name, receiver{handle: h})
		on(serverPrefix+s.id+"."+name, receiver{handle: h})
	}
	for name, h := range controlRequests() {
		on(serverPrefix+s.id+"."+name, receiver{handle: h})
	}
	for name, h := range accountRequests() {
		on(accountPrefix+"*."+name, receiver{handle: h, named: true})
	}
	on(accountPrefix+"NSUBS", receiver{handle: (*Service).countSubscribers})
	on(debugSubject, receiver{handle: (*Service).subscribers})
	return subs
}
