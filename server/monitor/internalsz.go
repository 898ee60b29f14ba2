package monitor

import (
	"strings"
	"time"
)

// QueueInfo is a snapshot of one internal queue.
type QueueInfo struct {
	Name       string
	Pending    int
	InProgress int // taken out and being worked on
}

// IpqueueszOptions are the options of /ipqueuesz.
type IpqueueszOptions struct {
	All    bool   `json:"all"`    // empty ones as well
	Filter string `json:"filter"` // only names that contain it
}

// IpqueueStatus shows one internal queue.
type IpqueueStatus struct {
	Pending    int `json:"pending"`
	InProgress int `json:"in_progress,omitempty"`
}

// Ipqueuesz shows the internal queues by name.
func (m *Monitor) Ipqueuesz(o IpqueueszOptions) map[string]IpqueueStatus {
	z := map[string]IpqueueStatus{}
	for _, q := range m.src.Queues() {
		if (o.All || q.Pending != 0 || q.InProgress != 0) && strings.Contains(q.Name, o.Filter) {
			z[q.Name] = IpqueueStatus{q.Pending, q.InProgress}
		}
	}
	return z
}

// RaftzOptions are the options of /raftz.
type RaftzOptions struct {
	Account string `json:"account"` // empty is the system account
	Group   string `json:"group"`   // empty is all of the account
}

// Raftz shows Raft groups by account and name.
type Raftz map[string]map[string]*RaftGroup

// RaftGroup shows the local member of a Raft group.
type RaftGroup struct {
	ID            string              `json:"id"`
	State         string              `json:"state"` // FOLLOWER, CANDIDATE, LEADER or CLOSED
	Size          int                 `json:"size"`
	QuorumNeeded  int                 `json:"quorum_needed"`
	Observer      bool                `json:"observer,omitempty"`
	Paused        bool                `json:"paused,omitempty"`
	Overrun       bool                `json:"overrun,omitempty"`
	OverrunCount  uint64              `json:"overrun_count,omitempty"`
	Committed     uint64              `json:"committed"`
	Applied       uint64              `json:"applied"`
	CatchingUp    bool                `json:"catching_up,omitempty"`
	Leader        string              `json:"leader,omitempty"`
	LeaderSince   time.Time           `json:"leader_since,omitzero"`
	EverHadLeader bool                `json:"ever_had_leader"`
	Term          uint64              `json:"term"`
	Vote          string              `json:"voted_for,omitempty"`
	PTerm         uint64              `json:"pterm"`
	PIndex        uint64              `json:"pindex"`
	SystemAcc     bool                `json:"system_account"`
	TrafficAcc    string              `json:"traffic_account"`
	IPQPropLen    int                 `json:"ipq_proposal_len"`
	IPQEntryLen   int                 `json:"ipq_entry_len"`
	IPQRespLen    int                 `json:"ipq_resp_len"`
	IPQApplyLen   int                 `json:"ipq_apply_len"`
	WAL           any                 `json:"wal"` // as the JetStream API shows a stream's state
	WALError      string              `json:"wal_error,omitempty"`
	Peers         map[string]RaftPeer `json:"peers"` // by node hash
}

// RaftPeer shows another member of a group.
type RaftPeer struct {
	Name                string `json:"name"`
	Known               bool   `json:"known"`
	LastReplicatedIndex uint64 `json:"last_replicated_index,omitempty"`
	LastSeen            string `json:"last_seen,omitempty"`
}

// Raftz shows Raft groups. Errors: ErrNoRaft, ErrNoRaftMatched.
func (m *Monitor) Raftz(o RaftzOptions) (Raftz, error) {
	account := o.Account
	if account == "" {
		if account = m.src.SystemAccount(); account == "" {
			return nil, ErrNoRaftMatched
		}
	}
	groups, ok := m.src.RaftGroups(account, o.Group)
	if !ok {
		return nil, ErrNoRaft
	}
	if len(groups) == 0 {
		return Raftz{}, nil
	}
	return Raftz{account: groups}, nil
}
