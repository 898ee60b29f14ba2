package jsapi

import (
	"fmt"
	"time"
)

// ConsumerConfig is a consumer's configuration. Durations are nanoseconds.
type ConsumerConfig struct {
	Durable           string            `json:"durable_name,omitempty"`
	Name              string            `json:"name,omitempty"`
	Description       string            `json:"description,omitempty"`
	DeliverPolicy     DeliverPolicy     `json:"deliver_policy"`
	OptStartSeq       uint64            `json:"opt_start_seq,omitempty"`
	OptStartTime      *time.Time        `json:"opt_start_time,omitempty"`
	AckPolicy         AckPolicy         `json:"ack_policy"`
	AckWait           time.Duration     `json:"ack_wait,omitempty"`
	MaxDeliver        int               `json:"max_deliver,omitempty"`
	BackOff           []time.Duration   `json:"backoff,omitempty"`
	FilterSubject     string            `json:"filter_subject,omitempty"`
	FilterSubjects    []string          `json:"filter_subjects,omitempty"`
	ReplayPolicy      ReplayPolicy      `json:"replay_policy"`
	RateLimit         uint64            `json:"rate_limit_bps,omitempty"`
	SampleFrequency   string            `json:"sample_freq,omitempty"`
	MaxWaiting        int               `json:"max_waiting,omitempty"`
	MaxAckPending     int               `json:"max_ack_pending,omitempty"`
	FlowControl       bool              `json:"flow_control,omitempty"`
	HeadersOnly       bool              `json:"headers_only,omitempty"`
	MaxRequestBatch   int               `json:"max_batch,omitempty"`
	MaxRequestExpires time.Duration     `json:"max_expires,omitempty"`
	MaxRequestBytes   int               `json:"max_bytes,omitempty"`
	DeliverSubject    string            `json:"deliver_subject,omitempty"`
	DeliverGroup      string            `json:"deliver_group,omitempty"`
	Heartbeat         time.Duration     `json:"idle_heartbeat,omitempty"`
	InactiveThreshold time.Duration     `json:"inactive_threshold,omitempty"`
	Replicas          int               `json:"num_replicas"`
	MemoryStorage     bool              `json:"mem_storage,omitempty"`
	Direct            bool              `json:"direct,omitempty"`
	Sourcing          bool              `json:"sourcing,omitempty"`
	Metadata          map[string]string `json:"metadata,omitempty"`
	PauseUntil        *time.Time        `json:"pause_until,omitempty"`
	PriorityGroups    []string          `json:"priority_groups,omitempty"`
	PriorityPolicy    PriorityPolicy    `json:"priority_policy,omitempty"`
	PriorityTimeout   time.Duration     `json:"priority_timeout,omitempty"`
}

// Push says whether messages are pushed to a subject.
func (c *ConsumerConfig) Push() bool { return c.DeliverSubject != "" }

// Filters returns the filter subjects, none for all messages. The result may be shared with c.
func (c *ConsumerConfig) Filters() []string {
	if c.FilterSubject != "" {
		return []string{c.FilterSubject}
	}
	return c.FilterSubjects
}

// Action says what a consumer create request may do.
type Action string

// Actions.
const (
	ActionAny    Action = ""
	ActionCreate Action = "create"
	ActionUpdate Action = "update"
)

// UnmarshalJSON implements json.Unmarshaler.
func (a *Action) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case `""`:
		*a = ActionAny
	case `"create"`:
		*a = ActionCreate
	case `"update"`:
		*a = ActionUpdate
	default:
		return fmt.Errorf("unknown consumer action: %s", b)
	}
	return nil
}

// CreateConsumerRequest is the body of CONSUMER.CREATE and CONSUMER.DURABLE.CREATE.
type CreateConsumerRequest struct {
	Stream   string         `json:"stream_name"`
	Config   ConsumerConfig `json:"config"`
	Action   Action         `json:"action"`
	Pedantic bool           `json:"pedantic,omitempty"`
}

// SequenceInfo is a position in a consumer and in its stream.
type SequenceInfo struct {
	Consumer uint64     `json:"consumer_seq"`
	Stream   uint64     `json:"stream_seq"`
	Last     *time.Time `json:"last_active,omitempty"`
}

// ConsumerInfo describes a consumer.
type ConsumerInfo struct {
	Stream         string          `json:"stream_name"`
	Name           string          `json:"name"`
	Created        time.Time       `json:"created"`
	Config         *ConsumerConfig `json:"config,omitempty"`
	Delivered      SequenceInfo    `json:"delivered"`
	AckFloor       SequenceInfo    `json:"ack_floor"`
	NumAckPending  int             `json:"num_ack_pending"`
	NumRedelivered int             `json:"num_redelivered"`
	NumWaiting     int             `json:"num_waiting"`
	NumPending     uint64          `json:"num_pending"`
	Cluster        *ClusterInfo    `json:"cluster,omitempty"`
	PushBound      bool            `json:"push_bound,omitempty"`
	Paused         bool            `json:"paused,omitempty"`
	PauseRemaining time.Duration   `json:"pause_remaining,omitempty"`
	Time           time.Time       `json:"ts"`

	PriorityGroups []PriorityGroupState `json:"priority_groups,omitempty"`
	// Partitions says how far the consumer is in each of them, if the stream has several.
	Partitions []ConsumerPartition `json:"partitions,omitempty"`
}

// ConsumerPartition is how far a consumer is in one partition.
type ConsumerPartition struct {
	Partition     int    `json:"partition"`
	Delivered     uint64 `json:"delivered"` // stream sequence
	AckFloor      uint64 `json:"ack_floor"` // stream sequence
	NumAckPending int    `json:"num_ack_pending"`
	Lag           uint64 `json:"lag"` // messages that are still to be delivered
}

// PriorityGroupState says who is pinned in a group of clients.
type PriorityGroupState struct {
	Group          string    `json:"group"`
	PinnedClientID string    `json:"pinned_client_id,omitempty"`
	PinnedTime     time.Time `json:"pinned_ts"`
}
