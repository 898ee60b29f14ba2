package server

import (
	"errors"

	"godwit/protocol/jsapi"
	"godwit/server/jetstream"
	"godwit/server/monitor"
	"godwit/stream"
)

// JetStreamHealth implements monitor.HealthSource.
func (s source) JetStreamHealth() monitor.JetStreamHealth {
	return monitor.JetStreamHealth{Configured: s.options().JetStream.Enabled, Enabled: s.js.Load() != nil}
}

// CheckAssets implements monitor.HealthSource.
func (s source) CheckAssets(sel monitor.AssetSelector, f func(monitor.HealthProblem) bool) {
	js := s.js.Load()
	if js == nil {
		return
	}
	if sel.Account != "" {
		a := js.service.Account(sel.Account)
		if a == nil {
			f(monitor.AccountMissing(sel.Account))
			return
		}
		if sel.Stream != "" {
			st := a.Stream(sel.Stream)
			if st == nil {
				f(monitor.StreamMissing(sel.Account, sel.Stream))
				return
			}
			if sel.Consumer != "" {
				if _, err := st.Partitions().ConsumerInfo(sel.Consumer); err != nil {
					f(monitor.ConsumerMissing(sel.Account, sel.Stream, sel.Consumer))
					return
				}
			}
		}
	}
	for _, p := range js.service.Health() {
		if p.Account == "" { // it concerns all
			if !f(monitor.StorageProblem(p.Text)) {
				return
			}
			continue
		}
		if sel.Account != "" && p.Account != sel.Account || sel.Stream != "" && p.Stream != sel.Stream {
			continue
		}
		if !f(monitor.StreamWriteError(p.Account, p.Stream, errors.New(p.Text))) {
			return
		}
	}
}

// JetStream implements monitor.JetStreamSource.
func (s source) JetStream(raft bool) *monitor.JetStreamTotals {
	js := s.js.Load()
	if js == nil {
		return nil
	}
	t, shown := js.service.Info(), *js.shown.Load()
	out := &monitor.JetStreamTotals{Stats: js.stats(), Config: shown.config, Limits: &shown.limits, Streams: t.Streams,
		Consumers: t.Consumers, Messages: t.Messages, Bytes: t.Bytes,
		Rewritten: t.Rewritten, Freed: t.Freed, RewriteFailed: t.RewriteFailed}
	out.Audited, out.Violations = t.Audited, t.Violations
	out.DiskFree, out.DiskFull = t.DiskFree, t.DiskFull
	bounds := js.service.Options()
	out.Tail = monitor.JetStreamBuffer{Used: t.Tail, Max: bounds.TailBytes}
	out.Cache = monitor.JetStreamBuffer{Used: t.Cache, Max: bounds.CacheBytes}
	if raft {
		out.StreamsLeader, out.ConsumersLeader = t.Streams, t.Consumers
	}
	return out
}

// IsMetaLeader implements monitor.JetStreamSource.
func (s source) IsMetaLeader() bool { return s.js.Load() != nil }

// JetStreamAccounts implements monitor.JetStreamSource.
func (s source) JetStreamAccounts() []string {
	js := s.js.Load()
	if js == nil {
		return nil
	}
	var names []string
	for _, a := range js.service.Accounts() {
		names = append(names, a.Name())
	}
	return names
}

// JetStreamAccount implements monitor.JetStreamSource.
func (s source) JetStreamAccount(name string, want monitor.JetStreamWant) *monitor.JSAccountDetail {
	js := s.js.Load()
	if js == nil {
		return nil
	}
	a := js.service.Account(name)
	if a == nil {
		return nil
	}
	st := a.Stats()
	d := &monitor.JSAccountDetail{Name: name, ID: name, JetStreamStats: monitor.JetStreamStats{Memory: st.Memory, Store: st.Store,
		ReservedMemory: uint64(st.Limits.MaxMemory), ReservedStore: uint64(st.Limits.MaxStore), // -1, unlimited, is the largest number
		API: monitor.JetStreamAPIStats{Level: apiLevel, Total: st.API.Total, Errors: st.API.Errors}}}
	if want.Streams {
		for _, x := range a.Streams("") {
			if detail, ok := s.streamDetail(x, want); ok {
				d.Streams = append(d.Streams, detail)
			}
		}
	}
	return d
}

// streamDetail describes a stream; it reports false if the stream was deleted meanwhile.
func (s source) streamDetail(x *jetstream.Stream, want monitor.JetStreamWant) (monitor.JSStreamDetail, bool) {
	info, _, err := x.Info(stream.InfoRequest{})
	if err != nil {
		return monitor.JSStreamDetail{}, false
	}
	d := monitor.JSStreamDetail{Name: x.Name(), Created: info.Created, Cluster: &jsapi.ClusterInfo{Leader: s.name}, State: info.State}
	if info.Mirror != nil {
		d.Mirror = info.Mirror
	}
	for _, origin := range info.Sources {
		d.Sources = append(d.Sources, origin)
	}
	if want.Config {
		d.Config = info.Config
	}
	if want.Consumers {
		for _, name := range x.Partitions().ConsumerNames() {
			c, err := x.Partitions().ConsumerInfo(name)
			if err != nil {
				continue // deleted meanwhile
			}
			d.Consumer = append(d.Consumer, described(c, want))
		}
	}
	if want.Consumers && want.DirectConsumers {
		for _, c := range x.Partitions().First().CopyConsumers() {
			d.DirectConsumer = append(d.DirectConsumer, described(c, want))
		}
	}
	return d, true
}

// described is the description of a consumer, which is given, with its configuration only if that is wanted.
func described(c *jsapi.ConsumerInfo, want monitor.JetStreamWant) *jsapi.ConsumerInfo {
	if !want.Config {
		c.Config = nil
	}
	return c
}
