package compat

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"godwit/tests/harness"
)

// A backup made with the nats tool comes back with all messages, gaps and consumers, also after the stream and its server are
// gone.
func TestCLIBackupAndRestore(t *testing.T) {
	s := harness.Start(t, harness.Options{Streams: true})
	c := newCLI(t, s)
	nc := s.Connect(t)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	st, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 500 {
		m := nats.NewMsg(fmt.Sprint("s.", i%7))
		m.Data = []byte(strings.Repeat(fmt.Sprint(i), 200))
		m.Header.Set("I", fmt.Sprint(i))
		if _, err := js.PublishMsg(ctx, m); err != nil {
			t.Fatal(err)
		}
	}
	for _, seq := range []uint64{1, 17, 18, 500} {
		if err := st.DeleteMsg(ctx, seq); err != nil {
			t.Fatal(err)
		}
	}
	cons, err := st.CreateConsumer(ctx, jetstream.ConsumerConfig{Durable: "C", AckPolicy: jetstream.AckExplicitPolicy})
	if err != nil {
		t.Fatal(err)
	}
	batch, err := cons.Fetch(10)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for m := range batch.Messages() {
		if n++; n != 5 { // the fifth stays open
			if err := m.DoubleAck(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	before, err := st.Info(ctx)
	if err != nil {
		t.Fatal(err)
	}
	consBefore, err := cons.Info(ctx)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "backup")
	c.ok(t, []string{"Received"}, "stream", "backup", "S", dir, "--no-progress")
	if out, err := c.run(t, "stream", "restore", dir, "--no-progress"); err == nil {
		t.Errorf("restored over a stream that is there:\n%s", out)
	}
	if err := js.DeleteStream(ctx, "S"); err != nil {
		t.Fatal(err)
	}
	c.ok(t, nil, "stream", "restore", dir, "--no-progress")
	s.Kill() // what was restored is on disk
	s.Start()
	nc = s.Connect(t)
	if js, err = jetstream.New(nc); err != nil {
		t.Fatal(err)
	}
	if st, err = js.Stream(ctx, "S"); err != nil {
		t.Fatal(err)
	}
	after, err := st.Info(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := asJSON(t, before.State), asJSON(t, after.State); a != b {
		t.Errorf("state\n%s\nwas\n%s", b, a)
	}
	for i := range 500 {
		m, err := st.GetMsg(ctx, uint64(i+1))
		if gone := i == 0 || i == 16 || i == 17 || i == 499; gone != (err == jetstream.ErrMsgNotFound) {
			t.Fatalf("message %d: %v", i+1, err)
		} else if !gone && (m.Header.Get("I") != fmt.Sprint(i) || m.Subject != fmt.Sprint("s.", i%7) || len(m.Data) != 200*len(fmt.Sprint(i))) {
			t.Fatalf("message %d: %+v", i+1, m)
		}
	}
	if cons, err = st.Consumer(ctx, "C"); err != nil {
		t.Fatal(err)
	}
	info, err := cons.Info(ctx)
	if err != nil || info.NumAckPending != 1 || info.AckFloor.Stream != consBefore.AckFloor.Stream || info.NumPending != consBefore.NumPending {
		t.Errorf("consumer %+v, was %+v; %v", info, consBefore, err)
	}
	m, err := cons.Next(jetstream.FetchMaxWait(10 * time.Second))
	if err != nil || m.Headers().Get("I") == "" {
		t.Fatal(err)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A client that goes away in the middle leaves nothing behind, on either way.
func TestBackupAndRestoreCutOff(t *testing.T) {
	s := harness.Start(t, harness.Options{Streams: true})
	nc := s.Connect(t)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(ctx, "s.a", []byte("x")); err != nil {
		t.Fatal(err)
	}
	status := nc.NewInbox()
	if m, err := nc.Request("$JS.API.STREAM.SNAPSHOT.S", []byte(`{"deliver_subject":"`+status+`"}`), 10*time.Second); err != nil || strings.Contains(string(m.Data), "error") {
		t.Fatalf("%v %v", m, err)
	}
	m, err := nc.Request("$JS.API.STREAM.RESTORE.R", []byte(`{"config":{"name":"R","subjects":["r.>"]},"state":{}}`), 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	var resp struct {
		DeliverSubject string `json:"deliver_subject"`
	}
	if err := json.Unmarshal(m.Data, &resp); err != nil || resp.DeliverSubject == "" {
		t.Fatalf("%s", m.Data)
	}
	if m, err = nc.Request(resp.DeliverSubject, []byte("this is no archive, whatever it may be"), 10*time.Second); err == nil && len(m.Data) == 0 {
		m, err = nc.Request(resp.DeliverSubject, nil, 10*time.Second)
	}
	if err != nil || !strings.Contains(string(m.Data), "restore failed: unknown format") {
		t.Fatalf("%v %s", err, m.Data)
	}
	if _, err := js.Stream(ctx, "R"); err != jetstream.ErrStreamNotFound {
		t.Errorf("%v", err)
	}
	found := false
	if err := filepath.WalkDir(s.Dir(), func(path string, d fs.DirEntry, err error) error {
		found = found || d.Name() == "S"
		if err == nil && strings.HasPrefix(d.Name(), "~") && d.Name() != "~lock" { // the running server has the lock
			t.Errorf("%s is left", path)
		}
		return err
	}); err != nil || !found {
		t.Errorf("%v; the stream that is there was found: %v", err, found)
	}
}

// A client that takes the subject of a backup from those of its answers, and subscribes to it once it was answered, gets
// all of it.
func TestBackupIsLostBeforeTheClientSubscribes(t *testing.T) {
	s := harness.Start(t, harness.Options{Streams: true})
	nc := s.Connect(t)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}}); err != nil {
		t.Fatal(err)
	}
	to := nc.NewRespInbox()
	m, err := nc.Request("$JS.API.STREAM.SNAPSHOT.S", []byte(`{"deliver_subject":"`+to+`"}`), 10*time.Second)
	if err != nil || strings.Contains(string(m.Data), `"error"`) {
		t.Fatalf("%v %v", m, err)
	}
	for range 50 { // the server has time to send it to nobody
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	sub, err := nc.SubscribeSync(to)
	if err != nil {
		t.Fatal(err)
	}
	if m, err = sub.NextMsg(10 * time.Second); err != nil || len(m.Data) == 0 {
		t.Fatalf("%+v %v", m, err)
	}
}
