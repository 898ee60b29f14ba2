package wire

import "time"

// StreamConfig is the part of a stream's configuration that we set.
type StreamConfig struct {
	Name          string   `json:"name"`
	Subjects      []string `json:"subjects"`
	Storage       string   `json:"storage"`
	Replicas      int      `json:"num_replicas"`
	Retention     string   `json:"retention,omitempty"`
	Discard       string   `json:"discard,omitempty"`
	MaxMsgsPerSub int64    `json:"max_msgs_per_subject,omitempty"`
	AllowDirect   bool     `json:"allow_direct,omitempty"`
	AllowRollup   bool     `json:"allow_rollup_hdrs,omitempty"`
	DenyDelete    bool     `json:"deny_delete,omitempty"`
	AllowAtomic   bool     `json:"allow_atomic,omitempty"`
	AllowBatched  bool     `json:"allow_batched,omitempty"`
}

// StreamInfo is the part of a stream's state that we check.
type StreamInfo struct {
	Config StreamConfig `json:"config"`
	State  struct {
		Msgs       uint64 `json:"messages"`
		FirstSeq   uint64 `json:"first_seq"`
		LastSeq    uint64 `json:"last_seq"`
		NumDeleted int    `json:"num_deleted"`
	} `json:"state"`
	Cluster struct {
		Leader   string `json:"leader"`
		Replicas []struct {
			Name    string `json:"name"`
			Current bool   `json:"current"`
			Lag     uint64 `json:"lag"`
		} `json:"replicas"`
	} `json:"cluster"`
}

// ConsumerConfig is the part of a consumer's configuration that we set.
type ConsumerConfig struct {
	Durable        string        `json:"durable_name,omitempty"`
	Name           string        `json:"name,omitempty"`
	AckPolicy      string        `json:"ack_policy"`
	DeliverPolicy  string        `json:"deliver_policy"`
	ReplayPolicy   string        `json:"replay_policy"`
	AckWait        time.Duration `json:"ack_wait,omitempty"`
	MaxAckPending  int           `json:"max_ack_pending,omitempty"`
	DeliverSubject string        `json:"deliver_subject,omitempty"`
	FlowControl    bool          `json:"flow_control,omitempty"`
	Heartbeat      time.Duration `json:"idle_heartbeat,omitempty"`
}

// ConsumerInfo is the part of a consumer's state that we check.
type ConsumerInfo struct {
	AckFloor struct {
		Stream uint64 `json:"stream_seq"`
	} `json:"ack_floor"`
	NumAckPending  int    `json:"num_ack_pending"`
	NumRedelivered int    `json:"num_redelivered"`
	NumPending     uint64 `json:"num_pending"`
}
