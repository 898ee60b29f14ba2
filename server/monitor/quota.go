package monitor

import "time"

// QuotaDetail tells what an account may publish, and each of its users that has a quota and is or was lately connected. It is not
// in nats-server.
type QuotaDetail struct {
	QuotaState
	Users map[string]QuotaState `json:"users,omitempty"`
}

// QuotaState is a quota, 0 for what it does not limit, and what it did since the start. Durations are nanoseconds.
type QuotaState struct {
	Messages        int64         `json:"messages,omitempty"` // per second
	Bytes           int64         `json:"bytes,omitempty"`    // per second
	Requests        int64         `json:"requests,omitempty"` // to the JetStream API, per second
	Burst           time.Duration `json:"burst,omitempty"`
	MaxDelay        time.Duration `json:"max_delay,omitempty"`
	Throttled       int64         `json:"throttled_time"` // that connections were held back, summed up
	RefusedMsgs     int64         `json:"refused_msgs"`
	RefusedBytes    int64         `json:"refused_bytes"`
	RefusedRequests int64         `json:"refused_requests"` // among the messages
}
