package stream

import (
	"slices"
	"testing"
	"time"

	"godwit/protocol/jsapi"
	"godwit/stream/vfs"
)

// Whoever follows messages hears of each what became of it, once, whether it was stored, refused or wanted by nobody.
func TestFollow(t *testing.T) {
	for name, tt := range map[string]struct {
		cfg  jsapi.StreamConfig
		want []string // with Would asked before the first
	}{
		"stored": {jsapi.StreamConfig{Name: "S", Subjects: []string{"s.*"}, MaxMsgs: 3, Discard: jsapi.DiscardNew, DenyDelete: true},
			[]string{"s.1", "s.1", "s.2 wrong last sequence: 2", "s.3", "s.4 maximum messages exceeded"}},
		"renamed": {jsapi.StreamConfig{Name: "S", Subjects: []string{"s.*"}, SubjectTransform: &jsapi.SubjectTransform{Source: "s.*", Destination: "t.$1"}},
			[]string{"t.1", "t.1", "t.2 wrong last sequence: 2", "t.3", "t.4"}},
		"wanted by nobody": {jsapi.StreamConfig{Name: "S", Subjects: []string{"s.*"}, Retention: jsapi.InterestRetention},
			[]string{"s.1 unwanted", "s.1 unwanted", "s.2 wrong last sequence: 2", "s.3 unwanted", "s.4 unwanted"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := openBench(t, vfs.NewMem(), tt.cfg, nil, nil)
			text := func(o Outcome) string {
				switch {
				case o.Err != nil:
					return o.Subject + " " + o.Err.Description
				case o.Unwanted:
					return o.Subject + " unwanted"
				}
				return o.Subject
			}
			to, wanted := b.p.Would([]byte("s.1"))
			got := []string{text(Outcome{Subject: to, Unwanted: !wanted})}
			told := make(chan string, 10)
			b.pub(testMsg{subject: "s.0"}) // not followed
			batch := b.p.NewBatch()
			for _, m := range []testMsg{{subject: "s.1"}, {subject: "s.2", headers: []string{"Nats-Expected-Last-Sequence: 9"}}, {subject: "s.3"}, {subject: "s.4"}} {
				batch.Add([]byte(m.subject), nil, m.block(), []byte("x"))
				batch.Follow(func(o Outcome) { told <- text(o) })
			}
			b.p.Publish(batch, true)
			for range 4 {
				select {
				case s := <-told:
					got = append(got, s)
				case <-time.After(20 * time.Second):
					t.Fatalf("after %q nothing more is told", got)
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			b.close()
			batch = b.p.NewBatch()
			batch.Add([]byte("s.5"), nil, nil, nil)
			batch.Follow(func(o Outcome) { told <- text(o) })
			b.p.Publish(batch, true)
			if s := <-told; len(s) < 5 {
				t.Errorf("after the end: %s", s)
			}
		})
	}
}
