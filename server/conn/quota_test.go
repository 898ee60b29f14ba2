package conn

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"godwit/protocol"
	"godwit/server/account"
	"godwit/server/auth"
	"godwit/server/monitor"
	"godwit/server/options"
)

// silence is a Logger.
type silence struct{}

func (silence) Noticef(string, ...any)         {}
func (silence) Warnf(string, ...any)           {}
func (silence) Errorf(string, ...any)          {}
func (silence) Debugf(string, ...any)          {}
func (silence) RateLimitErrorf(string, ...any) {}
func (silence) Tracef(string, ...any)          {}

// newEnv returns what connections need of a server in which nobody has to log in, and the options of its accounts.
func newEnv(t testing.TB, quota *options.Quota) (*Env, *options.Options) {
	o := options.Defaults()
	o.Quotas.Account = quota
	a, err := auth.New(auth.Config{})
	if err != nil {
		t.Fatal(err)
	}
	e := &Env{Accounts: account.NewRegistry(o), Registry: NewRegistry(monitor.NewClosedRing(1)), Log: silence{},
		Info: func() protocol.Info { return protocol.Info{} }, Nonce: func() string { return "" },
		Connected: func(*Conn) {}, Joined: func(*Conn, *auth.Identity) {}, Left: func(*account.Account) {}, Disconnected: func(*monitor.Conn) {}}
	e.Auth.Store(a)
	e.Settings.Store(settings())
	return e, o
}

func settings() *Settings {
	return &Settings{MaxConn: 10, ControlLine: 4096, MaxPayload: 1 << 20, MaxPending: 64 << 20, PingInterval: time.Minute, MaxPings: 2,
		WriteDeadline: 10 * time.Second, AuthTimeout: time.Second}
}

// serve makes a connection over a pipe and returns the client's end. Lines that the server sends arrive in the channel.
func serve(t *testing.T, e *Env) (*Conn, net.Conn, <-chan string) {
	client, served := net.Pipe()
	c, err := New(e, 1, served, nil)
	if err != nil {
		t.Fatal(err)
	}
	e.Registry.Add(c, 10)
	go c.Serve()
	lines := make(chan string, 10_000)
	go func() {
		defer close(lines)
		for in := bufio.NewReader(client); ; {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			lines <- strings.TrimSuffix(line, "\r\n")
		}
	}()
	io.WriteString(client, "CONNECT {\"verbose\":false,\"protocol\":1}\r\nPING\r\n")
	for line := range lines {
		if strings.HasPrefix(line, "INFO") && strings.Contains(line, "connect_info") { // after the PONG
			break
		}
	}
	return c, client, lines
}

func inBubble(t *testing.T, quota *options.Quota, f func(e *Env, o *options.Options, c *Conn, client net.Conn, lines <-chan string)) {
	synctest.Test(t, func(t *testing.T) {
		e, o := newEnv(t, quota)
		c, client, lines := serve(t, e)
		f(e, o, c, client, lines)
		client.Close()
		<-c.Done()
		e.Accounts.Close()
	})
}

// A read buffer with more than there is to take is worked off at the rate, and everything comes in order.
func TestHeldBack(t *testing.T) {
	inBubble(t, &options.Quota{Messages: 10, Burst: time.Second, MaxDelay: 2 * time.Second}, func(_ *Env, _ *options.Options, c *Conn, client net.Conn, lines <-chan string) {
		io.WriteString(client, "SUB x 1\r\n")
		start := time.Now()
		go func() {
			var b strings.Builder
			for i := range 40 {
				fmt.Fprintf(&b, "PUB x 2\r\n%02d\r\n", i)
			}
			io.WriteString(client, b.String()+"PING\r\n")
		}()
		want := 0
		for line := range lines {
			if line == "PONG" {
				break
			}
			if !strings.HasPrefix(line, "MSG") {
				if line != fmt.Sprintf("%02d", want) {
					t.Fatalf("got %s, want %02d", line, want)
				}
				if due := time.Duration(want-10) * 100 * time.Millisecond; time.Since(start) < due-200*time.Millisecond || time.Since(start) > max(due, 0)+200*time.Millisecond {
					t.Errorf("message %d came after %v", want, time.Since(start))
				}
				want++
			}
		}
		if s := c.Snapshot(); want != 40 || s.InMsgs != 40 || s.Throttled < 2900*time.Millisecond || s.Throttled > 3100*time.Millisecond || s.Refused != 0 {
			t.Errorf("%d came, %+v", want, s)
		}
	})
}

// A PONG comes after the word about what was refused before it.
func TestRefusedBeforePong(t *testing.T) {
	inBubble(t, &options.Quota{Messages: 10, Burst: time.Second}, func(_ *Env, _ *options.Options, c *Conn, client net.Conn, lines <-chan string) {
		io.WriteString(client, strings.Repeat("PUB a 0\r\n\r\n", 10)+strings.Repeat("PUB b 0\r\n\r\n", 5)+"PING\r\nPUB c 0\r\n\r\n")
		for _, want := range []string{`-ERR 'Permissions Violation for Publish to "b": publish quota exceeded: messages of the account, try again in 100ms (20001), 5 refused'`,
			"PONG", `-ERR 'Permissions Violation for Publish to "c": publish quota exceeded: messages of the account, try again in 100ms (20001), 1 refused'`} {
			if got := <-lines; got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		}
		if s := c.Snapshot(); s.Refused != 6 || s.InMsgs != 16 {
			t.Errorf("%+v", s)
		}
	})
}

