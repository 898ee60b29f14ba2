package server

import (
	"godwit/server/monitor"
)

type streams struct{}

func (s *Server) startStreams() error { return nil }

func (st *streams) close()                            {}
func (st *streams) enabled(account string) bool       { return false }
func (st *streams) fillVarz(v *monitor.JetStreamVarz) {}

// JetStreamHealth implements monitor.HealthSource.
func (s source) JetStreamHealth() monitor.JetStreamHealth { return monitor.JetStreamHealth{} }

// CheckAssets implements monitor.HealthSource.
func (s source) CheckAssets(sel monitor.AssetSelector, f func(monitor.HealthProblem) bool) {}

// JetStream implements monitor.JetStreamSource.
func (s source) JetStream(raft bool) *monitor.JetStreamTotals { return nil }

// IsMetaLeader implements monitor.JetStreamSource.
func (s source) IsMetaLeader() bool { return true }

// JetStreamAccounts implements monitor.JetStreamSource.
func (s source) JetStreamAccounts() []string { return nil }

// JetStreamAccount implements monitor.JetStreamSource.
func (s source) JetStreamAccount(name string, want monitor.JetStreamWant) *monitor.JSAccountDetail {
	return nil
}
