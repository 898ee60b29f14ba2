package monitor

import "time"

// SubDetail shows one subscription.
type SubDetail struct {
	Account    string `json:"account,omitempty"`
	AccountTag string `json:"account_tag,omitempty"`
	Subject    string `json:"subject"`
	Queue      string `json:"qgroup,omitempty"`
	Sid        string `json:"sid"`
	Msgs       int64  `json:"msgs"`          // delivered so far
	Max        int64  `json:"max,omitempty"` // after which it ends by itself
	Cid        uint64 `json:"cid"`
}

// SublistStats are the figures of a subscription index.
type SublistStats struct {
	NumSubs      uint32  `json:"num_subscriptions"`
	NumCache     uint32  `json:"num_cache"`
	NumInserts   uint64  `json:"num_inserts"`
	NumRemoves   uint64  `json:"num_removes"`
	NumMatches   uint64  `json:"num_matches"`
	CacheHitRate float64 `json:"cache_hit_rate"` // 0 to 1
	MaxFanout    uint32  `json:"max_fanout"`
	AvgFanout    float64 `json:"avg_fanout"`
}

// SubszOptions are the options of /subsz; the JSON form is the body of its NATS twin.
type SubszOptions struct {
	Offset        int    `json:"offset"` // negative counts as 0
	Limit         int    `json:"limit"`  // below 1 counts as 1024
	Subscriptions bool   `json:"subscriptions"`
	Account       string `json:"account,omitempty"`
	Test          string `json:"test,omitempty"` // keeps what matches this literal subject
}

// Subsz is the answer of /subsz.
type Subsz struct {
	ID  string    `json:"server_id"`
	Now time.Time `json:"now"`
	SublistStats
	Total  int         `json:"total"` // subscriptions that passed the filters; 0 unless they were asked for
	Offset int         `json:"offset"`
	Limit  int         `json:"limit"`
	Subs   []SubDetail `json:"subscriptions_list,omitempty"`
}

// Subsz shows the subscription indexes. Errors: *TestSubjectError.
func (m *Monitor) Subsz(o SubszOptions) (*Subsz, error) {
	if o.Test != "" && !validLiteral(o.Test) {
		return nil, &TestSubjectError{o.Test}
	}
	z := &Subsz{ID: m.src.Identity().ID, Now: m.now().UTC(), Offset: max(o.Offset, 0), Limit: o.Limit}
	if z.Limit <= 0 {
		z.Limit = listLimit
	}
	var ok bool
	if z.SublistStats, ok = m.src.SublistStats(o.Account); !ok || !o.Subscriptions {
		return z, nil
	}
	m.src.EachSub(o.Account, o.Test, func(s *SubDetail) bool {
		if z.Total >= z.Offset && len(z.Subs) < z.Limit {
			z.Subs = append(z.Subs, *s)
		}
		z.Total++
		return true
	})
	return z, nil
}
