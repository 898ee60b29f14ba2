package jsapi

import "time"

// Header opens every response.
type Header struct {
	Type  string `json:"type"`
	Error *Error `json:"error,omitempty"`
}

// Page says which part of a list an answer holds.
type Page struct {
	Total  int `json:"total"`
	Offset int `json:"offset"`
	Limit  int `json:"limit"`
}

// AccountLimits bounds what an account may use; -1 is no bound.
type AccountLimits struct {
	MaxMemory            int64 `json:"max_memory"`
	MaxStore             int64 `json:"max_storage"`
	MaxStreams           int   `json:"max_streams"`
	MaxConsumers         int   `json:"max_consumers"`
	MaxAckPending        int   `json:"max_ack_pending"`
	MemoryMaxStreamBytes int64 `json:"memory_max_stream_bytes"`
	StoreMaxStreamBytes  int64 `json:"storage_max_stream_bytes"`
	MaxBytesRequired     bool  `json:"max_bytes_required"`
}

// APIStats counts requests.
type APIStats struct {
	Level    int    `json:"level"`
	Total    uint64 `json:"total"`
	Errors   uint64 `json:"errors"`
	Inflight uint64 `json:"inflight,omitempty"`
}

// AccountStats is what an account uses.
type AccountStats struct {
	Memory         uint64        `json:"memory"`
	Store          uint64        `json:"storage"`
	ReservedMemory uint64        `json:"reserved_memory"`
	ReservedStore  uint64        `json:"reserved_storage"`
	Streams        int           `json:"streams"`
	Consumers      int           `json:"consumers"`
	Limits         AccountLimits `json:"limits"`
	Domain         string        `json:"domain,omitempty"`
	API            APIStats      `json:"api"`
}

// The responses. Those with pointers to an embedded struct leave its fields out when there was an error.
type (
	// AccountInfoResponse answers INFO.
	AccountInfoResponse struct {
		Header
		*AccountStats
	}
	// StreamCreateResponse answers STREAM.CREATE.
	StreamCreateResponse struct {
		Header
		*StreamInfo
		DidCreate bool `json:"did_create,omitempty"`
	}
	// StreamUpdateResponse answers STREAM.UPDATE.
	StreamUpdateResponse struct {
		Header
		*StreamInfo
	}
	// StreamInfoResponse answers STREAM.INFO.
	StreamInfoResponse struct {
		Header
		Page
		*StreamInfo
	}
	// StreamNamesResponse answers STREAM.NAMES.
	StreamNamesResponse struct {
		Header
		Page
		Streams []string `json:"streams"`
	}
	// StreamListResponse answers STREAM.LIST.
	StreamListResponse struct {
		Header
		Page
		Streams []*StreamInfo `json:"streams"`
		Missing []string      `json:"missing,omitempty"`
	}
	// SuccessResponse answers requests that have nothing to say but that they were done.
	SuccessResponse struct {
		Header
		Success bool `json:"success,omitempty"`
	}
	// StreamPurgeResponse answers STREAM.PURGE.
	StreamPurgeResponse struct {
		Header
		Success bool   `json:"success,omitempty"`
		Purged  uint64 `json:"purged"`
	}
	// MsgGetResponse answers STREAM.MSG.GET.
	MsgGetResponse struct {
		Header
		Message *StoredMessage `json:"message,omitempty"`
	}
	// ConsumerResponse answers CONSUMER.CREATE and CONSUMER.INFO.
	ConsumerResponse struct {
		Header
		*ConsumerInfo
	}
	// ConsumerNamesResponse answers CONSUMER.NAMES.
	ConsumerNamesResponse struct {
		Header
		Page
		Consumers []string `json:"consumers"`
	}
	// ConsumerListResponse answers CONSUMER.LIST.
	ConsumerListResponse struct {
		Header
		Page
		Consumers []*ConsumerInfo `json:"consumers"`
		Missing   []string        `json:"missing,omitempty"`
	}
	// ConsumerPauseResponse answers CONSUMER.PAUSE.
	ConsumerPauseResponse struct {
		Header
		Paused         bool          `json:"paused"`
		PauseUntil     time.Time     `json:"pause_until"`
		PauseRemaining time.Duration `json:"pause_remaining,omitempty"`
	}
	// ConsumerResetResponse answers CONSUMER.RESET.
	ConsumerResetResponse struct {
		Header
		*ConsumerInfo
		ResetSeq uint64 `json:"reset_seq"`
	}
)
