package system

import (
	"testing"
	"testing/synctest"

	"godwit/server/router"
)

// sink is a connection that nothing is written to: it only counts as one.
type sink struct {
	router.Dest
	router.Sink
}

// subscribeClient adds subscriptions of a client, each a subject and maybe a queue.
func (w *world) subscribeClient(name string, subs ...[2]string) {
	c := &sink{}
	c.Init(c)
	for _, s := range subs {
		w.account(name).Index().Insert(router.NewSub(&c.Dest, []byte(s[0]), []byte(s[1]), []byte("1")), s[0])
	}
}

func TestSubscribers(t *testing.T) {
	tests := []struct{ account, body, want string }{
		{"SYS", "foo", "3"},
		{"SYS", "foo q1", "2"},
		{"SYS", "  foo\tq2 ", "1"},
		{"SYS", "foo q3", "0"},
		{"SYS", "foo.bar", "2"},
		{"SYS", "foo.>", "1"},
		{"SYS", "foo.*", "1"},
		{"SYS", "*.*", "2"},
		{"SYS", ">", "5"},
		{"SYS", "> q1", "2"},
		{"SYS", "$SYS.REQ.SERVER.PING", "0"}, // the server's own
		{"SYS", "a b c", "0"},
		{"SYS", "a..b", "0"},
		{"SYS", "*..b", "0"},
		{"SYS", "", "0"},
		{"A", "foo", "1"},
		{"B", "foo", "0"},
	}
	synctest.Test(t, func(t *testing.T) {
		w := started(t, func(o *Options) { o.DebugEverywhere = true })
		w.subscribeClient("SYS", [2]string{"foo", "q1"}, [2]string{"foo", "q1"}, [2]string{"foo", "q2"}, [2]string{"foo.*"}, [2]string{"*.bar"})
		w.subscribeClient("A", [2]string{"foo"})
		for _, tt := range tests {
			if got := w.one(w.ask(nil, tt.account, "$SYS.DEBUG.SUBSCRIBERS", "", tt.body)); got != tt.want {
				t.Errorf("%s %q: got %q, want %q", tt.account, tt.body, got, tt.want)
			}
		}
		for body, want := range map[string]string{
			`{"acc":"SYS","subject":"foo"}`:                "3",
			`{"acc":"SYS","subject":"foo","queue":"cTE="}`: "2",
			`{"acc":"A","subject":"foo"}`:                  "1",
			`{"acc":"A","subject":"bar"}`:                  "0",
			`{"acc":"nope","subject":"foo"}`:               "",
			`{"subject":"foo"}`:                            "",
			`{bad`:                                         "",
			``:                                             "",
		} {
			if got := w.one(w.ask(nil, "SYS", "$SYS.REQ.ACCOUNT.NSUBS", "", body)); got != want {
				t.Errorf("NSUBS %s: got %q, want %q", body, got, want)
			}
		}
	})
}
