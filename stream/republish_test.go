package stream

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"godwit/protocol/jsapi"
	"godwit/stream/consumer"
	"godwit/stream/vfs"
)

// receive takes one message.
func receive(t *testing.T, c chan consumer.Message) consumer.Message {
	t.Helper()
	select {
	case m := <-c:
		return m
	case <-time.After(20 * time.Second):
		t.Fatal("nothing was sent")
		panic("unreachable")
	}
}

func TestTransformAndRepublish(t *testing.T) {
	now := &clock{now: 5e9}
	cfg := jsapi.StreamConfig{Name: "S", Subjects: []string{"in.*"},
		SubjectTransform: &jsapi.SubjectTransform{Source: "in.*", Destination: "kept.$1"},
		Republish:        &jsapi.Republish{Source: "kept.*", Destination: "out.$1"}}
	b := openBench(t, vfs.NewMem(), cfg, now, nil)
	got := b.out.listen("out.a")
	acks := b.pubs(testMsg{subject: "in.a", value: "one", headers: []string{"X: y"}}, testMsg{subject: "in.b", value: "-"},
		testMsg{subject: "in.a", value: "two", headers: []string{hdrExpectSubjSeq + ": 1"}})
	if acks[2].Error != nil || acks[2].Sequence != 3 {
		t.Fatalf("the expectation is not about the transformed subject: %+v", acks[2].Error)
	}
	origin := "Nats-Stream: S\r\nNats-Subject: kept.a\r\nNats-Sequence: "
	stamp := "\r\nNats-Time-Stamp: 1970-01-01T00:00:05Z\r\nNats-Last-Sequence: "
	m := receive(t, got)
	if want := "NATS/1.0\r\nX: y\r\n" + origin + "1" + stamp + "0\r\n\r\n"; string(m.Header) != want || string(m.Payload) != "one" {
		t.Errorf("got %q %q, want %q", m.Header, m.Payload, want)
	}
	m = receive(t, got)
	if want := "NATS/1.0\r\n" + hdrExpectSubjSeq + ": 1\r\n" + origin + "3" + stamp + "1\r\n\r\n"; string(m.Header) != want {
		t.Errorf("got %q, want %q", m.Header, want)
	}
	if st := b.state(); st.Subjects["kept.a"] != 2 || st.Subjects["kept.b"] != 1 {
		t.Errorf("stored on %v", st.Subjects)
	}
	// What the log replays is not sent again.
	crash := b.fs.CrashClone(rand.New(rand.NewPCG(1, 1)))
	b.p.Close()
	b = b.reopen(crash)
	got = b.out.listen("out.a")
	b.pub(testMsg{subject: "in.a", value: "three"})
	if m := receive(t, got); string(m.Payload) != "three" || !strings.Contains(string(m.Header), "Nats-Last-Sequence: 3\r\n") {
		t.Errorf("after a restart got %q %q", m.Header, m.Payload)
	}
	b.close()
}

func TestRepublishHeadersOnly(t *testing.T) {
	cfg := jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}, Republish: &jsapi.Republish{Destination: "out.>", HeadersOnly: true}}
	b := openBench(t, vfs.NewMem(), cfg, nil, nil)
	defer b.close()
	got := b.out.listen("out.s.a")
	b.pub(testMsg{subject: "s.a", value: "12345"})
	if m := receive(t, got); len(m.Payload) > 0 || !strings.HasSuffix(string(m.Header), "\r\nNats-Last-Sequence: 0\r\nNats-Msg-Size: 5\r\n\r\n") {
		t.Errorf("got %q %q", m.Header, m.Payload)
	}
}

// TestTransformFollowsUpdate: what is published after an update is stored as that says.
func TestTransformFollowsUpdate(t *testing.T) {
	b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}}, nil, nil)
	defer func() { b.close() }()
	b.pub(testMsg{subject: "s.a"})
	if err := b.p.Reconfigure([]byte(`{"name":"S","subjects":["s.>"],"retention":"limits","storage":"file","discard":"old","compression":"none","max_msg_size":-1,` +
		`"subject_transform":{"src":"s.>","dest":"t.>"}}`)); err != nil {
		t.Fatal(err)
	}
	b.pub(testMsg{subject: "s.a"})
	b.close()
	b = b.reopen(b.fs)
	b.pub(testMsg{subject: "s.b"})
	if st := b.state(); st.Subjects["s.a"] != 1 || st.Subjects["t.a"] != 1 || st.Subjects["t.b"] != 1 {
		t.Errorf("stored on %v", st.Subjects)
	}
}
