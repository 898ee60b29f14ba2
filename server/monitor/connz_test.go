package monitor

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// population is four open connections of two accounts and five closed ones, as a test against nats-server had them.
func population() *fake {
	f := newFake()
	open := func(cid uint64, acc, user, name string, subs ...string) {
		c := Conn{CID: cid, Kind: KindClient, Type: TypeNATS, IP: "127.0.0.1", Port: int(40000 + cid), Account: acc, NameTag: acc, User: user, Name: name,
			Start: t0.Add(time.Duration(cid) * time.Millisecond), LastActivity: t0.Add(time.Duration(100-cid) * time.Millisecond),
			NumSubs: uint32(len(subs)), RTT: time.Duration(cid%4) * time.Millisecond, Pending: int64(cid % 3),
			InMsgs: int64(20 - cid), OutMsgs: int64(cid), InBytes: int64(cid * cid % 11), OutBytes: int64(cid * cid % 7)}
		f.conns = append(f.conns, c)
		for i, s := range subs {
			f.subs[cid] = append(f.subs[cid], SubDetail{Account: acc, AccountTag: acc, Subject: s, Sid: fmt.Sprint(i + 1), Cid: cid})
		}
	}
	open(7, "A", "a", "a1", "x.a", "x.b", "x.c")
	open(8, "A", "a2", "a2", "y.>")
	open(9, "A", "a", "a3")
	open(10, "B", "b", "b1", "x.a")
	for cid := uint64(11); cid <= 17; cid++ {
		acc, user := "A", "a"
		reason := ReasonClientClosed
		if cid >= 14 {
			acc, user = "B", "b"
			reason = ReasonStaleConnection
		}
		f.closed.Add(&Conn{CID: cid, Kind: KindClient, Account: acc, User: user, Reason: reason, Start: t0, LastActivity: t0.Add(time.Second),
			Stop: t0.Add(time.Duration(cid) * 100 * time.Millisecond), Subs: []SubDetail{{Account: acc, AccountTag: acc, Subject: "q", Sid: "1", Cid: cid}}, NumSubs: 1})
	}
	return f
}

func cids(z *Connz) []uint64 {
	ids := []uint64{}
	for _, c := range z.Conns {
		ids = append(ids, c.Cid)
	}
	return ids
}

func TestConnzFiltersAndPages(t *testing.T) {
	tests := []struct {
		name          string
		o             ConnzOptions
		want          []uint64
		total         int
		offset, limit int
	}{
		{"default", ConnzOptions{}, []uint64{7, 8, 9, 10}, 4, 0, 1024},
		{"account counts in total", ConnzOptions{Account: "A"}, []uint64{7, 8, 9}, 3, 0, 1024},
		{"limit doesn't", ConnzOptions{Account: "A", Limit: 1}, []uint64{7}, 3, 0, 1},
		{"user doesn't", ConnzOptions{User: "a"}, []uint64{7, 9}, 4, 0, 1024},
		{"user is filtered before paging", ConnzOptions{User: "a", Limit: 1, Offset: 1}, []uint64{9}, 4, 1, 1},
		{"user of another account", ConnzOptions{Account: "A", User: "b"}, []uint64{}, 3, 0, 1024},
		{"mqtt client", ConnzOptions{MQTTClient: "zz"}, []uint64{}, 4, 0, 1024},
		{"cid makes the limit 1", ConnzOptions{CID: 8, Limit: 5}, []uint64{8}, 4, 0, 1},
		{"cid of another account", ConnzOptions{CID: 7, Account: "B"}, []uint64{}, 1, 0, 1},
		{"cid and offset", ConnzOptions{CID: 8, Offset: 1}, []uint64{}, 4, 1, 1},
		{"unknown cid keeps the offset", ConnzOptions{CID: 999, Offset: 3}, []uint64{}, 4, 3, 1},
		{"cid and wrong user", ConnzOptions{CID: 8, User: "zz"}, []uint64{}, 4, 0, 1},
		{"closed", ConnzOptions{State: ConnClosed}, []uint64{13, 14, 15, 16, 17}, 5, 0, 1024},
		{"closed of an account", ConnzOptions{State: ConnClosed, Account: "B", Limit: 1}, []uint64{14}, 4, 0, 1},
		{"closed by cid", ConnzOptions{State: ConnClosed, CID: 15}, []uint64{15}, 5, 0, 1},
		{"closed, forgotten cid", ConnzOptions{State: ConnClosed, CID: 12}, []uint64{}, 5, 0, 1},
		{"all", ConnzOptions{State: ConnAll, Account: "B"}, []uint64{10, 14, 15, 16, 17}, 5, 0, 1024},
		{"all, page over both", ConnzOptions{State: ConnAll, Limit: 2, Offset: 3}, []uint64{10, 13}, 9, 3, 2},
		{"all, last page", ConnzOptions{State: ConnAll, Limit: 2, Offset: 8}, []uint64{17}, 9, 8, 2},
		{"unknown state", ConnzOptions{State: 7, Account: "A"}, []uint64{}, 0, 0, 1024},
		{"offset past the end", ConnzOptions{Offset: 99}, []uint64{}, 4, 99, 1024},
		{"negative offset and limit", ConnzOptions{Offset: -5, Limit: -3}, []uint64{7, 8, 9, 10}, 4, 0, 1024},
		{"offset and limit that overflow", ConnzOptions{Offset: 1<<63 - 1, Limit: 1<<63 - 1}, []uint64{}, 4, 1<<63 - 1, 1<<63 - 1},
		{"account without connections", ConnzOptions{Account: "$G"}, []uint64{}, 0, 0, 1024},
		{"subject", ConnzOptions{Account: "A", FilterSubject: "x.a"}, []uint64{7}, 3, 0, 1024},
		{"subject with wildcard", ConnzOptions{Account: "A", FilterSubject: "*.b"}, []uint64{7, 8}, 3, 0, 1024},
		{"subject nobody wants", ConnzOptions{Account: "A", FilterSubject: "q.q"}, []uint64{}, 3, 0, 1024},
		{"subject > is no filter", ConnzOptions{Account: "A", FilterSubject: ">"}, []uint64{7, 8, 9}, 3, 0, 1024},
		{"subject leaves closed ones alone", ConnzOptions{Account: "B", State: ConnClosed, FilterSubject: "zz"}, []uint64{14, 15, 16, 17}, 4, 0, 1024},
	}
	m, _ := newTest(population())
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			z, err := m.Connz(tt.o)
			if err != nil {
				t.Fatal(err)
			}
			if got := cids(z); !slices.Equal(got, tt.want) || z.NumConns != len(tt.want) {
				t.Errorf("got %v (%d), want %v", got, z.NumConns, tt.want)
			}
			if z.Total != tt.total || z.Offset != tt.offset || z.Limit != tt.limit {
				t.Errorf("total %d offset %d limit %d, want %d %d %d", z.Total, z.Offset, z.Limit, tt.total, tt.offset, tt.limit)
			}
			if z.ID != "NSERVER" || z.Conns == nil {
				t.Errorf("id %q, list nil: %v", z.ID, z.Conns == nil)
			}
		})
	}
}

