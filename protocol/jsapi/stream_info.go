package jsapi

import "time"

// StreamState is what a stream holds.
type StreamState struct {
	Msgs        uint64            `json:"messages"`
	Bytes       uint64            `json:"bytes"`
	FirstSeq    uint64            `json:"first_seq"`
	FirstTime   time.Time         `json:"first_ts"`
	LastSeq     uint64            `json:"last_seq"`
	LastTime    time.Time         `json:"last_ts"`
	NumSubjects int               `json:"num_subjects,omitempty"`
	Subjects    map[string]uint64 `json:"subjects,omitempty"`
	NumDeleted  int               `json:"num_deleted,omitempty"`
	Deleted     []uint64          `json:"deleted,omitempty"`
	Lost        *LostStreamData   `json:"lost,omitempty"`
	Consumers   int               `json:"consumer_count"`
}

// LostStreamData names messages that damage has taken.
type LostStreamData struct {
	Msgs  []uint64 `json:"msgs"`
	Bytes uint64   `json:"bytes"`
}

// StreamInfo describes a stream.
type StreamInfo struct {
	Config  StreamConfig `json:"config"`
	Created time.Time    `json:"created"`
	State   StreamState  `json:"state"`
	Domain  string       `json:"domain,omitempty"`
	Cluster *ClusterInfo `json:"cluster,omitempty"`
	// Mirror and Sources are how far the stream is with what it copies.
	Mirror  *StreamSourceInfo   `json:"mirror,omitempty"`
	Sources []*StreamSourceInfo `json:"sources,omitempty"`
	Time    time.Time           `json:"ts"`
	// Partitions describes each of them, if there are several.
	Partitions []PartitionState `json:"partitions,omitempty"`
}

// PartitionState describes one partition of a stream.
type PartitionState struct {
	Partition int    `json:"partition"`
	Leader    string `json:"leader,omitempty"`
	Msgs      uint64 `json:"messages"`
	Bytes     uint64 `json:"bytes"`
	FirstSeq  uint64 `json:"first_seq"`
	LastSeq   uint64 `json:"last_seq"`
	// HighWaterMark is the last sequence that is as safe as promised, up to which consumers read.
	HighWaterMark uint64 `json:"high_water_mark"`
}

// StreamSourceInfo describes a mirror's origin or one source of a stream.
type StreamSourceInfo struct {
	Name              string             `json:"name"`
	External          *ExternalStream    `json:"external,omitempty"`
	Lag               uint64             `json:"lag"`           // messages that are still to come
	Seq               uint64             `json:"seq,omitempty"` // last sequence that was taken; of sources only
	Active            time.Duration      `json:"active"`        // since something was heard of it; -1 for never
	Error             *Error             `json:"error,omitempty"`
	FilterSubject     string             `json:"filter_subject,omitempty"`
	SubjectTransforms []SubjectTransform `json:"subject_transforms,omitempty"`
}

// ClusterInfo says which servers hold an asset. A standalone server only names itself.
type ClusterInfo struct {
	Name   string `json:"name,omitempty"`
	Leader string `json:"leader,omitempty"`
}

// StoredMessage is a message as MSG.GET answers it; Header and Data travel as base64.
type StoredMessage struct {
	Subject  string    `json:"subject"`
	Sequence uint64    `json:"seq"`
	Header   []byte    `json:"hdrs,omitempty"`
	Data     []byte    `json:"data,omitempty"`
	Time     time.Time `json:"time"`
}

// PubAck is the acknowledgement of a publish. The hot path writes it by hand; this is for errors and clients.
type PubAck struct {
	Error     *Error `json:"error,omitempty"`
	Stream    string `json:"stream"`
	Sequence  uint64 `json:"seq"`
	Domain    string `json:"domain,omitempty"`
	Duplicate bool   `json:"duplicate,omitempty"`
	Value     string `json:"val,omitempty"`   // new value of a counter
	Batch     string `json:"batch,omitempty"` // id of the batch that ends with the message
	Count     int    `json:"count,omitempty"` // messages in it
}
