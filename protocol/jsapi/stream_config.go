package jsapi

import "time"

// StreamConfig is a stream's configuration. Durations are nanoseconds, sizes bytes; -1 in a limit is none.
type StreamConfig struct {
	Name                   string            `json:"name"`
	Description            string            `json:"description,omitempty"`
	Subjects               []string          `json:"subjects,omitempty"`
	Retention              Retention         `json:"retention"`
	MaxConsumers           int               `json:"max_consumers"`
	MaxMsgs                int64             `json:"max_msgs"`
	MaxBytes               int64             `json:"max_bytes"`
	MaxAge                 time.Duration     `json:"max_age"`
	MaxMsgsPerSubject      int64             `json:"max_msgs_per_subject"`
	MaxMsgSize             int32             `json:"max_msg_size"`
	Discard                Discard           `json:"discard"`
	Storage                Storage           `json:"storage"`
	Replicas               int               `json:"num_replicas"`
	NoAck                  bool              `json:"no_ack,omitempty"`
	Duplicates             time.Duration     `json:"duplicate_window,omitempty"`
	Placement              *Placement        `json:"placement,omitempty"`
	Mirror                 *StreamSource     `json:"mirror,omitempty"`
	Sources                []*StreamSource   `json:"sources,omitempty"`
	Compression            Compression       `json:"compression"`
	FirstSeq               uint64            `json:"first_seq,omitempty"`
	SubjectTransform       *SubjectTransform `json:"subject_transform,omitempty"`
	Republish              *Republish        `json:"republish,omitempty"`
	AllowDirect            bool              `json:"allow_direct"`
	MirrorDirect           bool              `json:"mirror_direct"`
	DiscardNewPerSubject   bool              `json:"discard_new_per_subject,omitempty"`
	Sealed                 bool              `json:"sealed"`
	DenyDelete             bool              `json:"deny_delete"`
	DenyPurge              bool              `json:"deny_purge"`
	AllowRollup            bool              `json:"allow_rollup_hdrs"`
	ConsumerLimits         ConsumerLimits    `json:"consumer_limits"`
	AllowMsgTTL            bool              `json:"allow_msg_ttl"`
	SubjectDeleteMarkerTTL time.Duration     `json:"subject_delete_marker_ttl,omitempty"`
	AllowMsgCounter        bool              `json:"allow_msg_counter,omitempty"`
	AllowAtomicPublish     bool              `json:"allow_atomic,omitempty"`
	AllowBatchPublish      bool              `json:"allow_batched,omitempty"`
	AllowMsgSchedules      bool              `json:"allow_msg_schedules,omitempty"`
	PersistMode            PersistMode       `json:"persist_mode,omitempty"`
	Metadata               map[string]string `json:"metadata,omitempty"`

	// Partitions divides the stream; 0 is one. PartitionKey says what decides where a message goes.
	Partitions   int    `json:"partitions,omitempty"`
	PartitionKey string `json:"partition_key,omitempty"`
}

// Placement guides where replicas go.
type Placement struct {
	Cluster   string   `json:"cluster,omitempty"`
	Tags      []string `json:"tags,omitempty"`
	Preferred string   `json:"preferred,omitempty"`
}

// SubjectTransform maps subjects.
type SubjectTransform struct {
	Source      string `json:"src"`
	Destination string `json:"dest"`
}

// Republish sends stored messages on as core messages.
type Republish struct {
	Source      string `json:"src,omitempty"`
	Destination string `json:"dest"`
	HeadersOnly bool   `json:"headers_only,omitempty"`
}

// ConsumerLimits bounds what consumers of a stream may ask for.
type ConsumerLimits struct {
	InactiveThreshold time.Duration `json:"inactive_threshold,omitempty"`
	MaxAckPending     int           `json:"max_ack_pending,omitempty"`
}

// StreamSource names the origin of a mirror or a source.
type StreamSource struct {
	Name              string                `json:"name"`
	OptStartSeq       uint64                `json:"opt_start_seq,omitempty"`
	OptStartTime      *time.Time            `json:"opt_start_time,omitempty"`
	FilterSubject     string                `json:"filter_subject,omitempty"`
	SubjectTransforms []SubjectTransform    `json:"subject_transforms,omitempty"`
	External          *ExternalStream       `json:"external,omitempty"`
	Consumer          *StreamSourceConsumer `json:"consumer,omitempty"`
}

// ExternalStream says how an origin outside the account is reached.
type ExternalStream struct {
	APIPrefix     string `json:"api"`
	DeliverPrefix string `json:"deliver"`
}

// StreamSourceConsumer names an existing consumer to source from.
type StreamSourceConsumer struct {
	Name           string `json:"name,omitempty"`
	DeliverSubject string `json:"deliver_subject,omitempty"`
}

// StreamConfigRequest is the body of STREAM.CREATE and STREAM.UPDATE.
type StreamConfigRequest struct {
	StreamConfig
	// Pedantic turns silent corrections into errors.
	Pedantic bool `json:"pedantic,omitempty"`
}