func TestConnzUnknownAccount(t *testing.T) {
	m, _ := newTest(population())
	z, err := m.Connz(ConnzOptions{Account: "unknown", State: ConnClosed})
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(z)
	want := `{"server_id":"","now":"2026-11-30T22:10:39.941198101Z","num_connections":0,"total":0,"offset":0,"limit":1024,"connections":null}`
	if string(got) != want || err != nil {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
}

func TestConnzSort(t *testing.T) {
	closed := []uint64{13, 14, 15, 16, 17}
	tests := []struct {
		sort  SortOpt
		state ConnState
		want  []uint64
	}{
		{"", ConnOpen, []uint64{7, 8, 9, 10}},
		{ByCid, ConnOpen, []uint64{7, 8, 9, 10}},
		{ByStart, ConnAll, []uint64{7, 8, 9, 10, 13, 14, 15, 16, 17}},
		{BySubs, ConnOpen, []uint64{7, 8, 10, 9}},
		{ByPending, ConnOpen, []uint64{8, 7, 10, 9}},
		{ByOutMsgs, ConnOpen, []uint64{10, 9, 8, 7}},
		{ByInMsgs, ConnOpen, []uint64{7, 8, 9, 10}},
		{ByInBytes, ConnOpen, []uint64{8, 7, 9, 10}},  // 5, 9, 4, 1
		{ByOutBytes, ConnOpen, []uint64{9, 10, 8, 7}}, // 0, 1, 4, 2
		{ByLast, ConnOpen, []uint64{7, 8, 9, 10}},
		{ByIdle, ConnOpen, []uint64{10, 9, 8, 7}},
		{ByRTT, ConnOpen, []uint64{7, 10, 9, 8}}, // 3, 0, 1, 2
		{ByUptime, ConnOpen, []uint64{10, 9, 8, 7}},
		{ByUptime, ConnAll, []uint64{13, 14, 15, 16, 17, 10, 9, 8, 7}},
		{ByStop, ConnClosed, []uint64{17, 16, 15, 14, 13}},
		{ByReason, ConnClosed, closed},
	}
	m, _ := newTest(population())
	for _, tt := range tests {
		t.Run(string(tt.sort), func(t *testing.T) {
			z, err := m.Connz(ConnzOptions{Sort: tt.sort, State: tt.state})
			if err != nil {
				t.Fatal(err)
			}
			if got := cids(z); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestConnzErrors(t *testing.T) {
	m, _ := newTest(population())
	if _, err := m.Connz(ConnzOptions{Sort: ByStop, State: ConnAll}); !errors.Is(err, ErrSortByStop) {
		t.Error(err)
	}
	if _, err := m.Connz(ConnzOptions{Sort: ByReason}); !errors.Is(err, ErrSortByReason) {
		t.Error(err)
	}
	if _, err := m.Connz(ConnzOptions{FilterSubject: "x"}); !errors.Is(err, ErrFilterSubject) {
		t.Error(err)
	}
	var se *SortError
	if _, err := m.Connz(ConnzOptions{Sort: "bogus"}); !errors.As(err, &se) || err.Error() != "invalid sorting option: bogus" {
		t.Error(err)
	}
}

// TestPageIsSliceOfSorted checks that keeping only what can be on the page changes nothing.
func TestPageIsSliceOfSorted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 400).Draw(t, "n")
		all := make([]Conn, n)
		for i := range all {
			all[i] = Conn{CID: uint64(i), NumSubs: rapid.Uint32Range(0, 20).Draw(t, "subs")}
		}
		order, err := BySubs.order(ConnOpen)
		if err != nil {
			t.Fatal(err)
		}
		p := &page{offset: rapid.IntRange(0, 50).Draw(t, "offset"), limit: rapid.IntRange(1, 50).Draw(t, "limit"), order: order}
		for _, i := range rapid.Permutation(all).Draw(t, "order") {
			p.add(&i)
			if len(p.kept) > 2*p.end()+64 {
				t.Fatalf("%d kept", len(p.kept))
			}
		}
		slices.SortStableFunc(all, func(a, b Conn) int { return order(&a, &b, time.Time{}) })
		want := all[min(p.offset, n):min(p.offset+p.limit, n)]
		got := p.conns()
		if !slices.EqualFunc(got, want, func(a, b Conn) bool { return a.CID == b.CID }) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}
