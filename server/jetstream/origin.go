package jetstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nuid"

	"godwit/protocol/jsapi"
	"godwit/protocol/subject"
	"godwit/server/router"
	"godwit/stream"
)

const (
	originFirst   = 100 * time.Millisecond // before the first request, so that what is made together is there
	originRetry   = 250 * time.Millisecond // after a failure; doubles up to
	originRetries = 30 * time.Second
	originAnswer  = 5 * time.Second  // to wait for the origin's answer
	originSilence = 10 * time.Second // without a sign of life, begin anew
	originBeat    = time.Second
	originBatch   = 1024 // messages stored at once
	directLag     = 10   // messages that a mirror which answers for its origin may be behind
)

// Why copying begins anew.
var (
	errOriginGap    = errors.New("a message was lost on the way")
	errOriginSilent = errors.New("nothing was heard for a while")
	errOriginFlood  = errors.New("more came than can be stored")
	errOriginGone   = errors.New("consumer of the origin is gone")
)

// origin copies the messages of another stream into one: a mirror, or one of its sources. It is a client of that stream,
// wherever that is: it has a consumer made by a request, gets the messages pushed, and answers flow control requests once
// what came before is stored. Where it goes on after a restart it knows from what is stored.
type origin struct {
	s      *Stream
	cfg    jsapi.StreamSource
	mirror bool
	key    string // see stream.OriginKey; empty for a mirror
	name   string // of its consumer
	rename []renaming

	sender *router.Sender // of its goroutine
	stop   context.CancelFunc
	forget atomic.Bool // the consumer is not needed any more; set before stop
	done   chan struct{}

	identity string // of the origin that is being copied; see identify

	in     inbox
	direct []*router.Sub // direct gets for the origin come here, too

	mu sync.Mutex // guards what others may see
	st originState
}

type originState struct {
	lag   uint64
	seq   uint64
	heard time.Time // zero: never
	err   *jsapi.Error
}

// renaming is a filter and what becomes of subjects that it matches.
type renaming struct {
	filter string
	to     *subject.Transform // nil: nothing
}

// newOrigin prepares copying; start begins it.
func newOrigin(s *Stream, cfg *jsapi.StreamSource, mirror bool) *origin {
	o := &origin{s: s, cfg: *cfg, mirror: mirror, sender: router.NewSender(s.account.index), done: make(chan struct{})}
	o.in.wake = make(chan struct{}, 1)
	for _, t := range cfg.SubjectTransforms {
		r := renaming{filter: orAll(t.Source)}
		if t.Destination != "" {
			r.to, _ = subject.NewTransform(r.filter, t.Destination) // the configuration was checked
		}
		o.rename = append(o.rename, r)
	}
	if !mirror {
		o.key = stream.OriginKey(o.label())
	}
	o.name = o.consumerName()
	return o
}

// consumerName makes up the name of the origin's consumer, which stays the same as long as this stream copies the same.
func (o *origin) consumerName() string {
	kind := "JS_SRC_"
	if o.mirror {
		kind = "JS_MIRROR_"
	}
	a := o.s.account
	return kind + subject.Hash8(strings.Join([]string{a.name, o.s.name, o.s.Created().Format(time.RFC3339Nano), o.key}, "\x00"))
}

func orAll(filter string) string {
	if filter == "" {
		return ">"
	}
	return filter
}

// label is how the headers of copied messages name the source: the stream, its filters and what becomes of subjects.
func (o *origin) label() (name, filter, transform string) {
	name, filter, transform = o.cfg.Name, orAll(o.cfg.FilterSubject), ">"
	if e := o.cfg.External; e != nil {
		name += ":" + subject.Hash8(e.APIPrefix)
	}
	if len(o.cfg.SubjectTransforms) > 0 {
		var from, to []string
		for _, t := range o.cfg.SubjectTransforms {
			from, to = append(from, orAll(t.Source)), append(to, orAll(t.Destination))
		}
		filter, transform = strings.Join(from, "\f"), strings.Join(to, "\f") // as the protocol has it
	}
	return name, filter, transform
}

func (o *origin) start() {
	ctx, cancel := context.WithCancel(context.Background())
	o.stop = cancel
	go o.run(ctx)
}

// end stops copying and waits until nothing is under way. forget says that it is for good, not because the server stops: the
// origin need not keep anything for it.
func (o *origin) end(forget bool) {
	o.forget.Store(forget)
	o.stop()
	<-o.done
}

