package monitor

import "time"

// AccountStatzOptions are the options of /accstatz.
type AccountStatzOptions struct {
	Accounts      []string `json:"accounts"`       // only these; empty is all
	IncludeUnused bool     `json:"include_unused"` // those without a local connection as well
}

// AccountStatz is the answer of /accstatz.
type AccountStatz struct {
	ID       string        `json:"server_id"`
	Now      time.Time     `json:"now"`
	Accounts []AccountStat `json:"account_statz"`
}

// AccountStat counts the traffic of an account.
type AccountStat struct {
	Account       string    `json:"acc"`
	Name          string    `json:"name"`
	Conns         int       `json:"conns"`       // clients of this server
	LeafNodes     int       `json:"leafnodes"`   // of this server
	TotalConns    int       `json:"total_conns"` // over all servers
	NumSubs       uint32    `json:"num_subscriptions"`
	Sent          DataStats `json:"sent"`
	Received      DataStats `json:"received"`
	SlowConsumers int64     `json:"slow_consumers"`
}

// DataStats counts messages and bytes, and how much of that came from or went to links.
type DataStats struct {
	MsgBytes
	Gateways *MsgBytes `json:"gateways,omitempty"`
	Routes   *MsgBytes `json:"routes,omitempty"`
	Leafs    *MsgBytes `json:"leafs,omitempty"`
}

// MsgBytes counts messages and their bytes.
type MsgBytes struct {
	Msgs  int64 `json:"msgs"`
	Bytes int64 `json:"bytes"`
}

// AccountStatz shows the traffic of accounts.
func (m *Monitor) AccountStatz(o AccountStatzOptions) *AccountStatz {
	z := &AccountStatz{ID: m.src.Identity().ID, Now: m.now().UTC(), Accounts: []AccountStat{}}
	names := o.Accounts
	if len(names) == 0 {
		names = m.src.AccountNames()
	}
	for _, name := range names {
		if st, ok := m.src.AccountStats(name); ok && (o.IncludeUnused || st.Conns+st.LeafNodes > 0) {
			st.showLinks()
			z.Accounts = append(z.Accounts, st)
		}
	}
	return z
}

// showLinks shows the traffic with other servers even if there was none.
func (st *AccountStat) showLinks() {
	for _, d := range []*DataStats{&st.Sent, &st.Received} {
		for _, p := range []**MsgBytes{&d.Gateways, &d.Routes, &d.Leafs} {
			if *p == nil {
				*p = &MsgBytes{}
			}
		}
	}
}
