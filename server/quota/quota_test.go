package quota

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"godwit/server/options"
)

// client publishes as a connection does: in groups, each of what one read brought.
type client struct {
	m       *Meter
	sent    int
	refused int
	why     Excess
}

// group publishes n messages of that many bytes and waits as it is told. It returns how long that took.
func (c *client) group(n, bytes int, request bool) time.Duration {
	start := time.Now()
	c.m.Open(start)
	for range n {
		v := c.m.Take(bytes, request)
		if v == Later {
			c.wait()
			c.m.Begin(time.Now())
			v = c.m.Take(bytes, request)
		}
		switch v {
		case Admitted:
			c.sent++
		case Refused:
			c.refused++
			c.why = c.m.Excess()
			c.m.Refuse(bytes, request)
		default:
			panic("asked to wait twice")
		}
	}
	c.wait()
	return time.Since(start)
}

func (c *client) wait() {
	if d := c.m.Pay(); d > 0 {
		time.Sleep(d)
		c.m.Waited(d)
	}
}

func tenantOf(terms Terms) *Tenant {
	t := NewTenant()
	t.Set(terms)
	return t
}

// A single connection gets the burst at once and then its rate; it is never refused, whatever a read brings.
func TestOneConnectionIsSlowedToTheRate(t *testing.T) {
	for _, tt := range []struct {
		name    string
		quota   options.Quota
		n, size int
		request bool
		seconds float64
	}{
		{"messages", options.Quota{Messages: 1000, MaxDelay: time.Second}, 11_000, 10, false, 10},
		{"few messages", options.Quota{Messages: 1, MaxDelay: time.Second}, 11, 10, false, 10},
		{"bytes", options.Quota{Bytes: 1 << 20, MaxDelay: time.Second}, 3 << 10, 1 << 10, false, 2},
		{"requests", options.Quota{Requests: 100, MaxDelay: time.Second}, 300, 10, true, 2},
		{"a longer burst", options.Quota{Messages: 1000, Burst: 5 * time.Second, MaxDelay: time.Second}, 6000, 10, false, 1},
		{"a short delay", options.Quota{Messages: 1000, MaxDelay: 5 * time.Millisecond}, 3000, 10, false, 2},
		{"a long burst at a low rate", options.Quota{Messages: 1, Burst: time.Hour, MaxDelay: time.Second}, 3610, 10, false, 10},
		{"the least of all", options.Quota{Messages: 100, Bytes: 1 << 40, Requests: 1 << 40, MaxDelay: time.Second}, 300, 10, true, 2},
		{"within the burst", options.Quota{Messages: 1000, MaxDelay: time.Second}, 1000, 10, false, 0},
		{"as fast as can be said", options.Quota{Messages: options.QuotaRateMax, MaxDelay: time.Second}, 100_000, 10, false, 0},
	} {
		for _, group := range []int{tt.n, 7} {
			t.Run(fmt.Sprintf("%s, %d at once", tt.name, group), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := &client{m: tenantOf(Terms{Account: &tt.quota}).Join("")}
					start := time.Now()
					for n := tt.n; n > 0; n -= group {
						c.group(min(n, group), tt.size, tt.request)
					}
					if took := time.Since(start).Seconds(); c.refused != 0 || took < tt.seconds*0.99-0.01 || took > tt.seconds*1.01+0.03 {
						t.Errorf("%d sent, %d refused in %v s", c.sent, c.refused, took)
					}
				})
			})
		}
	}
}

// Without a delay nobody waits: what the bucket does not hold is refused.
func TestNoDelayRefusesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &client{m: tenantOf(Terms{Account: &options.Quota{Messages: 100, Burst: 500 * time.Millisecond}}).Join("")}
		if took := c.group(80, 1, false); took != 0 || c.sent != 50 || c.refused != 30 {
			t.Fatalf("%v: %d sent, %d refused", took, c.sent, c.refused)
		}
		if c.why != (Excess{Messages, false, 10 * time.Millisecond}) {
			t.Errorf("%+v", c.why)
		}
		time.Sleep(c.why.After)
		if c.group(2, 1, false); c.sent != 51 || c.refused != 31 {
			t.Errorf("after the time that was told: %d sent, %d refused", c.sent, c.refused)
		}
		time.Sleep(time.Hour)
		if c.group(51, 1, false); c.sent != 101 {
			t.Errorf("after a long time: %d sent", c.sent)
		}
		if n := c.m.tenant.Bucket().Counts(); n.Messages.Load() != 32 || n.Bytes.Load() != 32 || n.Requests.Load() != 0 || n.Throttled.Load() != 0 {
			t.Errorf("%d %d", n.Messages.Load(), n.Bytes.Load())
		}
	})
}

