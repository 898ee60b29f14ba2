package stream

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"godwit/protocol/jsapi"
	"godwit/stream/vfs"
)

// direct makes one direct get and returns the answers: "sequence pending last" for a message with counts, the payload
// for one without headers, and the status line with its counts.
func (b *bench) direct(body string) string {
	b.t.Helper()
	b.n++
	inbox := fmt.Sprintf("g.%d", b.n)
	in := b.out.listen(inbox)
	defer b.out.leave(inbox)
	batch := NewGetBatch()
	batch.Add([]byte(inbox), nil, []byte(body), false)
	b.p.Direct(batch, true)
	var out []string
	for {
		select {
		case m := <-in:
			h := string(m.Header)
			value := func(name string) string {
				_, v, _ := strings.Cut(h, name+": ")
				v, _, _ = strings.Cut(v, "\r\n")
				return v
			}
			counts := strings.TrimSpace(value("Nats-Num-Pending") + " " + value("Nats-Last-Sequence") + " " + value("Nats-UpTo-Sequence"))
			if status, ok := strings.CutPrefix(h, "NATS/1.0 "); ok {
				status, _, _ = strings.Cut(status, "\r\n")
				return strings.TrimSpace(strings.Join(append(out, status+" "+counts), ", "))
			}
			if h == "" {
				out = append(out, string(m.Payload))
			} else {
				out = append(out, value("Nats-Sequence")+" "+counts)
			}
		case <-time.After(20 * time.Second):
			b.t.Fatalf("%s: no end after %v", body, out)
		}
	}
}

func TestDirectGetOfMany(t *testing.T) {
	b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}, AllowDirect: true}, &clock{now: 1e18}, nil)
	defer b.close()
	for i, s := range []string{"s.a", "s.b", "s.a", "s.c", "s.b", "s.a"} {
		b.pub(testMsg{subject: s, value: fmt.Sprint("v", i+1)})
		b.now.pass(time.Second)
	}
	if err := b.p.Delete(3); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ body, want string }{
		{`{"seq":1,"batch":3}`, "1 4 0, 2 3 1, 4 2 2, 204 EOB 2 4"},
		{`{"seq":3,"batch":2}`, "4 2 0, 5 1 4, 204 EOB 1 5"},
		{`{"seq":1,"batch":100}`, "1 4 0, 2 3 1, 4 2 2, 5 1 4, 6 0 5, 204 EOB 0 6"},
		{`{"seq":1,"batch":100,"next_by_subj":"s.a"}`, "1 1 0, 6 0 1, 204 EOB 0 6"},
		{`{"batch":2,"next_by_subj":"s.b"}`, "2 1 0, 5 0 2, 204 EOB 0 5"},
		{`{"batch":3}`, "408 Empty Request"},
		{`{"batch":-1,"seq":1}`, "204 EOB 5 0"},
		{`{"seq":1,"batch":3,"max_bytes":1}`, "1 4 0, 204 EOB 4 1"},
		{`{"seq":9,"batch":3}`, "404 Message Not Found"},
		{`{"batch":3,"last_by_subj":"s.a"}`, "408 Bad Request"},
		{`{"seq":1,"batch":3,"no_hdr":true}`, "v1, v2, v4, 204 EOB 2 4"},
		{`{"batch":2,"start_time":"2001-09-09T01:46:41Z"}`, "2 3 0, 4 2 2, 204 EOB 2 4"},
		{`{"batch":2,"start_time":"2099-01-01T00:00:00Z"}`, "404 Message Not Found"},
		{`{"batch":2,"start_time":"2001-01-01T00:00:00Z","seq":1}`, "408 Bad Request"},
		{`{"batch":2,"next_by_subj":"s.zz","seq":1}`, "404 Message Not Found"},
		{`{"multi_last":["s.a","s.b"]}`, "5 1 0, 6 0 5, 204 EOB 0 6 6"},
		{`{"multi_last":["s.>"],"no_hdr":true}`, "4 2 0, 5 1 4, 6 0 5, 204 EOB 0 6 6"},
		{`{"multi_last":["s.>"],"batch":2}`, "4 2 0, 5 1 4, 204 EOB 1 5 6"},
		{`{"multi_last":["s.>"],"up_to_seq":4}`, "1 2 0, 2 1 1, 4 0 2, 204 EOB 0 4 4"},
		{`{"multi_last":["s.>"],"up_to_seq":3}`, "1 1 0, 2 0 1, 204 EOB 0 2 3"},
		{`{"multi_last":["s.>"],"up_to_time":"2001-09-09T01:46:42Z"}`, "1 1 0, 2 0 1, 204 EOB 0 2 2"},
		{`{"multi_last":["s.>"],"up_to_time":"2000-01-01T00:00:00Z"}`, "404 No Results"},
		{`{"multi_last":["s.>"],"up_to_time":"2099-01-01T00:00:00Z","up_to_seq":2}`, "408 Bad Request"},
		{`{"multi_last":["zz"]}`, "404 No Results"},
		{`{"multi_last":["s.>"],"seq":5}`, "5 1 0, 6 0 5, 204 EOB 0 6 6"},
		{`{"multi_last":["s.a","s.a","s.*"]}`, "4 2 0, 5 1 4, 6 0 5, 204 EOB 0 6 6"},
		{`{"multi_last":["s.a"],"last_by_subj":"s.a"}`, "408 Bad Request"},
		{`{"multi_last":["s.a"],"next_by_subj":"s.a"}`, "408 Bad Request"},
		{`{"multi_last":[]}`, "408 Empty Request"},
		{`{"multi_last":["s.>"],"seq":99}`, "204 EOB 0 0 6"},
		{`{"multi_last":["s.>"],"batch":-1}`, "4 2 0, 5 1 4, 6 0 5, 204 EOB 0 6 6"},
		{`{"multi_last":["s.>"],"max_bytes":1}`, "4 2 0, 204 EOB 2 4 6"},
		{`{"multi_last":["s.>"],"max_bytes":-1}`, "4 2 0, 204 EOB 2 4 6"},
		{`{"multi_last":["s.>"],"up_to_seq":18446744073709551615}`, "4 2 0, 5 1 4, 6 0 5, 204 EOB 0 6 6"},
		{`{"multi_last":["s.>"],"up_to_time":"9999-12-31T23:59:59Z"}`, "4 2 0, 5 1 4, 6 0 5, 204 EOB 0 6 6"},
		{`{"multi_last":["s.>"],"up_to_time":"0001-01-01T00:00:00Z"}`, "404 No Results"},
		{`{"multi_last":[""]}`, "404 No Results"},
		{`{"multi_last":["","s.c"]}`, "4 0 0, 204 EOB 0 4 6"},
		{`{"seq":1,"batch":3,"max_bytes":-1}`, "1 4 0, 204 EOB 4 1"},
		{`{"batch":1,"start_time":"0001-01-01T00:00:00Z"}`, "1 4 0, 204 EOB 4 1"},
		{`{"batch":1,"start_time":"1500-01-01T00:00:00Z"}`, "1 4 0, 204 EOB 4 1"},
		{`{"batch":1,"start_time":"9999-12-31T23:59:59Z"}`, "404 Message Not Found"},
		{`{"start_time":"9999-12-31T23:59:59Z"}`, "404 Message Not Found"},
		{`{"seq":18446744073709551615,"batch":2}`, "404 Message Not Found"},
		{`{"seq":1,"batch":9223372036854775807}`, "1 4 0, 2 3 1, 4 2 2, 5 1 4, 6 0 5, 204 EOB 0 6"},
	} {
		if got := b.direct(tt.body); got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.body, got, tt.want)
		}
	}
}

