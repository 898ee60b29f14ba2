package jetstream

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nuid"

	"godwit/stream/consumer"
	"godwit/stream/sequence"
)

// advisoryPrefix opens the subject of every advisory, and advisoryType its type.
const (
	advisoryPrefix = "$JS.EVENT.ADVISORY."
	advisoryType   = "io.nats.jetstream.advisory.v1."
)

// advisory opens every advisory.
type advisory struct {
	Type   string    `json:"type"`
	ID     string    `json:"id"`
	Time   time.Time `json:"timestamp"`
	Stream string    `json:"stream,omitempty"`
}

func newAdvisory(kind, stream string) advisory {
	return advisory{advisoryType + kind, nuid.Next(), time.Now().UTC(), stream}
}

// hooks is told of what happens in a stream's partition, by its turn, and reports it. It implements stream.Hooks.
type hooks struct {
	s       *Stream
	numbers sequence.Scheme // of the partition. Advisories about all of them come from the first
	out     *output
}

// place names the partition, if there are several.
func (h *hooks) place() string {
	if !h.numbers.Several() {
		return ""
	}
	return fmt.Sprintf("partition %d: ", h.numbers.Partition)
}

// send publishes an advisory if anybody listens.
func (h *hooks) send(subject string, make func() any) { h.publish(advisoryPrefix+subject, make) }

func (h *hooks) publish(subject string, make func() any) {
	to := []byte(subject)
	if !h.out.Interest(to) {
		return
	}
	body, err := json.Marshal(make())
	if err != nil {
		h.s.account.service.opts.Warnf("JetStream: advisory %s: %v", subject, err)
		return
	}
	h.out.Deliver(to, &consumer.Message{Subject: to, Payload: body})
}

// abandoned is the advisory about a batch that was given up.
type abandoned struct {
	advisory
	Account string `json:"account"`
	Batch   string `json:"batch"`
	Reason  string `json:"reason"`
}

// BatchAbandoned implements stream.BatchHooks.
func (h *hooks) BatchAbandoned(id, reason string) {
	h.send("STREAM.BATCH_ABANDONED."+h.s.name, func() any {
		return &abandoned{newAdvisory("stream_batch_abandoned", h.s.name), h.s.account.name, id, reason}
	})
}

// delivery is what advisories say of a delivered message.
type delivery struct {
	advisory
	Consumer    string `json:"consumer"`
	ConsumerSeq uint64 `json:"consumer_seq,omitempty"`
	StreamSeq   uint64 `json:"stream_seq"`
	Deliveries  int    `json:"deliveries"`
	Reason      string `json:"reason,omitempty"`
	Domain      string `json:"domain,omitempty"`
}

func (h *hooks) delivery(kind string, c *consumer.Consumer, seq, cseq uint64, deliveries int, reason string) any {
	return delivery{newAdvisory(kind, c.Stream), c.Name, h.numbers.Global(cseq), h.numbers.Global(seq), deliveries, reason, h.s.account.service.opts.Domain}
}

// Exceeded implements consumer.Events.
func (h *hooks) Exceeded(c *consumer.Consumer, seq uint64, deliveries int) {
	h.send("CONSUMER.MAX_DELIVERIES."+c.Stream+"."+c.Name, func() any {
		return h.delivery("max_deliver", c, seq, 0, deliveries, "")
	})
}

// Naked implements consumer.Events.
func (h *hooks) Naked(c *consumer.Consumer, seq, cseq uint64, deliveries int) {
	h.send("CONSUMER.MSG_NAKED."+c.Stream+"."+c.Name, func() any {
		return h.delivery("nak", c, seq, cseq, deliveries, "")
	})
}

// Terminated implements consumer.Events.
func (h *hooks) Terminated(c *consumer.Consumer, seq, cseq uint64, deliveries int, reason string) {
	h.send("CONSUMER.MSG_TERMINATED."+c.Stream+"."+c.Name, func() any {
		return h.delivery("terminated", c, seq, cseq, deliveries, reason)
	})
}