// run copies until it is stopped.
func (o *origin) run(ctx context.Context) {
	defer close(o.done)
	defer o.serveDirect(false)
	defer func() {
		if o.forget.Load() && o.cfg.Consumer == nil {
			o.send(&router.Message{Subject: []byte(o.api() + "CONSUMER.DELETE." + o.cfg.Name + "." + o.name)})
		}
	}()
	wait := originFirst
	retry := originRetry
	for pause(ctx, wait) {
		copied, err := o.copy(ctx)
		if ctx.Err() != nil {
			return
		}
		if copied {
			retry = originRetry
		}
		o.failed(err)
		wait = retry
		retry = min(2*retry, originRetries)
	}
}

// pause waits and reports whether it was not stopped meanwhile.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (o *origin) failed(err error) {
	var fault *jsapi.Error
	if !errors.As(err, &fault) {
		o.s.account.service.opts.Logf("JetStream: stream %s > %s copies %s anew: %v", o.s.account.name, o.s.name, o.cfg.Name, err)
		return
	}
	o.mu.Lock()
	o.st.err = fault
	o.mu.Unlock()
}

// info describes the origin for the information about the stream.
func (o *origin) info() *jsapi.StreamSourceInfo {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := &jsapi.StreamSourceInfo{Name: o.cfg.Name, External: o.cfg.External, Lag: o.st.lag, Active: -1, Error: o.st.err,
		FilterSubject: o.cfg.FilterSubject, SubjectTransforms: o.cfg.SubjectTransforms}
	if !o.mirror {
		i.Seq = o.st.seq
	}
	if !o.st.heard.IsZero() {
		i.Active = time.Since(o.st.heard)
	}
	return i
}

// copy has a consumer made and stores what it sends, until something goes wrong. copied says that something came.
func (o *origin) copy(ctx context.Context) (copied bool, err error) {
	index := o.s.account.index
	o.in.reset()
	api, deliver := o.api(), "$JS"
	if e := o.cfg.External; e != nil && e.DeliverPrefix != "" {
		deliver = e.DeliverPrefix
	}
	kind := ".S."
	if o.mirror {
		kind = ".M."
	}
	to := deliver + kind + subject.Hash8(nuid.Next()) // ids of one process begin alike
	if c := o.cfg.Consumer; c != nil {
		to = c.DeliverSubject
	}
	sub := index.SubscribeReceiver(to, "", &o.in)
	defer index.Unsubscribe(sub)
	next, err := o.position()
	if err != nil {
		return false, err
	}
	c, err := o.request(ctx, api, to, next)
	if err != nil {
		return false, err
	}
	if !o.mirror && o.identity != o.identify() {
		return false, errOriginGone // and another one came meanwhile
	}
	if o.mirror && o.cfg.Consumer == nil && c.Delivered.Consumer == 0 {
		if err := o.s.set.First().Skip(c.Delivered.Stream); err != nil {
			return false, err
		}
	}
	o.mu.Lock()
	o.st.err, o.st.lag, o.st.heard, o.st.seq = nil, c.NumPending, time.Now(), max(next, 1)-1
	o.mu.Unlock()
	return o.follow(ctx)
}

// api is what requests to the origin begin with.
func (o *origin) api() string {
	if e := o.cfg.External; e != nil {
		return e.APIPrefix + "."
	}
	return jsapi.Prefix
}

// position is the first sequence of the origin that was not taken yet; 0 is wherever the configuration begins.
func (o *origin) position() (uint64, error) {
	if o.mirror {
		if last := o.s.set.First().LastSeq(); last >= max(1, o.cfg.OptStartSeq) {
			return last + 1, nil
		}
		return 0, nil
	}
	o.identity = o.identify()
	at, err := o.s.set.First().Sourced(o.key)
	if err != nil {
		return 0, err
	}
	if at.Seq > 0 && at.Identity == o.identity {
		return at.Seq + 1, nil
	}
	return 0, nil // nothing was taken, or from another stream of the name
}

// identify returns what tells the origin from other streams that had its name, empty if it is not at hand.
func (o *origin) identify() string {
	if o.cfg.External != nil {
		return ""
	}
	if s := o.s.account.Stream(o.cfg.Name); s != nil {
		return subject.Hash8(s.Created().Format(time.RFC3339Nano))
	}
	return ""
}

