package router

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"godwit/protocol/subject"
)

func TestImportedSubscriptionsAreShown(t *testing.T) {
	for _, tt := range []struct {
		link StreamLink
		sub  string
		want string // empty: not shown
	}{
		{StreamLink{From: "s.>"}, "s.x", "s.x"},
		{StreamLink{From: "s.>"}, ">", "s.>"},
		{StreamLink{From: "s.>"}, "*.x", "s.x"},
		{StreamLink{From: "s.>"}, "s", ""},
		{StreamLink{From: "s.>"}, "t.x", ""},
		{StreamLink{From: "s.*"}, "s.>", "s.*"},
		{StreamLink{From: "s.*"}, "s.x.y", ""},
		{StreamLink{From: "s"}, "s", "s"},
		{StreamLink{From: "s"}, "s.>", ""},
		{StreamLink{From: "s.>", Prefix: "p."}, "p.>", "s.>"},
		{StreamLink{From: "s.>", Prefix: "p."}, "p.*.x", "s.x"},
		{StreamLink{From: "s.>", Prefix: "p."}, "p.s.*.z", "s.*.z"},
		{StreamLink{From: "s.>", Prefix: "p."}, "s.x", ""},
		{StreamLink{From: "m.*.*", Rename: mustTransform(t, "m.*.*", "to.$2.x.$1")}, "to.>", "m.*.*"},
		{StreamLink{From: "m.*.*", Rename: mustTransform(t, "m.*.*", "to.$2.x.$1")}, "to.a.*.b", "m.b.a"},
		{StreamLink{From: "m.*.*", Rename: mustTransform(t, "m.*.*", "to.$2.x.$1")}, "to.a.y.b", ""},
		{StreamLink{From: "m.*.>", Rename: mustTransform(t, "m.*.>", "n.$1.>")}, "n.a.b.*", "m.a.b.*"},
	} {
		t.Run(tt.link.From+" "+tt.sub, func(t *testing.T) {
			a, b := NewIndex(), NewIndex()
			tt.link.Importer = "B"
			connectStream(a, b, &tt.link)
			sub := newClient(b).sub(tt.sub, "q", "1")
			var got []string
			a.EachImported(func(importer string, s *Sub, subj string) bool {
				if importer != "B" || s != sub {
					t.Errorf("shown are %q and %v", importer, s)
				}
				got = append(got, subj)
				return true
			})
			var want []string
			if tt.want != "" {
				want = []string{tt.want}
			}
			if !slices.Equal(got, want) || a.CountImported() != len(want) || b.CountImported() != 0 {
				t.Errorf("shown is %q, want %q", got, want)
			}
		})
	}
}

// A subscription is shown under a pattern that matches exactly those of the exporter's subjects that it gets.
func TestShownIsWhatIsDelivered(t *testing.T) {
	token := rapid.SampledFrom([]string{"a", "b", "c"})
	pattern := rapid.Custom(func(t *rapid.T) string {
		toks := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "*"}), 1, 3).Draw(t, "tokens")
		if rapid.Bool().Draw(t, "rest") {
			toks = append(toks, ">")
		}
		return strings.Join(toks, ".")
	})
	rapid.Check(t, func(t *rapid.T) {
		link := &StreamLink{From: pattern.Draw(t, "from"), Importer: "B"}
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 1:
			link.Prefix = token.Draw(t, "prefix") + "."
		case 2:
			var dest []string
			for tok := range strings.SplitSeq(link.From, ".") {
				if tok == "*" {
					dest = append(dest, "*")
				}
			}
			for i := range dest {
				dest[i] = "$" + string(rune('1'+len(dest)-1-i))
			}
			dest = append([]string{"c"}, dest...)
			if strings.HasSuffix(link.From, ">") {
				dest = append(dest, ">")
			}
			link.Rename, _ = subject.NewTransform(link.From, strings.Join(dest, "."))
		}
		a, b := NewIndex(), NewIndex()
		connectStream(a, b, link)
		c := newClient(b)
		c.sub(pattern.Draw(t, "subscription"), "", "1")
		shown := ""
		a.EachImported(func(_ string, _ *Sub, subj string) bool {
			shown = subj
			return true
		})
		want := 0
		if shown != "" {
			want = 1
		}
		if n, again := a.CountImported(), a.CountImported(); n != want || again != want {
			t.Fatalf("counted are %d, then %d, of %d", n, again, want)
		}
		second := c.sub(">", "", "2")
		if n := a.CountImported(); n != want+1 {
			t.Fatalf("counted are %d after another one, of %d", n, want+1)
		}
		b.Unsubscribe(second)
		if n := a.CountImported(); n != want {
			t.Fatalf("counted are %d after that one is gone, of %d", n, want)
		}
		s := newClient(a).sender()
		for range 20 {
			subj := strings.Join(rapid.SliceOfN(token, 1, 4).Draw(t, "subject"), ".")
			send(s, pub(subj, "", "m"), 1)
			if got, want := c.take() != "", shown != "" && subject.Match(shown, subj); got != want {
				t.Fatalf("%q, shown as %q: delivered %v", subj, shown, got)
			}
		}
	})
}

func TestUnansweredRequestsAreMeasured(t *testing.T) {
	for _, tt := range []struct {
		name      string
		reply     string
		responder bool
		status    int // 0: nothing is published yet
	}{
		{"nobody listens", "r", false, 503},
		{"nobody listens, no reply subject", "", false, 400},
		{"no reply subject", "", true, 400},
		{"awaited", "r", true, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, b := NewIndex(), NewIndex()
			defer a.Close()
			connectService(a, b, &ServiceLink{Local: "loc", Rename: mustTransform(t, "loc", "svc"), Latency: &Latency{"lat", 100}})
			metrics, responder := newClient(a), newHeaderClient(a)
			metrics.sub("lat", "", "1")
			if tt.responder {
				responder.sub("svc", "", "1")
			}
			asker := newClient(b)
			send(asker.senderFrom(&requester{}), pub("loc", tt.reply, "m"), 1)
			got := metrics.take()
			if tt.status == 0 {
				if got != "" {
					t.Errorf("published is %q", got)
				}
				return
			}
			_, body, _ := strings.Cut(got, "\r\n")
			var m metric
			if err := json.Unmarshal([]byte(strings.TrimSuffix(body, "\r\n")), &m); err != nil || m.Status != tt.status || m.Total != 0 {
				t.Errorf("%v: published is %q, want status %d", err, got, tt.status)
			}
			if n := a.Replies().Awaited; n != 0 {
				t.Errorf("%d responses are awaited", n)
			}
		})
	}
}
