package system

import (
	"encoding/json"
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
		begin := time.Now()
		got := w.ask(nil, "SYS", "$SYS.REQ.SERVER.PING.PROFILEZ", "", `{"name":"cpu","duration":2000000000}`)
		if len(got) != 0 {
			t.Fatal("a profile at once")
		}
		time.Sleep(3 * time.Second)
		got = w.inboxes[w.account("SYS")].take()
		if p := string(profileIn(t, got)); !strings.HasPrefix(p, "\x1f\x8b") {
			t.Errorf("got %.60q", p)
		}
		if took := got[0].at.Sub(begin); took < 2*time.Second {
			t.Errorf("the profile took %v, want 2 s", took)
		}
	})
}

// While a CPU profile is made, other requests are answered, some profiles wait, and more are refused; Close does not
// wait for its end.
func TestProfilesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := started(t)
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
		if d := time.Since(begin); d >= time.Second {
			t.Errorf("Close took %v", d)
		}
		if got := w.inboxes[w.account("SYS")].take(); len(got) != 0 {
			t.Errorf("an answer after Close: %v", got)
		}
	})
}
