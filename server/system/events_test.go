package system

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"godwit/server/account"
	"godwit/server/monitor"
	"godwit/server/options"
)

// fakeClient is a Client.
type fakeClient struct {
	snap monitor.Conn
	acc  *account.Account
}

func (c *fakeClient) Snapshot() monitor.Conn    { return c.snap }
func (c *fakeClient) Account() *account.Account { return c.acc }

// client makes a client of an account, which counts it.
func (w *world) client(name string) *fakeClient {
	w.t.Helper()
	a := w.account(name)
	if err := a.Join(); err != nil {
		w.t.Fatal(err)
	}
	return &fakeClient{acc: a, snap: monitor.Conn{CID: 13, Kind: "Client", Type: "nats", IP: "127.0.0.1", Start: time.Now(), User: "u", Account: name,
		NameTag: name, Name: "cap", Lang: "go", Version: "1.0", InMsgs: 1, InBytes: 2, OutMsgs: 3, OutBytes: 4}}
}

// leave ends a client.
func (w *world) leave(c *fakeClient, reason monitor.Reason) {
	c.acc.Leave()
	last := c.snap
	last.Reason, last.Stop, last.RTT = reason, time.Now(), 202*time.Microsecond
	w.s.Events().ClientDisconnected(&last)
}

// lines returns subject and shape of each message, a line each.
func lines(got []message) string {
	var b strings.Builder
	for _, m := range got {
		b.WriteString(m.subject + " " + shape(m.body) + "\n")
	}
	return b.String()
}

const (
	client13     = `{"start":"NOW","host":"127.0.0.1","id":13,"acc":"A","user":"u","name":"cap","lang":"go","ver":"1.0",`
	clientEnd    = `"kind":"Client","client_type":"nats"}`
	disconnected = `{"type":"io.nats.server.advisory.v1.client_disconnect","id":ID,"timestamp":"NOW","server":SERVER,"client":`
	amounts      = `,"sent":{"msgs":1,"bytes":2},"received":{"msgs":3,"bytes":4},"reason":`
)

// connsOf is the event about n connections of account A.
func connsOf(n string) string {
	body := `{"type":"io.nats.server.advisory.v1.account_connections","id":ID,"timestamp":"NOW","server":SERVER,"acc":"A","name":"A",` +
		`"conns":` + n + `,"leafnodes":0,"total_conns":` + n + `,"num_subscriptions":4,` + traffic + "\n"
	return "$SYS.SERVER.ACCOUNT.A.CONNS " + body + "$SYS.ACCOUNT.A.SERVER.CONNS " + body
}

// eventWorld returns a running world without connections, and what is published under $SYS in the system account.
// STATSZ is left out.
func eventWorld(t *testing.T) (*world, *inbox) {
	w := newWorld(t)
	w.s.Start()
	t.Cleanup(w.s.Close)
	b := &inbox{}
	for _, s := range []string{"$SYS.ACCOUNT.>", "$SYS.SERVER.ACCOUNT.>", "$SYS.SERVER.*.CLIENT.>", "$SYS.SERVER.*.SHUTDOWN", "$SYS.SERVER.*.LAMEDUCK"} {
		w.account("SYS").Index().SubscribeReceiver(s, "", b)
	}
	return w, b
}

func TestClientEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, listener := eventWorld(t)
		c := w.client("A")
		w.s.Events().ClientConnected(c)
		synctest.Wait()
		want := connsOf("1") + `$SYS.ACCOUNT.A.CONNECT {"type":"io.nats.server.advisory.v1.client_connect","id":ID,"timestamp":"NOW","server":SERVER,` +
			`"client":` + client13 + `"name_tag":"A",` + clientEnd + "}\n"
		if got := lines(listener.take()); got != want {
			t.Errorf("connected\n got %s\nwant %s", got, want)
		}

		w.leave(c, monitor.ReasonClientClosed)
		synctest.Wait()
		want = connsOf("0") + "$SYS.ACCOUNT.A.DISCONNECT " + disconnected + client13 + `"rtt":202000,"stop":"NOW","name_tag":"A",` + clientEnd +
			amounts + `"Client Closed"}` + "\n"
		if got := lines(listener.take()); got != want {
			t.Errorf("disconnected\n got %s\nwant %s", got, want)
		}
	})
}

