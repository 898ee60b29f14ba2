package system

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"godwit/server/router"
)

// notes is a subscriber that sends a word to a channel for each message.
type notes struct {
	word string
	to   chan string
}

func (n notes) NewBatch() router.Batch { return n }
func (n notes) Flush()                 {}
func (n notes) Add(*router.Message)    { n.to <- n.word }

func TestProfileErrors(t *testing.T) {
	tests := []struct{ body, want string }{
		{`{"name":"zz"}`, `Profile \"zz\" not found`},
		{`{"name":"cpu"}`, "Duration 0s should be between 0s and 15s"},
		{`{"name":"cpu","duration":-5}`, "Duration -5ns should be between 0s and 15s"},
		{`{"name":"cpu","duration":16000000000}`, "Duration 16s should be between 0s and 15s"},
	}
	synctest.Test(t, func(t *testing.T) {
		w := started(t)
		for _, tt := range tests {
			got := w.one(w.ask(nil, "SYS", "$SYS.REQ.SERVER.PING.PROFILEZ", "", tt.body))
			if want := `{"server":SERVER,"data":{"profile":null,"error":"` + tt.want + `"}}`; got != want {
				t.Errorf("%s\n got %s\nwant %s", tt.body, got, want)
			}
		}
	})
}

// profileIn returns the profile in the only answer.
func profileIn(t *testing.T, got []message) []byte {
	t.Helper()
	if len(got) != 1 {
		t.Fatalf("%d answers, want 1", len(got))
	}
	var a struct{ Data profileAnswer }
	if err := json.Unmarshal([]byte(got[0].body), &a); err != nil {
		t.Fatal(err)
	}
	if a.Data.Error != "" {
		t.Fatal(a.Data.Error)
	}
	return a.Data.Profile
}

// fakeProfiler is a CPU profiler for bubbles, where that of the runtime cannot be used.
type fakeProfiler struct {
	w       io.Writer
	running bool
	runs    int
}

func (p *fakeProfiler) start(w io.Writer) error {
	if p.running {
		return errors.New("already in use")
	}
	p.w, p.running = w, true
	p.runs++
	return nil
}

func (p *fakeProfiler) stop() {
	io.WriteString(p.w, "profile")
	p.running = false
}

// Outside a bubble, with the profiler of the runtime.
func TestCPUProfile(t *testing.T) {
	w := newWorld(t)
	w.s.Start()
	defer w.s.Close()
	got := make(chan []byte, 1)
	w.account("SYS").Index().SubscribeReceiver("_INBOX.1", "", bodies(got))
	w.publish(nil, "SYS", "$SYS.REQ.SERVER.PING.PROFILEZ", "_INBOX.1", "", `{"name":"cpu","duration":1000000}`)
	if p := string(profileIn(t, []message{{body: string(<-got)}})); !strings.HasPrefix(p, "\x1f\x8b") {
		t.Errorf("got %.60q", p)
	}
}

// bodies is a subscriber that passes the bodies on.
type bodies chan []byte

func (b bodies) NewBatch() router.Batch { return b }
func (b bodies) Flush()                 {}
func (b bodies) Add(m *router.Message)  { b <- append([]byte(nil), m.Payload...) }

func TestProfiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := started(t)
		for body, want := range map[string]string{
			`{"name":"goroutine","debug":1}`: "goroutine profile: total",
			`{"name":"heap"}`:                "\x1f\x8b",
		} {
			got := w.ask(nil, "SYS", "$SYS.REQ.SERVER.PING.PROFILEZ", "", body)
			if p := string(profileIn(t, got)); !strings.HasPrefix(p, want) {
				t.Errorf("%s: got %.60q", body, p)
			}
		}
		profiler := &fakeProfiler{}
		w.s.cpuProfiler = profiler
		begin := time.Now()
		got := w.ask(nil, "SYS", "$SYS.REQ.SERVER.PING.PROFILEZ", "", `{"name":"cpu","duration":2000000000}`)
		if len(got) != 0 {
			t.Fatal("a profile at once")
		}
		time.Sleep(3 * time.Second)
		got = w.inboxes[w.account("SYS")].take()
		if p := string(profileIn(t, got)); p != "profile" || profiler.running {
			t.Errorf("got %.60q, still running: %v", p, profiler.running)
		}
		if took := got[0].at.Sub(begin); took != 2*time.Second {
			t.Errorf("the profile took %v, want 2 s", took)
		}
		profiler.running = true
		got = w.ask(nil, "SYS", "$SYS.REQ.SERVER.PING.PROFILEZ", "", `{"name":"cpu","duration":1}`)
		if want := `{"server":SERVER,"data":{"profile":null,"error":"Failed to start CPU profile: already in use"}}`; w.one(got) != want {
			t.Errorf("got %v, want %s", got, want)
		}
	})
}

// While a CPU profile is made, other requests are answered, some profiles wait, and more are refused; Close does not
// wait for its end.
func TestProfilesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := started(t)
		profiler := &fakeProfiler{}
		w.s.cpuProfiler = profiler
		begin := time.Now()
		for range 1 + profilesWaiting {
			if got := w.ask(nil, "SYS", "$SYS.REQ.SERVER.PING.PROFILEZ", "", `{"name":"cpu","duration":15000000000}`); len(got) != 0 {
				t.Fatal(got)
			}
		}
		if q := w.s.Queues()[2]; q.Pending != profilesWaiting {
			t.Errorf("%d wait, want %d", q.Pending, profilesWaiting)
		}
		want := `{"server":SERVER,"data":{"profile":null,"error":"Too many profiles are asked for at one time"}}`
		if got := w.one(w.ask(nil, "SYS", "$SYS.REQ.SERVER.PING.PROFILEZ", "", `{"name":"heap"}`)); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
		if got := w.one(w.ask(nil, "SYS", "$SYS.REQ.SERVER.PING.HEALTHZ", "", "")); got != healthy {
			t.Errorf("got %s", got)
		}
		w.s.Close()
		if d := time.Since(begin); d != 0 || profiler.running || profiler.runs != 1 {
			t.Errorf("Close took %v, profiles %d, running %v", d, profiler.runs, profiler.running)
		}
		if got := w.inboxes[w.account("SYS")].take(); len(got) != 0 {
			t.Errorf("an answer after Close: %v", got)
		}
	})
}