// Connections share the rate; they are refused only when there is less than a message for each of them while it may wait.
func TestManyConnections(t *testing.T) {
	for _, tt := range []struct {
		clients int
		refused bool
	}{{1, false}, {2, false}, {50, false}, {300, true}} {
		t.Run(fmt.Sprint(tt.clients), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tenant := tenantOf(Terms{Account: &options.Quota{Messages: 1000, MaxDelay: 100 * time.Millisecond}})
				var wg sync.WaitGroup
				clients := make([]*client, tt.clients)
				for i := range clients {
					c := &client{m: tenant.Join("")}
					clients[i] = c
					wg.Go(func() {
						time.Sleep(time.Duration(i) * time.Microsecond)
						for start := time.Now(); time.Since(start) < 10*time.Second; {
							time.Sleep(rand.N(3 * time.Millisecond)) // what a timer is late, and more
							c.group(20, 10, false)
						}
					})
				}
				start := time.Now()
				wg.Wait()
				due := time.Since(start).Seconds()*1000 + 1000
				sent, refused, few := 0, 0, 0
				for _, c := range clients {
					sent, refused = sent+c.sent, refused+c.refused
				}
				for _, c := range clients {
					if c.sent < sent/tt.clients/4 {
						few++
					}
				}
				if float64(sent) < 0.98*due || float64(sent) > due+float64(20*tt.clients) || (refused > sent/10) != tt.refused {
					t.Errorf("%d sent, %v are due; %d refused", sent, due, refused)
				}
				if few > tt.clients/8 {
					t.Errorf("%d of %d connections got next to nothing", few, tt.clients)
				}
			})
		})
	}
}

// A message that takes longer than anybody waits is let through, and paid for.
func TestLargeMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &client{m: tenantOf(Terms{Account: &options.Quota{Bytes: 1000, MaxDelay: time.Second}}).Join("")}
		if took := c.group(1, 5000, false); took != time.Second || c.sent != 1 { // of the 4 s that it owes
			t.Fatalf("%v", took)
		}
		if took := c.group(1, 1, false); c.refused != 1 || took < time.Second/2 || took > time.Second || c.why != (Excess{Bytes, false, 2 * time.Second}) {
			t.Fatalf("%v %+v", took, c)
		}
		time.Sleep(2 * time.Second)
		if c.group(1, 1, false); c.sent != 2 {
			t.Errorf("%+v", c)
		}
		c.group(1, 1<<40, false)
		time.Sleep(time.Minute)
		if c.group(1, 1, false); c.sent != 4 {
			t.Error("one message blocks the account for longer than a minute")
		}
	})
}

// What is not to be refused counts, and delays the others.
func TestUnrefusedCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &client{m: tenantOf(Terms{Account: &options.Quota{Messages: 100}}).Join("")}
		c.m.Open(time.Now())
		for range 150 {
			c.m.Count(10, false)
		}
		if v := c.m.Take(1, false); v != Later {
			t.Error(v)
		}
		c.m.Pay()
		c.m.Begin(time.Now())
		if v := c.m.Take(1, false); v != Refused || c.m.Excess().After != 510*time.Millisecond {
			t.Error(v, c.m.Excess())
		}
	})
}

