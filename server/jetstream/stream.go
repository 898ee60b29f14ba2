package jetstream

import (
	"sync"
	"sync/atomic"
	"time"

	"godwit/protocol/jsapi"
	"godwit/server/router"
	"godwit/stream"
	"godwit/stream/consumer"
)

// Stream is one stream of an account.
type Stream struct {
	account *Account
	name    string
	meta    *meta
	dir     string                             // empty for a memory stream
	set     *stream.Set                        // its partitions
	config  atomic.Pointer[jsapi.StreamConfig] // in force; never changed in place

	mu        sync.Mutex // guards what follows
	subs      []*router.Sub
	consumers map[*consumer.Consumer][]*router.Sub
	byName    map[string]*consumer.Consumer
	origins   []*origin
	closed    bool
}

// Name is the stream's name.
func (s *Stream) Name() string { return s.name }

// Created is when the stream was made.
func (s *Stream) Created() time.Time { return s.meta.Created }

// Config is the configuration in force, which is shared.
func (s *Stream) Config() *jsapi.StreamConfig { return s.config.Load() }

// Partitions are the stream's partitions.
func (s *Stream) Partitions() *stream.Set { return s.set }

// route makes the messages on the stream's subjects, and direct gets if they are allowed, come here.
func (s *Stream) route() {
	cfg := s.Config()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	old := s.subs
	s.subs = nil
	pubs := newPublishes(s.set, s.name, len(cfg.Subjects) > 1)
	for _, subj := range cfg.Subjects {
		s.subs = append(s.subs, s.account.index.SubscribeReceiver(subj, "", pubs))
	}
	s.subs = append(s.subs, s.account.index.SubscribeReceiver(s.longAckSubject(), "", &longAcks{s}))
	if cfg.AllowDirect {
		s.subs = append(s.subs, s.routeDirect(s.name)...)
	}
	for _, sub := range old {
		s.account.index.Unsubscribe(sub)
	}
}

// unroute ends what route and routeConsumer began.
func (s *Stream) unroute() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, sub := range s.subs {
		s.account.index.Unsubscribe(sub)
	}
	for _, subs := range s.consumers {
		for _, sub := range subs {
			s.account.index.Unsubscribe(sub)
		}
	}
	s.subs, s.consumers, s.byName = nil, nil, nil
}

// routeConsumer makes requests for a consumer come here.
func (s *Stream) routeConsumer(c *consumer.Consumer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	x, cfg := s.account.index, c.Config()
	tail := s.name + "." + c.Name
	parts, home := c.Parts(), c.Home()
	subs := []*router.Sub{x.SubscribeReceiver(jsapi.Prefix+"CONSUMER.MSG.NEXT."+tail, "", &pulls{s.set.At(home), parts[home]})}
	if cfg.AckPolicy != jsapi.AckNone {
		prefix := "$JS.ACK." + tail + "."
		subs = append(subs, x.SubscribeReceiver(prefix+">", "", s.newAcks(parts, len(prefix))))
	}
	if cfg.FlowControl {
		subs = append(subs, x.SubscribeReceiver("$JS.FC."+s.account.ackPlace()+tail+".>", "", &flows{s.set.At(home), parts[home]}))
	}
	if s.consumers == nil {
		s.consumers = map[*consumer.Consumer][]*router.Sub{}
		s.byName = map[string]*consumer.Consumer{}
	}
	s.consumers[c], s.byName[c.Name] = subs, c
}

func (s *Stream) unrouteConsumer(c *consumer.Consumer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sub := range s.consumers[c] {
		s.account.index.Unsubscribe(sub)
	}
	delete(s.consumers, c)
	if s.byName[c.Name] == c {
		delete(s.byName, c.Name)
	}
}

// consumer returns the consumer of a name, nil if there is none.
func (s *Stream) consumer(name string) *consumer.Consumer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byName[name]
}

// close ends the stream with the server.
func (s *Stream) close() {
	s.endOrigins(false)
	s.unroute()
	if err := s.set.Close(); err != nil {
		s.account.service.problem(Problem{Account: s.account.name, Stream: s.name, Text: "close: " + err.Error()})
	}
}

// Info describes the stream. total is the number of subjects that r matches.
func (s *Stream) Info(r stream.InfoRequest) (info *jsapi.StreamInfo, total int, err *jsapi.Error) {
	cfg, st, total, partitions, err := s.set.State(r)
	if err != nil {
		return nil, 0, err
	}
	mirror, sources := s.originInfo()
	return &jsapi.StreamInfo{Config: cfg, Created: s.meta.Created, State: st, Domain: s.account.service.opts.Domain,
		Mirror: mirror, Sources: sources, Time: time.Now().UTC(), Partitions: partitions}, total, nil
}