// Sampled implements consumer.Events.
func (h *hooks) Sampled(c *consumer.Consumer, seq, cseq uint64, deliveries int, took time.Duration) {
	h.publish("$JS.EVENT.METRIC.CONSUMER.ACK."+c.Stream+"."+c.Name, func() any {
		a := newAdvisory("", c.Stream)
		a.Type = "io.nats.jetstream.metric.v1.consumer_ack"
		return struct {
			advisory
			Consumer    string        `json:"consumer"`
			ConsumerSeq uint64        `json:"consumer_seq"`
			StreamSeq   uint64        `json:"stream_seq"`
			AckTime     time.Duration `json:"ack_time"`
			Deliveries  int           `json:"deliveries"`
			Domain      string        `json:"domain,omitempty"`
		}{a, c.Name, h.numbers.Global(cseq), h.numbers.Global(seq), took, deliveries, h.s.account.service.opts.Domain}
	})
}

// pinning is an advisory about the pinned client of a consumer.
type pinning struct {
	advisory
	Account  string `json:"account,omitempty"`
	Consumer string `json:"consumer"`
	Group    string `json:"group"`
	PinnedID string `json:"pinned_id,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Domain   string `json:"domain,omitempty"`
}

// Pinned implements consumer.Events.
func (h *hooks) Pinned(c *consumer.Consumer, group, id string) {
	h.send("CONSUMER.PINNED."+c.Stream+"."+c.Name, func() any {
		return pinning{newAdvisory("consumer_group_pinned", c.Stream), h.s.account.name, c.Name, group, id, "",
			h.s.account.service.opts.Domain}
	})
}

// Unpinned implements consumer.Events.
func (h *hooks) Unpinned(c *consumer.Consumer, group, reason string) {
	h.send("CONSUMER.UNPINNED."+c.Stream+"."+c.Name, func() any {
		return pinning{newAdvisory("consumer_group_unpinned", c.Stream), h.s.account.name, c.Name, group, "", reason,
			h.s.account.service.opts.Domain}
	})
}

// Paused implements consumer.Events.
func (h *hooks) Paused(c *consumer.Consumer, until time.Time, paused bool) {
	if h.numbers.Partition != 0 {
		return
	}
	h.send("CONSUMER.PAUSE."+c.Stream+"."+c.Name, func() any {
		return struct {
			advisory
			Consumer   string    `json:"consumer"`
			Paused     bool      `json:"paused"`
			PauseUntil time.Time `json:"pause_until,omitzero"`
			Domain     string    `json:"domain,omitempty"`
		}{newAdvisory("consumer_pause", c.Stream), c.Name, paused, until, h.s.account.service.opts.Domain}
	})
}

// action is an advisory about something created, changed or deleted.
type action struct {
	advisory
	Consumer string `json:"consumer,omitempty"`
	Action   string `json:"action"`
	Domain   string `json:"domain,omitempty"`
}

// ConsumerFound implements stream.Hooks.
func (h *hooks) ConsumerFound(c *consumer.Consumer) {
	if h.numbers.Partition == 0 { // the others have it already
		h.s.routeConsumer(c)
	}
}

// ConsumerAdded implements stream.Hooks.
func (h *hooks) ConsumerAdded(c *consumer.Consumer) {
	if h.numbers.Partition != 0 {
		return
	}
	h.s.routeConsumer(c)
	h.send("CONSUMER.CREATED."+c.Stream+"."+c.Name, func() any {
		return action{newAdvisory("consumer_action", c.Stream), c.Name, "create", h.s.account.service.opts.Domain}
	})
}

// ConsumerRemoved implements stream.Hooks.
func (h *hooks) ConsumerRemoved(c *consumer.Consumer) {
	if h.numbers.Partition != 0 {
		return
	}
	h.s.unrouteConsumer(c)
	h.send("CONSUMER.DELETED."+c.Stream+"."+c.Name, func() any {
		return action{newAdvisory("consumer_action", c.Stream), c.Name, "delete", h.s.account.service.opts.Domain}
	})
}

// Failed implements stream.Hooks.
func (h *hooks) Failed(err error) {
	h.s.account.service.problem(Problem{Account: h.s.account.name, Stream: h.s.name, Text: h.place() + "write failed: " + err.Error()})
}

// Damaged implements stream.Hooks.
func (h *hooks) Damaged(err error) {
	h.s.account.service.problem(Problem{Account: h.s.account.name, Stream: h.s.name, Text: h.place() + err.Error()})
}
