package options

import "time"

// Quota bounds what an account or a user publishes, all its connections together. A rate of 0 is no limit.
type Quota struct {
	Messages int64 // per second, up to QuotaRateMax
	Bytes    int64 // of header blocks and payloads per second, up to QuotaRateMax
	Requests int64 // to the JetStream API per second, up to QuotaRateMax

	Burst    time.Duration // what was not used for so long can be used at once; 0 is DefaultQuotaBurst
	MaxDelay time.Duration // how long publishers are slowed down before messages are refused; 0 is not at all
}

// Defaults and bounds of a Quota.
const (
	DefaultQuotaBurst    = time.Second
	DefaultQuotaMaxDelay = 2 * time.Second
	QuotaBurstMin        = time.Millisecond
	QuotaBurstMax        = time.Hour
	QuotaDelayMax        = 30 * time.Second
	QuotaRateMax         = int64(1) << 50
)

// Limits reports whether q bounds anything. It may be nil.
func (q *Quota) Limits() bool { return q != nil && (q.Messages > 0 || q.Bytes > 0 || q.Requests > 0) }

// Quotas are those of accounts and users that have none of their own; nil is none. The system account has none then.
type Quotas struct {
	Account *Quota
	User    *Quota
}
