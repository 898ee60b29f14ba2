package server

import (
	"cmp"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"

	"godwit/protocol/jsapi"
	"godwit/protocol/subject"
	"godwit/server/dashboard"
	"godwit/server/jetstream"
	"godwit/stream"
)

// dashSource is the server as the dashboard sees it.
type dashSource struct{ *Server }

// pages are what the monitoring port shows beside its endpoints.
func (s *Server) pages() map[string]http.Handler {
	return map[string]http.Handler{dashboard.Path: dashboard.New(dashboard.Options{Source: dashSource{s}, MayRead: s.mayReadMessages})}
}

// mayReadMessages says whether a request to the monitoring port may see stored messages.
func (s *Server) mayReadMessages(r *http.Request) bool {
	o := s.options()
	m := &o.Monitoring
	if m.Login != nil {
		u := s.monitor.User(r)
		return u != nil && u.Messages
	}
	if m.Messages != nil {
		return *m.Messages
	}
	host := cmp.Or(m.HTTPHost, o.Host)
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

var errBadFilter = errors.New("subject: not a valid subject")

func (s dashSource) stream(account, name string) (*jetstream.Stream, error) {
	if js := s.js.Load(); js != nil {
		if a := js.service.Account(account); a != nil {
			if x := a.Stream(name); x != nil {
				return x, nil
			}
		}
	}
	return nil, dashboard.ErrNoStream
}

// Streams implements dashboard.Source.
func (s dashSource) Streams(account string, offset, limit int) (list []dashboard.Stream, total int) {
	js := s.js.Load()
	if js == nil {
		return nil, 0
	}
	accounts := js.service.Accounts()
	slices.SortFunc(accounts, func(a, b *jetstream.Account) int { return strings.Compare(a.Name(), b.Name()) })
	for _, a := range accounts {
		if account != "" && a.Name() != account {
			continue
		}
		for _, x := range a.Streams("") {
			if total++; total > offset && len(list) < limit {
				if d, err := s.describe(a.Name(), x, false); err == nil {
					list = append(list, *d)
				}
			}
		}
	}
	return list, total
}

// Stream implements dashboard.Source.
func (s dashSource) Stream(account, name string) (*dashboard.Stream, error) {
	x, err := s.stream(account, name)
	if err != nil {
		return nil, err
	}
	return s.describe(account, x, true)
}

func (s dashSource) describe(account string, x *jetstream.Stream, parts bool) (*dashboard.Stream, error) {
	info, _, err := x.Info(stream.InfoRequest{})
	if err != nil {
		return nil, dashboard.ErrNoStream // deleted meanwhile
	}
	c, st := &info.Config, &info.State
	d := &dashboard.Stream{Account: account, Name: x.Name(), Subjects: c.Subjects, Storage: c.Storage.String(), Retention: c.Retention.String(), Messages: st.Msgs, Bytes: st.Bytes,
		FirstSeq: st.FirstSeq, LastSeq: st.LastSeq, FirstTime: st.FirstTime, LastTime: st.LastTime, Consumers: st.Consumers, Partitions: x.Partitions().Len()}
	if !parts {
		return d, nil
	}
	d.Config = c
	for _, p := range info.Partitions {
		d.Parts = append(d.Parts, dashboard.Partition{Number: p.Partition, Messages: p.Msgs, Bytes: p.Bytes, FirstSeq: p.FirstSeq, LastSeq: p.LastSeq})
	}
	return d, nil
}

// Consumers implements dashboard.Source.
func (s dashSource) Consumers(account, name string, offset, limit int) (list []dashboard.Consumer, total int, err error) {
	x, err := s.stream(account, name)
	if err != nil {
		return nil, 0, err
	}
	set := x.Partitions()
	infos, total := set.Consumers(offset, limit)
	for _, i := range infos {
		c := i.Config
		d := dashboard.Consumer{Name: i.Name, Push: c.Push(), Durable: c.Durable != "", Filters: filtersOf(c), AckPolicy: c.AckPolicy.String(),
			Pending: i.NumPending, AckPending: i.NumAckPending, Redelivered: i.NumRedelivered, Waiting: i.NumWaiting, Bound: i.PushBound,
			Paused: i.Paused, Delivered: i.Delivered.Stream, AckFloor: i.AckFloor.Stream}
		if lag, err := set.Lag(i.Name); err == nil { // else it was deleted meanwhile
			d.LagSeconds, d.AckSeconds = ageOf(lag.Undelivered), ageOf(lag.Oldest)
		}
		list = append(list, d)
	}
	return list, total, nil
}

func filtersOf(c *jsapi.ConsumerConfig) []string {
	if c.FilterSubject != "" {
		return []string{c.FilterSubject}
	}
	return c.FilterSubjects
}

func ageOf(m *jsapi.LagOf) float64 {
	if m == nil {
		return 0
	}
	return m.Age
}

// Messages implements dashboard.Source.
func (s dashSource) Messages(account, name string, from uint64, filter string, limit int) (list []dashboard.Message, err error) {
	x, err := s.stream(account, name)
	if err != nil {
		return nil, err
	}
	if filter == "" {
		filter = ">"
	}
	if !subject.Valid(filter) {
		return nil, errBadFilter
	}
	for seq := max(from, 1); len(list) < limit; {
		m, err := x.Partitions().Get(&jsapi.MsgGetRequest{Seq: seq, NextFor: filter})
		if err != nil {
			break // none is left
		}
		list = append(list, dashboard.Message{Seq: m.Sequence, Subject: m.Subject, Time: m.Time, Header: string(m.Header), Data: m.Data, Size: len(m.Data)})
		if m.Sequence == 1<<64-1 {
			break
		}
		seq = m.Sequence + 1
	}
	return list, nil
}
