package scenario

import (
	"io"
	"time"
)

// Settings are what a caller may choose about a scenario.
type Settings struct {
	Msgs  uint64        // messages of a run; 0: as many as fill Secs
	Secs  float64       // wanted length of the measured phase
	Limit time.Duration // longest time for one run, set-up included

	Conns    int    // publishers, pulling clients or idle connections; 0: the scenario's default
	Subs     int    // subscribers, queue members, consumers or subscriptions; 0: the default
	Window   int    // unanswered requests per connection
	Batch    int    // messages per pull request or atomic batch; 0: the default
	Storage  string // file or memory
	Replicas int    // of a stream: 1 or 3
	Nodes    int    // servers: 1 or 3
	Ack      string // of consumers: explicit or none
	Rate     int    // messages per second of js-e2e
	Keys     int    // keys of js-kv
	Subjects int    // distinct subjects that stream publishers rotate over
	Churn    int    // connections that subscribe and unsubscribe in core-churn
	Via      string // where clients of streams connect in a cluster: leader, follower or spread
	Flight   int64  // payload bytes a core publisher may be ahead of its slowest subscriber
	Pending  int    // max_ack_pending of consumers; 0: the server's default
	MaxBytes int64  // bound of the payload bytes of a run

	ProfDir  string // where CPU profiles go; empty for none
	ProfSecs int    // seconds to profile

	Log io.Writer // what goes on, and what went wrong without ending a run
}

// or returns v, or the default if v is 0.
func or(v, def int) int {
	if v == 0 {
		return def
	}
	return v
}