// What a refused message leaves behind does not lead the next one astray.
func TestSubjectAfterARefusedOne(t *testing.T) {
	inBubble(t, &options.Quota{Messages: 3, Burst: time.Second}, func(_ *Env, _ *options.Options, _ *Conn, client net.Conn, lines <-chan string) {
		io.WriteString(client, "SUB > 1\r\nPUB a 0\r\n\r\nPUB a 0\r\n\r\nPUB a 0\r\n\r\nPUB b 0\r\n\r\nPING\r\n")
		for <-lines != "PONG" {
		}
		time.Sleep(time.Second)
		io.WriteString(client, "PUB b 0\r\n\r\n")
		if got := <-lines; got != "MSG b 1 0" {
			t.Error(got)
		}
	})
}

// Closing a connection that is held back ends it at once.
func TestCloseWhileHeldBack(t *testing.T) {
	inBubble(t, &options.Quota{Messages: 1, MaxDelay: 30 * time.Second}, func(_ *Env, _ *options.Options, c *Conn, client net.Conn, lines <-chan string) {
		go io.WriteString(client, strings.Repeat("PUB x 0\r\n\r\n", 100))
		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
		start := time.Now()
		c.Close(monitor.ReasonKicked, "")
		<-c.Done()
		if took := time.Since(start); took != 0 {
			t.Errorf("it took %v", took)
		}
		if s := c.Snapshot(); s.InMsgs > 10 {
			t.Errorf("%d messages were taken after the end", s.InMsgs)
		}
	})
}

// A client whose PONG lies behind messages that are held back is not stale.
func TestHeldBackIsNotStale(t *testing.T) {
	inBubble(t, &options.Quota{Messages: 1, MaxDelay: time.Second}, func(_ *Env, _ *options.Options, c *Conn, client net.Conn, lines <-chan string) {
		go io.WriteString(client, strings.Repeat("PUB x 0\r\n\r\n", 900))
		time.Sleep(14 * time.Minute)
		if c.Gone.Load() {
			t.Error("it was closed")
		}
		time.Sleep(10 * time.Minute) // it answers no PING at all
		if !c.Gone.Load() {
			t.Error("a silent client is still connected")
		}
	})
}

// A reload gives quotas to connections that had none, and takes them away.
func TestQuotaOfALiveConnection(t *testing.T) {
	inBubble(t, nil, func(e *Env, o *options.Options, c *Conn, client net.Conn, lines <-chan string) {
		flood := func() time.Duration {
			start := time.Now()
			io.WriteString(client, strings.Repeat("PUB x 0\r\n\r\n", 30)+"PING\r\n")
			for <-lines != "PONG" {
			}
			return time.Since(start)
		}
		set := func(q *options.Quota) {
			o.Quotas.Account = q
			e.Accounts.Update(o)
			e.Settings.Store(settings())
		}
		none := flood()
		set(&options.Quota{Messages: 10, Burst: time.Second, MaxDelay: time.Second})
		ten := flood()
		set(&options.Quota{Messages: 5, Burst: time.Second, MaxDelay: time.Second})
		five := flood()
		set(nil)
		if again := flood(); none != 0 || ten < 1800*time.Millisecond || ten > 2200*time.Millisecond || five < 5*time.Second || again > 300*time.Millisecond { // the last wait of before
			t.Errorf("%v %v %v %v", none, ten, five, again)
		}
	})
}

func TestIsRequest(t *testing.T) {
	for subject, want := range map[string]bool{"$JS.API.INFO": true, "$JS.hub.API.STREAM.NAMES": true, "$JS.API": false, "$JS.ACK.S.C.1": false,
		"$JS.EVENT.METRIC.API": false, "x.$JS.API.INFO": false, "$JS.": false, "$JS.a.b.API.INFO": false} {
		if isRequest([]byte(subject)) != want {
			t.Errorf("%s", subject)
		}
	}
}

// BenchmarkHandle is a read buffer of a publisher: without quotas they cost nothing.
func BenchmarkHandle(b *testing.B) {
	for name, quota := range map[string]*options.Quota{"without": nil, "with": {Messages: 1 << 40, Bytes: 1 << 50}} {
		b.Run(name, func(b *testing.B) {
			e, _ := newEnv(b, quota)
			client, served := net.Pipe()
			defer client.Close()
			go io.Copy(io.Discard, client)
			c, err := New(e, 1, served, nil)
			if err != nil {
				b.Fatal(err)
			}
			c.admit()
			if _, err := c.handle([]byte("CONNECT {\"verbose\":false}\r\n")); err != nil {
				b.Fatal(err)
			}
			buf := []byte(strings.Repeat("PUB some.subject 128\r\n"+strings.Repeat("x", 128)+"\r\n", 200))
			b.SetBytes(int64(len(buf)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.handle(buf); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