// Requests that are refused do not take other messages with them.
func TestRefusedRequestsLeaveMessagesAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := tenantOf(Terms{Account: &options.Quota{Requests: 1}}).Join("")
		m.Open(time.Now())
		var got []Verdict
		for i := range 6 {
			v := m.Take(1, i%2 == 0)
			if v == Later {
				m.Pay()
				m.Begin(time.Now())
				v = m.Take(1, i%2 == 0)
			}
			got = append(got, v)
		}
		if fmt.Sprint(got) != fmt.Sprint([]Verdict{Admitted, Admitted, Refused, Admitted, Refused, Admitted}) {
			t.Error(got)
		}
		if why := m.Excess(); why.Kind != Requests || why.User {
			t.Errorf("%+v", why)
		}
	})
}

// A user is bounded by the user's quota and the account's; others are not touched by the user's.
func TestUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tenant := tenantOf(Terms{Account: &options.Quota{Messages: 100}, Users: map[string]*options.Quota{"a": {Messages: 10}, "free": {}},
			Others: &options.Quota{Messages: 20}})
		join := func(user string) *client { return &client{m: tenant.Join(user)} }
		a, a2, b, free, nobody := join("a"), join("a"), join("b"), join("free"), join("")
		a.group(6, 1, false)
		a2.group(6, 1, false)
		if a.sent+a2.sent != 10 || !a2.why.User {
			t.Errorf("%d and %d, %+v", a.sent, a2.sent, a2.why)
		}
		if b.group(30, 1, false); b.sent != 20 || !b.why.User {
			t.Errorf("%d, %+v", b.sent, b.why)
		}
		free.group(40, 1, false)
		if nobody.group(40, 1, false); free.sent != 40 || nobody.sent != 30 || nobody.why.User {
			t.Errorf("%d and %d, %+v", free.sent, nobody.sent, nobody.why)
		}
		seen := map[string]int64{}
		tenant.EachUser(func(name string, b *Bucket) { seen[name] = b.Counts().Messages.Load() })
		if fmt.Sprint(seen) != "map[a:2 b:10]" || tenant.Bucket().Counts().Messages.Load() != 22 {
			t.Error(seen)
		}
	})
}

// Whoever is bounded by nothing costs nothing.
func TestJoinWithoutQuota(t *testing.T) {
	tenant := NewTenant()
	if tenant.Join("") != nil || tenant.Join("a") != nil {
		t.Error("a meter of nothing")
	}
	tenant.Set(Terms{Account: &options.Quota{MaxDelay: 1}, Others: &options.Quota{Messages: 1}, Users: map[string]*options.Quota{"a": {}}})
	if tenant.Join("") != nil || tenant.Join("a") != nil || tenant.Join("b") == nil {
		t.Error("limits of nothing bound somebody, or some nobody")
	}
	(*Meter)(nil).Leave()
}

// A change holds for connections that are there, and forgives nothing.
func TestChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tenant := tenantOf(Terms{Account: &options.Quota{Messages: 10}, Others: &options.Quota{Messages: 5}})
		c := &client{m: tenant.Join("u")}
		if c.group(20, 1, false); c.sent != 5 {
			t.Fatal(c.sent)
		}
		tenant.Set(Terms{Account: &options.Quota{Messages: 1000}, Others: &options.Quota{Messages: 500}})
		if c.group(600, 1, false); c.sent != 5 {
			t.Errorf("%d: the bucket was filled by a change", c.sent)
		}
		time.Sleep(time.Second)
		if c.group(600, 1, false); c.sent != 505 {
			t.Error(c.sent)
		}
		tenant.Set(Terms{})
		if c.group(10_000, 1, true); c.sent != 10_505 {
			t.Error(c.sent)
		}
		if q := tenant.Bucket().Quota(); q != nil {
			t.Errorf("%+v", q)
		}
	})
}

// Users who left are forgotten when their buckets are full, and not before: coming back brings nothing.
func TestUsersWhoLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tenant := tenantOf(Terms{Others: &options.Quota{Messages: 10, Burst: 10 * time.Second}})
		use := func(user string) int {
			c := &client{m: tenant.Join(user)}
			defer c.m.Leave()
			c.group(200, 1, false)
			return c.sent
		}
		if first, again := use("u"), use("u"); first != 100 || again != 0 {
			t.Errorf("%d, then %d", first, again)
		}
		for i := range 10_000 {
			use(fmt.Sprint(i))
			time.Sleep(time.Second)
		}
		n := 0
		tenant.EachUser(func(string, *Bucket) { n++ })
		if n > 2*sweepLeast {
			t.Errorf("%d users are remembered", n)
		}
		if got := use("u"); got != 100 {
			t.Errorf("after a long time: %d", got)
		}
	})
}