// request has a consumer made, or one that exists begin at a sequence.
func (o *origin) request(ctx context.Context, api, to string, next uint64) (*jsapi.ConsumerInfo, error) {
	if c := o.cfg.Consumer; c != nil {
		var resp jsapi.ConsumerResetResponse
		body := []byte(nil)
		if next > 0 {
			body = fmt.Appendf(nil, `{"seq":%d}`, next)
		}
		if err := o.ask(ctx, api+"CONSUMER.RESET."+o.cfg.Name+"."+c.Name, body, &resp, &resp.Header); err != nil {
			return nil, err
		}
		if resp.ConsumerInfo == nil {
			return &jsapi.ConsumerInfo{Name: c.Name}, nil
		}
		return resp.ConsumerInfo, nil
	}
	cfg := jsapi.ConsumerConfig{Name: o.name, DeliverSubject: to, DeliverPolicy: jsapi.DeliverAll, AckPolicy: jsapi.AckNone, AckWait: 22 * time.Hour, MaxDeliver: 1,
		FlowControl: true, Heartbeat: originBeat, InactiveThreshold: originSilence, Direct: true, Sourcing: true, MemoryStorage: true,
		FilterSubject: o.cfg.FilterSubject}
	for _, r := range o.rename {
		cfg.FilterSubjects = append(cfg.FilterSubjects, r.filter)
	}
	if len(cfg.FilterSubjects) == 1 {
		cfg.FilterSubject, cfg.FilterSubjects = cfg.FilterSubjects[0], nil
	}
	switch {
	case next > 0:
		cfg.DeliverPolicy, cfg.OptStartSeq = jsapi.DeliverByStartSequence, next
	case o.cfg.OptStartSeq > 0:
		cfg.DeliverPolicy, cfg.OptStartSeq = jsapi.DeliverByStartSequence, o.cfg.OptStartSeq
	case o.cfg.OptStartTime != nil:
		cfg.DeliverPolicy, cfg.OptStartTime = jsapi.DeliverByStartTime, o.cfg.OptStartTime
	}
	req, err := json.Marshal(&jsapi.CreateConsumerRequest{Stream: o.cfg.Name, Config: cfg})
	if err != nil {
		return nil, err
	}
	var resp jsapi.ConsumerResponse
	if err := o.ask(ctx, api+"CONSUMER.CREATE."+o.cfg.Name, req, &resp, &resp.Header); err != nil {
		return nil, err
	}
	if resp.ConsumerInfo == nil {
		return nil, errOriginGone
	}
	return resp.ConsumerInfo, nil
}

// ask makes a request and decodes the answer.
func (o *origin) ask(ctx context.Context, to string, body []byte, into any, head *jsapi.Header) error {
	answers := &inbox{wake: make(chan struct{}, 1)}
	reply := "$JSC.R." + nuid.Next()
	sub := o.s.account.index.SubscribeReceiver(reply, "", answers)
	defer o.s.account.index.Unsubscribe(sub)
	if o.send(&router.Message{Subject: []byte(to), Reply: []byte(reply), Payload: body}) == 0 {
		return jsapi.Err(jsapi.ErrStreamNotFound)
	}
	timer := time.NewTimer(originAnswer)
	defer timer.Stop()
	select {
	case <-answers.wake:
	case <-timer.C:
		return errOriginSilent
	case <-ctx.Done():
		return ctx.Err()
	}
	list, _ := answers.take()
	if len(list) == 0 {
		return errOriginSilent
	}
	if err := json.Unmarshal(list[0].Payload, into); err != nil {
		return fmt.Errorf("answer of the origin: %w", err)
	}
	if head.Error != nil {
		return head.Error
	}
	return nil
}

func (o *origin) send(m *router.Message) int {
	n := o.sender.Send(m)
	o.sender.Flush()
	return n
}

// follow stores what comes.
func (o *origin) follow(ctx context.Context) (copied bool, err error) {
	silence := time.NewTimer(originSilence)
	defer silence.Stop()
	expected := uint64(1) // consumer sequence
	var batch []stream.Copied
	for {
		select {
		case <-o.in.wake:
		case <-silence.C:
			return copied, errOriginSilent
		case <-ctx.Done():
			return copied, ctx.Err()
		}
		silence.Reset(originSilence)
		list, flooded := o.in.take()
		lag := uint64(0)
		for i := range list {
			m := &list[i]
			if status, ok := bytes.CutPrefix(m.Header, []byte("NATS/1.0 ")); ok {
				if err := o.store(&batch, lag); err != nil {
					return copied, err
				}
				if err := o.status(m, status, expected); err != nil {
					return copied, err
				}
				continue
			}
			d, ok := parseDelivery(m.Reply)
			if !ok {
				continue
			}
			if o.cfg.Consumer != nil && expected == 1 {
				expected = d.consumer // it went on from where it was
			}
			if d.consumer != expected {
				return copied, errOriginGap
			}
			expected++
			copied = true
			batch = append(batch, o.translate(m, &d))
			if lag = d.pending; len(batch) >= originBatch {
				if err := o.store(&batch, lag); err != nil {
					return copied, err
				}
			}
		}
		if err := o.store(&batch, lag); err != nil {
			return copied, err
		}
		if flooded {
			return copied, errOriginFlood
		}
		o.mu.Lock()
		o.st.heard = time.Now()
		behind := o.st.lag
		o.mu.Unlock()
		o.serveDirect(behind < directLag)
	}
}

