package jsapi

import "time"

// The requests about what a consumer has delivered and how far it is behind, which only this server has. docs/api.md explains them.

// InflightPage is the most messages, and LagPage the most consumers, of one answer.
const (
	InflightPage = 256
	LagPage      = 256
)

// InflightRequest is the body of GODWIT.V1.CONSUMER.INFLIGHT, which may be absent.
type InflightRequest struct {
	From  uint64 `json:"from_seq,omitempty"` // stream sequence; 0 is the first
	Limit int    `json:"limit,omitempty"`    // 0 is InflightPage, which is the most
}

// InflightState says what a message waits for.
type InflightState string

const (
	InflightPending InflightState = "pending" // its acknowledgement, or the deadline
	InflightDelayed InflightState = "delayed" // the end of a delay that a client asked for
	InflightQueued  InflightState = "queued"  // being delivered again
	InflightDead    InflightState = "dead"    // nothing: it was delivered as often as max_deliver allows
)

// InflightMessage is a message that was delivered and is not resolved.
type InflightMessage struct {
	Stream     uint64        `json:"stream_seq"`
	Consumer   uint64        `json:"consumer_seq"` // of the first delivery
	Subject    string        `json:"subject,omitempty"`
	Partition  int           `json:"partition"`
	State      InflightState `json:"state"`
	Deliveries int           `json:"deliveries"`
	Deadline   *time.Time    `json:"deadline,omitempty"` // of pending and delayed ones
	Stored     *time.Time    `json:"stored,omitempty"`   // when the message was
}

// InflightResponse answers it. Messages ascend by stream sequence.
type InflightResponse struct {
	Header
	Total    int               `json:"total"`
	Next     uint64            `json:"next_seq,omitempty"` // from_seq of the next page; absent on the last one
	Messages []InflightMessage `json:"messages"`
}

// InflightAction is what may be done to a message.
type InflightAction string

const (
	ActRelease     InflightAction = "release"
	ActExtend      InflightAction = "extend"
	ActTerminate   InflightAction = "terminate"
	ActAcknowledge InflightAction = "acknowledge"
)

// InflightAct is the body of GODWIT.V1.CONSUMER.ACT.
type InflightAct struct {
	Seq      uint64         `json:"seq"` // stream sequence
	Action   InflightAction `json:"action"`
	Duration time.Duration  `json:"duration,omitempty"` // of extend, ns; more than 0
	Reason   string         `json:"reason,omitempty"`   // of terminate, for the advisory
}

// ConsumerLag is how far a consumer is behind.
type ConsumerLag struct {
	Stream   string `json:"stream_name"`
	Consumer string `json:"name"`
	Messages uint64 `json:"messages"` // to be delivered
	// Bytes is about what those take: their number times the average size of the stream's messages.
	Bytes       uint64 `json:"bytes"`
	Unacked     int    `json:"unacknowledged"` // delivered, and neither acknowledged nor terminated
	Dead        int    `json:"dead"`           // of those, delivered as often as max_deliver allows
	Undelivered *LagOf `json:"oldest_undelivered,omitempty"`
	Oldest      *LagOf `json:"oldest_unacknowledged,omitempty"`
}

// LagOf is the oldest of the messages that are waited for.
type LagOf struct {
	Seq  uint64    `json:"seq"`
	Time time.Time `json:"time"`
	Age  float64   `json:"age_seconds"`
}

// ConsumerLagResponse answers GODWIT.V1.CONSUMER.LAG.
type ConsumerLagResponse struct {
	Header
	*ConsumerLag
}

// StreamLagResponse answers GODWIT.V1.STREAM.LAG with a page of its consumers, by name.
type StreamLagResponse struct {
	Header
	Page
	Consumers []*ConsumerLag `json:"consumers"`
}
