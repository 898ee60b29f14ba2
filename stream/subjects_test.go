package stream

import (
	"encoding/json"
	"testing"

	"godwit/protocol/jsapi"
	"godwit/stream/vfs"
)

// The last message of a subject stays known when the limit per subject is raised after the one before was deleted.
func TestLastOfSubjectAfterLimitWasRaised(t *testing.T) {
	b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}}, &clock{now: 1e9}, nil)
	defer func() { b.close() }()
	for range 4 {
		b.pubs(testMsg{subject: "s.a"}, testMsg{subject: "s.b"})
	}
	remove := func(seq uint64) {
		t.Helper()
		if err := b.p.Delete(seq); err != nil {
			t.Fatal(err)
		}
	}
	last := func(want uint64) {
		t.Helper()
		if m, ok := b.get(jsapi.MsgGetRequest{LastFor: "s.a"}); !ok || m.Sequence != want {
			t.Fatalf("the last one is %+v, want %d", m, want)
		}
	}
	limit := func(n int64) {
		t.Helper()
		cfg := b.cfg
		cfg.MaxMsgsPerSubject = n
		text, err := json.Marshal(&cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.p.Reconfigure(text); err != nil {
			t.Fatal(err)
		}
	}
	remove(7)
	limit(3)
	remove(1)
	last(5)
	limit(1)
	last(5)
	b.pub(testMsg{subject: "s.a"})
	last(9)
	if got := b.state().Msgs; got != 2 {
		t.Fatalf("%d messages", got)
	}
	b.checkpoint()
	b.close()
	b = b.reopen(b.fs)
	last(9)
}
