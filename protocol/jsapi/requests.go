package jsapi

import "time"

// The bodies of requests; those of stream and consumer creation are with the configurations.
type (
	// PageRequest asks for a part of a list.
	PageRequest struct {
		Offset int `json:"offset"`
	}
	// StreamsRequest is the body of STREAM.NAMES and STREAM.LIST.
	StreamsRequest struct {
		PageRequest
		Subject string `json:"subject,omitempty"`
	}
	// StreamInfoRequest is the body of STREAM.INFO.
	StreamInfoRequest struct {
		PageRequest
		DeletedDetails bool   `json:"deleted_details,omitempty"`
		SubjectsFilter string `json:"subjects_filter,omitempty"`
	}
	// PurgeRequest is the body of STREAM.PURGE.
	PurgeRequest struct {
		Sequence uint64 `json:"seq,omitempty"`
		Subject  string `json:"filter,omitempty"`
		Keep     uint64 `json:"keep,omitempty"`
	}
	// MsgDeleteRequest is the body of STREAM.MSG.DELETE.
	MsgDeleteRequest struct {
		Seq     uint64 `json:"seq"`
		NoErase bool   `json:"no_erase,omitempty"`
	}
	// MsgGetRequest is the body of STREAM.MSG.GET and DIRECT.GET.
	MsgGetRequest struct {
		Seq       uint64     `json:"seq,omitempty"`
		LastFor   string     `json:"last_by_subj,omitempty"`
		NextFor   string     `json:"next_by_subj,omitempty"`
		Batch     int        `json:"batch,omitempty"`
		MaxBytes  int        `json:"max_bytes,omitempty"`
		StartTime *time.Time `json:"start_time,omitempty"`
		MultiLast []string   `json:"multi_last,omitempty"`
		UpToSeq   uint64     `json:"up_to_seq,omitempty"`
		UpToTime  *time.Time `json:"up_to_time,omitempty"`
		NoHeaders bool       `json:"no_hdr,omitempty"`
	}
	// PauseRequest is the body of CONSUMER.PAUSE.
	PauseRequest struct {
		PauseUntil time.Time `json:"pause_until"`
	}
	// ResetRequest is the body of CONSUMER.RESET.
	ResetRequest struct {
		Seq uint64 `json:"seq,omitempty"`
	}
	// UnpinRequest is the body of CONSUMER.UNPIN.
	UnpinRequest struct {
		Group string `json:"group"`
	}
	// PullRequest is the body of CONSUMER.MSG.NEXT when it is JSON.
	PullRequest struct {
		Expires       time.Duration `json:"expires,omitempty"`
		Batch         int           `json:"batch,omitempty"`
		MaxBytes      int           `json:"max_bytes,omitempty"`
		NoWait        bool          `json:"no_wait,omitempty"`
		Heartbeat     time.Duration `json:"idle_heartbeat,omitempty"`
		Group         string        `json:"group,omitempty"`
		MinPending    int64         `json:"min_pending,omitempty"`
		MinAckPending int64         `json:"min_ack_pending,omitempty"`
		ID            string        `json:"id,omitempty"`
		Priority      int           `json:"priority,omitempty"`
	}
)