func TestAuthErrorEvents(t *testing.T) {
	for _, reason := range []monitor.Reason{monitor.ReasonAuthenticationViolation, monitor.ReasonProxyNotTrusted, monitor.ReasonProxyRequired} {
		synctest.Test(t, func(t *testing.T) {
			w, listener := eventWorld(t)
			w.s.Events().ClientDisconnected(&monitor.Conn{CID: 14, Kind: "Client", Type: "nats", IP: "::1", Start: time.Now(), Stop: time.Now(),
				Account: "$G", NameTag: "$G", User: "a", Reason: reason})
			synctest.Wait()
			body := disconnected + `{"start":"NOW","host":"::1","id":14,"acc":"$G","user":"a","stop":"NOW","name_tag":"$G",` + clientEnd +
				`,"sent":{"msgs":0,"bytes":0},"received":{"msgs":0,"bytes":0},"reason":"` + reason.String() + `"}` + "\n"
			want := "$SYS.SERVER." + serverID + ".CLIENT.AUTH.ERR " + body + "$SYS.ACCOUNT.$G.DISCONNECT " + body
			if got := lines(listener.take()); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// A client that sends nothing in time is no authentication error.
func TestAuthTimeoutIsADisconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, listener := eventWorld(t)
		w.s.Events().ClientDisconnected(&monitor.Conn{CID: 1, Account: "$G", Reason: monitor.ReasonAuthenticationTimeout})
		synctest.Wait()
		got := listener.take()
		if len(got) != 1 || got[0].subject != "$SYS.ACCOUNT.$G.DISCONNECT" || !strings.Contains(got[0].body, `"stop":"2000-`) {
			t.Errorf("got %v", got)
		}
	})
}

func TestLoginRefusedByAService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, system := eventWorld(t)
		c := &monitor.Conn{CID: 5, Account: "$G", Start: time.Now(), Reason: monitor.ReasonAuthenticationViolation}
		w.s.Events().LoginRefused(w.account("B"), c, "nobody listens")
		own := w.listen("B", "$SYS.ACCOUNT.CLIENT.AUTH.ERR")
		w.s.Events().LoginRefused(w.account("B"), c, "no such user")
		w.s.Events().LameDuck() // so that the account is changed back
		synctest.Wait()
		want := "$SYS.ACCOUNT.CLIENT.AUTH.ERR " + disconnected + `{"start":"NOW","id":5,"acc":"$G","stop":"NOW"},` +
			`"sent":{"msgs":0,"bytes":0},"received":{"msgs":0,"bytes":0},"reason":"no such user"}` + "\n"
		if got := lines(own.take()); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if got, want := lines(system.take()), "$SYS.SERVER."+serverID+".LAMEDUCK SERVER\n"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

func TestGlobalAccountHasNoConnectionEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, listener := eventWorld(t)
		c := w.client("$G")
		w.s.Events().ClientConnected(c)
		synctest.Wait()
		time.Sleep(2 * connsHeartbeat)
		w.leave(c, monitor.ReasonClientClosed)
		synctest.Wait()
		var got []string
		for _, m := range listener.take() {
			got = append(got, m.subject)
		}
		if want := "$SYS.ACCOUNT.$G.CONNECT $SYS.ACCOUNT.$G.DISCONNECT"; strings.Join(got, " ") != want {
			t.Errorf("got %v, want %s", got, want)
		}
	})
}

// A client that has moved to another account is told of for both.
func TestAccountLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, listener := eventWorld(t)
		c := w.client("A")
		c.acc.Leave()
		w.s.Events().AccountConnections(c.acc)
		moved := w.client("B")
		w.s.Events().ClientConnected(moved)
		synctest.Wait()
		got := lines(listener.take())
		if !strings.HasPrefix(got, connsOf("0")+"$SYS.SERVER.ACCOUNT.B.CONNS ") || !strings.Contains(got, "\n$SYS.ACCOUNT.B.CONNECT ") {
			t.Errorf("got %s", got)
		}
	})
}

func TestShutdownComesLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, listener := eventWorld(t)
		w.s.Events().ClientConnected(w.client("$G"))
		w.s.Events().LameDuck()
		w.s.Close()
		got := lines(listener.take())
		if !strings.HasPrefix(got, "$SYS.ACCOUNT.$G.CONNECT ") ||
			!strings.HasSuffix(got, "\n$SYS.SERVER."+serverID+".LAMEDUCK SERVER\n$SYS.SERVER."+serverID+".SHUTDOWN SERVER\n") {
			t.Errorf("got %s", got)
		}
		w.s.Events().ClientConnected(w.client("$G"))
		if n := w.s.Queues()[3].Pending; n != 0 {
			t.Errorf("%d events wait after Close", n)
		}
	})
}

// Nobody listens, so nothing is made: no number is used up.
func TestNoEventsWithoutListeners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.s.Start()
		c := w.client("A")
		w.s.Events().ClientConnected(c)
		w.s.Events().ClientConnected(&fakeClient{}) // it has not logged in
		w.s.Events().LameDuck()
		if n := w.s.Queues()[3].Pending; n != 0 {
			t.Errorf("%d events are queued", n)
		}
		time.Sleep(time.Minute)
		w.leave(c, monitor.ReasonAuthenticationViolation)
		w.s.Close()
		if n := w.s.stamp.seq.Load(); n != 0 {
			t.Errorf("%d events were made", n)
		}
	})
}

func TestStatszTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		listener := w.listen("SYS", "$SYS.SERVER.*.STATSZ")
		begin := time.Now()
		w.s.Start()
		defer w.s.Close()
		time.Sleep(40 * time.Second)
		synctest.Wait()
		var got []time.Duration
		for _, m := range listener.take() {
			got = append(got, m.at.Sub(begin))
			if want := strings.Replace(statszEmpty, `"active_accounts":1`, `"active_accounts":0`, 1); shape(m.body) != want {
				t.Errorf("got  %s\nwant %s", shape(m.body), want)
			}
		}
		want := []time.Duration{250, 1250, 3250, 7250, 15250, 25250, 35250}
		if len(got) != len(want) {
			t.Fatalf("got %v", got)
		}
		for i := range want {
			if got[i] != want[i]*time.Millisecond {
				t.Errorf("number %d after %v, want %d ms", i, got[i], want[i])
			}
		}
	})
}

func TestConnectionHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.s.Start()
		defer w.s.Close()
		a, b := w.client("A"), w.client("B")
		w.s.Events().ClientConnected(a) // before anybody listens
		time.Sleep(7 * time.Second)
		w.s.Events().ClientConnected(b)
		listener := w.listen("SYS", "$SYS.ACCOUNT.*.SERVER.CONNS")
		expect := func(after time.Duration, want string) {
			t.Helper()
			time.Sleep(after - time.Nanosecond)
			synctest.Wait()
			if got := listener.take(); len(got) != 0 {
				t.Fatalf("too early: %v", got)
			}
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			got := listener.take()
			if len(got) != 1 || got[0].subject != want {
				t.Fatalf("got %v, want %s", got, want)
			}
		}
		const ofA, ofB = "$SYS.ACCOUNT.A.SERVER.CONNS", "$SYS.ACCOUNT.B.SERVER.CONNS"
		expect(23*time.Second, ofA)
		expect(7*time.Second, ofB)
		expect(23*time.Second, ofA)
		w.s.Events().AccountConnections(w.account("B")) // a change starts the interval again
		synctest.Wait()
		if got := listener.take(); len(got) != 1 || got[0].subject != ofB {
			t.Fatalf("got %v", got)
		}
		time.Sleep(10 * time.Second)
		w.leave(a, monitor.ReasonClientClosed)
		synctest.Wait()
		listener.take()
		expect(20*time.Second, ofB)
		expect(30*time.Second, ofB)
		b.acc.Leave() // without a word: the heartbeat notices
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if got := listener.take(); len(got) != 0 {
			t.Errorf("heartbeats of accounts without connections: %v", got)
		}
		if n := w.s.events.beats.mu.order.Len() + len(w.s.events.beats.mu.of); n != 0 {
			t.Errorf("%d accounts still have a heartbeat", n)
		}
	})
}

func TestEventsBeyondTheBoundAreDropped(t *testing.T) {
	w := newWorld(t) // not started: nobody takes events
	w.listen("SYS", "$SYS.ACCOUNT.*.CONNECT")
	c := w.client("$G")
	for range eventsMax + 3 {
		w.s.Events().ClientConnected(c)
	}
	if n := w.s.Queues()[3].Pending; n != eventsMax {
		t.Errorf("%d wait, want %d", n, eventsMax)
	}
	if _, n := w.s.Refused(); n != 3 {
		t.Errorf("%d refused, want 3", n)
	}
}

// The name of an account can be what no subject may contain.
func TestAccountNamesThatAreNoTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := eventWorld(t)
		all := w.listen("SYS", ">")
		o := &options.Options{SystemAccount: "SYS"}
		for _, name := range []string{"a b", "a\r\nPING", "*", "x.y"} {
			o.Accounts = append(o.Accounts, &options.Account{Name: name, Limits: options.NoAccountLimits()})
		}
		w.accounts.Update(o)
		w.s.AccountsChanged()
		for _, a := range o.Accounts {
			c := w.client(a.Name)
			w.s.Events().ClientConnected(c)
			w.leave(c, monitor.ReasonClientClosed)
		}
		synctest.Wait()
		for _, m := range all.take() {
			if strings.ContainsAny(m.subject, " \r\n*") || !strings.Contains(m.subject, "x.y") && !strings.Contains(m.subject, "STATSZ") {
				t.Errorf("published on %q", m.subject)
			}
		}
	})
}

// Many clients come and go at the same time; what is told last is true.
func TestLastConnectionEventIsTrue(t *testing.T) {
	w := newWorld(t)
	w.s.Start()
	listener := w.listen("SYS", "$SYS.ACCOUNT.A.SERVER.CONNS")
	stay := w.client("A")
	w.s.Events().ClientConnected(stay)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				c := w.client("A")
				w.s.Events().ClientConnected(c)
				w.leave(c, monitor.ReasonClientClosed)
			}
		})
	}
	wg.Wait()
	w.s.Close()
	got := listener.take()
	if len(got) != 801 {
		t.Fatalf("%d events, want 801", len(got))
	}
	if last := got[len(got)-1].body; !strings.Contains(last, `"conns":1,"leafnodes":0,"total_conns":1,`) {
		t.Errorf("the last says %s", last)
	}
}