// serveDirect makes direct gets for the origin come here while the mirror is close behind it, if it is to answer them. Where
// the origin itself is at hand it answers alone, as it has what was just written.
func (o *origin) serveDirect(close bool) {
	near := o.s.account.Stream(o.cfg.Name)
	want := close && o.mirror && o.s.Config().MirrorDirect && (o.cfg.External != nil || near == nil)
	switch {
	case want && o.direct == nil:
		o.direct = o.s.routeDirect(o.cfg.Name)
	case !want:
		for _, sub := range o.direct {
			o.s.account.index.Unsubscribe(sub)
		}
		o.direct = nil
	}
}

// status handles a heartbeat or a flow control request. text is the status line and what follows.
func (o *origin) status(m *router.Message, text []byte, expected uint64) error {
	switch {
	case bytes.HasPrefix(text, []byte("100 ")):
	case bytes.HasPrefix(text, []byte("409 ")):
		return errOriginGone
	default:
		return nil
	}
	if v, ok := headerValue(m.Header, "Nats-Last-Consumer"); ok && o.cfg.Consumer == nil {
		if last, err := strconv.ParseUint(string(v), 10, 64); err == nil && last != expected-1 {
			return errOriginGap
		}
	}
	to := m.Reply
	if v, ok := headerValue(m.Header, "Nats-Consumer-Stalled"); ok {
		to = v
	}
	if len(to) > 0 {
		o.mu.Lock()
		seq := o.st.seq
		o.mu.Unlock()
		o.send(&router.Message{Subject: to, Header: fmt.Appendf(nil, "NATS/1.0\r\nNats-Last-Stream: %d\r\n\r\n", seq)})
	}
	return nil
}

// store stores a batch and empties it. lag is how many messages follow.
func (o *origin) store(batch *[]stream.Copied, lag uint64) error {
	list := *batch
	if len(list) == 0 {
		return nil
	}
	*batch = list[:0]
	var err *jsapi.Error
	if o.mirror {
		err = o.s.set.First().Mirror(list)
	} else {
		err = o.s.set.First().Source(list)
	}
	if err != nil {
		return err
	}
	o.mu.Lock()
	o.st.seq, o.st.lag, o.st.err = list[len(list)-1].Seq, lag, nil
	o.mu.Unlock()
	clear(list)
	return nil
}

// translate makes what is stored of a message.
func (o *origin) translate(m *router.Message, d *delivered) stream.Copied {
	c := stream.Copied{Subject: m.Subject, Header: m.Header, Value: m.Payload, Seq: d.stream, Time: d.time}
	for _, r := range o.rename {
		if r.to != nil && subject.Match(r.filter, m.Subject) {
			if to, ok := r.to.Append(nil, string(m.Subject)); ok {
				c.Subject = to
			}
			break
		}
	}
	if o.mirror {
		c.Header = stream.WithoutExpectations(m.Header)
	} else {
		name, filter, transform := o.label()
		line := fmt.Sprintf("%s: %s %d %s %s %s %s", stream.HeaderSource, name, d.stream, filter, transform, m.Subject, o.identity)
		head := stream.StripExpectations(nil, m.Header)
		c.Header = append(append(head[:len(head)-2], strings.TrimRight(line, " ")...), "\r\n\r\n"...)
	}
	return c
}

// delivered is what the reply subject of a delivery says.
type delivered struct {
	stream, consumer, pending uint64
	time                      int64
}

// parseDelivery reads $JS.ACK.<stream>.<consumer>.<deliveries>.<stream seq>.<consumer seq>.<time>.<pending>, or the longer
// form with domain and account.
func parseDelivery(reply []byte) (d delivered, ok bool) {
	words := bytes.Split(reply, []byte("."))
	at := 4
	if len(words) >= 11 {
		at = 6
	}
	if len(words) < at+5 || string(words[0]) != "$JS" || string(words[1]) != "ACK" {
		return d, false
	}
	var n [5]uint64
	for i := range n {
		v, err := strconv.ParseUint(string(words[at+i]), 10, 63)
		if err != nil {
			return d, false
		}
		n[i] = v
	}
	return delivered{n[1], n[2], n[4], int64(n[3])}, n[1] > 0
}
