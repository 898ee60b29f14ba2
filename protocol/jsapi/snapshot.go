package jsapi

import "time"

// SnapshotRequest asks for a backup of a stream.
type SnapshotRequest struct {
	DeliverSubject string `json:"deliver_subject"`
	NoConsumers    bool   `json:"no_consumers,omitempty"`
	ChunkSize      int    `json:"chunk_size,omitempty"`  // bytes
	WindowSize     int    `json:"window_size,omitempty"` // bytes that may be sent ahead of acknowledgements
	CheckMsgs      bool   `json:"jsck,omitempty"`        // every message is verified as it is read, with or without
}

// RestoreRequest asks for a stream to be made from a backup that follows.
type RestoreRequest struct {
	Config StreamConfig `json:"config"`
	State  StreamState  `json:"state"`
}

type (
	// SnapshotResponse answers STREAM.SNAPSHOT.
	SnapshotResponse struct {
		Header
		Config *StreamConfig `json:"config,omitempty"`
		State  *StreamState  `json:"state,omitempty"`
	}
	// RestoreResponse answers STREAM.RESTORE.
	RestoreResponse struct {
		Header
		DeliverSubject string `json:"deliver_subject"`
	}
)

// TransferAdvisory is about a backup or a restore that begins or has ended.
type TransferAdvisory struct {
	Type   string       `json:"type"`
	ID     string       `json:"id"`
	Time   time.Time    `json:"timestamp"`
	Stream string       `json:"stream"`
	State  *StreamState `json:"state,omitempty"`
	Start  *time.Time   `json:"start,omitempty"`
	End    *time.Time   `json:"end,omitempty"`
	Bytes  int64        `json:"bytes,omitempty"`
	Client any          `json:"client"`
	Error  string       `json:"error,omitempty"`
	Domain string       `json:"domain,omitempty"`
}
