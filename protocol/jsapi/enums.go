package jsapi

import (
	"errors"
	"fmt"
)

// errCompression is the one enumeration with its own decoding text.
var errCompression = errors.New("unknown compression algorithm")

// Retention says when a message may go.
type Retention uint8

// Retention policies.
const (
	LimitsRetention Retention = iota
	InterestRetention
	WorkQueueRetention
)

// Discard says which message goes at a limit.
type Discard uint8

// Discard policies.
const (
	DiscardOld Discard = iota
	DiscardNew
)

// Storage says where a stream lives.
type Storage uint8

// Storage types.
const (
	FileStorage Storage = iota
	MemoryStorage
)

// Compression says how stored blocks are compressed.
type Compression uint8

// Compressions.
const (
	NoCompression Compression = iota
	S2Compression
)

// PersistMode says whether a message is acknowledged before it is flushed.
type PersistMode uint8

// Persist modes.
const (
	DefaultPersist PersistMode = iota
	AsyncPersist
)

// DeliverPolicy says where a consumer starts.
type DeliverPolicy uint8

// Deliver policies.
const (
	DeliverAll DeliverPolicy = iota
	DeliverLast
	DeliverNew
	DeliverByStartSequence
	DeliverByStartTime
	DeliverLastPerSubject
)

// AckPolicy says which acknowledgements a consumer wants.
type AckPolicy uint8

// Acknowledgement policies.
const (
	AckNone AckPolicy = iota
	AckAll
	AckExplicit
	AckFlowControl
)

// ReplayPolicy says how fast stored messages are delivered.
type ReplayPolicy uint8

// Replay policies.
const (
	ReplayInstant ReplayPolicy = iota
	ReplayOriginal
)

// PriorityPolicy says how a pull consumer chooses between waiting requests.
type PriorityPolicy uint8

// Priority policies.
const (
	PriorityNone PriorityPolicy = iota
	PriorityOverflow
	PriorityPinnedClient
	PriorityPrioritized
)

// The names of the enumerations' values; never written.
var (
	retentionNames   = []string{"limits", "interest", "workqueue"}
	discardNames     = []string{"old", "new"}
	storageNames     = []string{"file", "memory"}
	compressionNames = []string{"none", "s2"}
	persistNames     = []string{"default", "async"}
	deliverNames     = []string{"all", "last", "new", "by_start_sequence", "by_start_time", "last_per_subject"}
	ackNames         = []string{"none", "all", "explicit", "flow_control"}
	replayNames      = []string{"instant", "original"}
	priorityNames    = []string{"none", "overflow", "pinned_client", "prioritized"}
)

// enum is any of the types above.
type enum interface{ ~uint8 }

func name[T enum](v T, names []string) string {
	if int(v) < len(names) {
		return names[v]
	}
	return fmt.Sprintf("unknown(%d)", v)
}

func marshal[T enum](v T, names []string) ([]byte, error) {
	if int(v) >= len(names) {
		return nil, fmt.Errorf("can not marshal %d", v)
	}
	return append(append([]byte{'"'}, names[v]...), '"'), nil
}

func unmarshal[T enum](v *T, b []byte, names []string) error {
	if len(b) >= 2 && b[0] == '"' && b[len(b)-1] == '"' {
		for i, n := range names {
			if string(b[1:len(b)-1]) == n {
				*v = T(i)
				return nil
			}
		}
	}
	return fmt.Errorf("can not unmarshal %q", b)
}

func (v Retention) String() string                { return name(v, retentionNames) }
func (v Retention) MarshalJSON() ([]byte, error)  { return marshal(v, retentionNames) }
func (v *Retention) UnmarshalJSON(b []byte) error { return unmarshal(v, b, retentionNames) }

func (v Discard) String() string                { return name(v, discardNames) }
func (v Discard) MarshalJSON() ([]byte, error)  { return marshal(v, discardNames) }
func (v *Discard) UnmarshalJSON(b []byte) error { return unmarshal(v, b, discardNames) }

func (v Storage) String() string                { return name(v, storageNames) }
func (v Storage) MarshalJSON() ([]byte, error)  { return marshal(v, storageNames) }
func (v *Storage) UnmarshalJSON(b []byte) error { return unmarshal(v, b, storageNames) }

func (v Compression) String() string               { return name(v, compressionNames) }
func (v Compression) MarshalJSON() ([]byte, error) { return marshal(v, compressionNames) }

// UnmarshalJSON implements json.Unmarshaler.
func (v *Compression) UnmarshalJSON(b []byte) error {
	if unmarshal(v, b, compressionNames) != nil {
		return errCompression
	}
	return nil
}

func (v PersistMode) String() string               { return name(v, persistNames) }
func (v PersistMode) MarshalJSON() ([]byte, error) { return marshal(v, persistNames) }

// UnmarshalJSON implements json.Unmarshaler; the empty string is the default.
func (v *PersistMode) UnmarshalJSON(b []byte) error {
	if string(b) == `""` {
		*v = DefaultPersist
		return nil
	}
	return unmarshal(v, b, persistNames)
}

func (v DeliverPolicy) String() string               { return name(v, deliverNames) }
func (v DeliverPolicy) MarshalJSON() ([]byte, error) { return marshal(v, deliverNames) }

// UnmarshalJSON implements json.Unmarshaler; undefined is all.
func (v *DeliverPolicy) UnmarshalJSON(b []byte) error {
	if string(b) == `"undefined"` {
		*v = DeliverAll
		return nil
	}
	return unmarshal(v, b, deliverNames)
}

func (v AckPolicy) String() string                { return name(v, ackNames) }
func (v AckPolicy) MarshalJSON() ([]byte, error)  { return marshal(v, ackNames) }
func (v *AckPolicy) UnmarshalJSON(b []byte) error { return unmarshal(v, b, ackNames) }

func (v ReplayPolicy) String() string                { return name(v, replayNames) }
func (v ReplayPolicy) MarshalJSON() ([]byte, error)  { return marshal(v, replayNames) }
func (v *ReplayPolicy) UnmarshalJSON(b []byte) error { return unmarshal(v, b, replayNames) }

func (v PriorityPolicy) String() string               { return name(v, priorityNames) }
func (v PriorityPolicy) MarshalJSON() ([]byte, error) { return marshal(v, priorityNames) }

// UnmarshalJSON implements json.Unmarshaler.
func (v *PriorityPolicy) UnmarshalJSON(b []byte) error {
	if unmarshal(v, b, priorityNames) != nil {
		return fmt.Errorf("unknown priority policy: %s", b)
	}
	return nil
}