// Property: over any time, an account gets no more than its burst and its rate allow, with one slice and one message of each
// connection on top, and a connection alone gets all of it.
func TestRateHolds(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		q := options.Quota{Messages: rapid.Int64Range(1, 5000).Draw(r, "rate"), Burst: time.Duration(rapid.IntRange(1, 3000).Draw(r, "burst")) * time.Millisecond,
			MaxDelay: time.Duration(rapid.IntRange(0, 500).Draw(r, "delay")) * time.Millisecond}
		tenant := tenantOf(Terms{Account: &q})
		clients := make([]*Meter, rapid.IntRange(1, 5).Draw(r, "clients"))
		for i := range clients {
			clients[i] = tenant.Join("")
		}
		now, sent, start := tenant.epoch.Add(time.Hour), int64(0), time.Hour
		for range rapid.IntRange(1, 200).Draw(r, "groups") {
			m := clients[rapid.IntRange(0, len(clients)-1).Draw(r, "client")]
			m.Open(now)
			for range rapid.IntRange(1, 100).Draw(r, "messages") {
				v := m.Take(1, false)
				if v == Later {
					now = now.Add(m.Pay())
					m.Begin(now)
					v = m.Take(1, false)
				}
				if v == Later {
					r.Fatal("asked to wait twice")
				}
				if v == Admitted {
					sent++
				}
			}
			now = now.Add(m.Pay()).Add(time.Duration(rapid.IntRange(0, 50).Draw(r, "pause")) * time.Millisecond)
			elapsed := (now.Sub(tenant.epoch) - start).Seconds()
			slack := q.MaxDelay.Seconds()*float64(q.Messages) + float64(q.Messages)*(slice.Seconds()) + 2
			if most := (elapsed+q.Burst.Seconds())*float64(q.Messages) + slack; float64(sent) > most {
				r.Fatalf("%d were sent in %v s, at most %v are due", sent, elapsed, most)
			}
		}
	})
}

// Meters of one bucket may be used at the same time.
func TestMetersAtOnce(t *testing.T) {
	tenant := tenantOf(Terms{Account: &options.Quota{Messages: 1000, Burst: time.Hour}, Others: &options.Quota{Messages: 500, Burst: time.Hour}})
	var wg sync.WaitGroup
	var mu sync.Mutex
	sent := 0
	for i := range 8 {
		wg.Go(func() {
			c := &client{m: tenant.Join(fmt.Sprint("user", i%2))}
			for range 1000 {
				c.group(10, 1, false)
				tenant.Join("other").Leave()
				tenant.Set(Terms{Account: &options.Quota{Messages: 1000, Burst: time.Hour}, Others: &options.Quota{Messages: 500, Burst: time.Hour}})
			}
			mu.Lock()
			defer mu.Unlock()
			sent += c.sent
			if c.refused > 0 {
				t.Error("refused what there was")
			}
		})
	}
	wg.Wait()
	if sent != 80_000 {
		t.Error(sent)
	}
	now := tenant.at(time.Now())
	if debt := tenant.own.debt(tenant.own.limits.Load(), Messages, now); debt > -int64(time.Hour)+int64(80*time.Second) || debt < -int64(time.Hour)+int64(60*time.Second) {
		t.Errorf("%v is left of an hour", time.Duration(-debt))
	}
}

func BenchmarkMeter(b *testing.B) {
	m := tenantOf(Terms{Account: &options.Quota{Messages: 1 << 40, Bytes: 1 << 50, MaxDelay: time.Second}, Others: &options.Quota{Messages: 1 << 40}}).Join("u")
	b.ReportAllocs()
	now := time.Now()
	for b.Loop() {
		m.Open(now)
		for range 100 {
			m.Take(128, false)
		}
		m.Pay()
	}
}