// A large answer takes many turns, in which others are served.
func TestDirectGetOfManyInTurns(t *testing.T) {
	b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}, AllowDirect: true}, nil, nil)
	defer b.close()
	const n = 1500
	var list []testMsg
	for i := range n {
		list = append(list, testMsg{subject: fmt.Sprint("s.", i), value: strings.Repeat("x", 1000)})
	}
	b.pubs(list...)
	got := strings.Split(b.direct(fmt.Sprintf(`{"seq":1,"batch":%d}`, n)), ", ")
	if len(got) != n+1 || got[n-1] != fmt.Sprint(n, " 0 ", n-1) || got[n] != fmt.Sprint("204 EOB 0 ", n) {
		t.Fatalf("%d answers, at the end %v", len(got), got[max(0, len(got)-2):])
	}
	if got := b.direct(`{"multi_last":["s.>"]}`); got != "413 Too Many Results" {
		t.Fatal(got)
	}
	for range 5 { // the last ones up to a sequence lie far back
		b.pubs(list...)
	}
	var names []string
	for i := range 300 {
		names = append(names, fmt.Sprintf("%q", fmt.Sprint("s.", i)))
	}
	got = strings.Split(b.direct(fmt.Sprintf(`{"multi_last":[%s],"up_to_seq":%d}`, strings.Join(names, ","), 3*n)), ", ")
	if len(got) != 301 || got[0] != fmt.Sprint(2*n+1, " 299 0") || got[299] != fmt.Sprint(2*n+300, " 0 ", 2*n+299) || got[300] != fmt.Sprint("204 EOB 0 ", 2*n+300, " ", 3*n) {
		t.Fatalf("%d answers: %v", len(got), got)
	}
}

// However many ask for many messages at once, what waits has a bound.
func TestDirectGetsOfManyAreBounded(t *testing.T) {
	b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}, AllowDirect: true}, &clock{now: 1e18}, nil)
	defer b.close()
	b.pubs(testMsg{subject: "s.a"}, testMsg{subject: "s.b"})
	const asked = bulkMax + 100
	in := b.out.listen("many")
	batch := NewGetBatch()
	for range asked {
		batch.Add([]byte("many"), nil, []byte(`{"seq":1,"batch":1}`), false)
	}
	b.p.Direct(batch, false) // not here: somebody has to take the answers
	answers := map[string]int{}
	for range bulkMax + asked { // a message more for each that is answered
		m := <-in
		status, _, _ := strings.Cut(string(m.Header), "\r\n")
		answers[status]++
	}
	if answers["NATS/1.0 204 EOB"] != bulkMax || answers["NATS/1.0 429 Too Many Requests"] != asked-bulkMax {
		t.Fatalf("%v", answers)
	}
	if got := b.direct(`{"seq":2,"batch":1}`); got != "2 0 0, 204 EOB 0 2" {
		t.Fatal(got)
	}
}
