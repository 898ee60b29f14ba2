package compat

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"godwit/tests/harness"
)

// everything reads a stream from its first to its last message with direct looks.
func everything(t *testing.T, js jetstream.JetStream, name string, line func(m *jetstream.RawStreamMsg) string) (out []string) {
	t.Helper()
	ctx := t.Context()
	st, err := js.Stream(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	info, err := st.Info(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for seq := info.State.FirstSeq; seq <= info.State.LastSeq; seq++ {
		m, err := st.GetMsg(ctx, seq)
		if err == jetstream.ErrMsgNotFound {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, line(m))
	}
	return out
}

// A mirror and a stream with sources hold every message once, in order, although the server is killed again and again
// while they copy.
func TestCopiesSurviveKills(t *testing.T) {
	s := harness.Start(t, harness.Options{Streams: true})
	open := func() jetstream.JetStream {
		t.Helper()
		js, err := jetstream.New(s.Connect(t), jetstream.WithDefaultTimeout(20*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		return js
	}
	js := open()
	ctx := t.Context()
	for _, cfg := range []jetstream.StreamConfig{
		{Name: "ONE", Subjects: []string{"one.>"}},
		{Name: "TWO", Subjects: []string{"two.>"}},
		{Name: "MIRROR", Mirror: &jetstream.StreamSource{Name: "ONE"}},
		{Name: "FROM2", Mirror: &jetstream.StreamSource{Name: "ONE", OptStartSeq: 5, FilterSubject: "one.2"}},
		{Name: "SOURCED", Subjects: []string{"own"}, Sources: []*jetstream.StreamSource{
			{Name: "ONE", SubjectTransforms: []jetstream.SubjectTransformConfig{{Source: "one.*", Destination: "from.one.{{wildcard(1)}}"}}}, {Name: "TWO"}}},
	} {
		if _, err := js.CreateStream(ctx, cfg); err != nil {
			t.Fatalf("%s: %v", cfg.Name, err)
		}
	}
	const rounds, each = 4, 300
	n := 0
	for range rounds {
		for range each {
			n++
			for _, origin := range []string{"one", "two"} {
				m := nats.NewMsg(fmt.Sprint(origin, ".", n%3))
				m.Data = fmt.Appendf(nil, "%s %d", origin, n)
				m.Header.Set("N", fmt.Sprint(n))
				if _, err := js.PublishMsg(ctx, m); err != nil {
					t.Fatal(err)
				}
			}
		}
		s.Kill() // the copies lag behind, by whatever it may be
		s.Start()
		js = open()
	}
	if _, err := js.Publish(ctx, "own", []byte("own")); err != nil {
		t.Fatal(err)
	}
	wait := func(name string, last uint64, msgs uint64) {
		t.Helper()
		ctx, cancel := context.WithTimeout(ctx, harness.Patience)
		defer cancel()
		for {
			st, err := js.Stream(ctx, name)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			state := st.CachedInfo().State
			if state.Msgs >= msgs && state.LastSeq >= last {
				return
			}
			select {
			case <-time.After(20 * time.Millisecond):
			case <-ctx.Done():
				t.Fatalf("%s has %+v", name, state)
			}
		}
	}
	wait("MIRROR", rounds*each, rounds*each)
	wait("SOURCED", 0, 2*rounds*each+1)
	same := func(m *jetstream.RawStreamMsg) string {
		return fmt.Sprint(m.Sequence, m.Time, m.Subject, m.Header, string(m.Data))
	}
	want := everything(t, js, "ONE", same)
	if got := everything(t, js, "MIRROR", same); !slices.Equal(got, want) {
		t.Errorf("the mirror has %d messages, the origin %d, or others", len(got), len(want))
	}
	var two []string
	for i := 5; i <= rounds*each; i++ {
		if i%3 == 2 {
			two = append(two, fmt.Sprint(i))
		}
	}
	if got := everything(t, js, "FROM2", func(m *jetstream.RawStreamMsg) string { return fmt.Sprint(m.Sequence) }); !slices.Equal(got, two) {
		t.Errorf("the filtered mirror has %d messages, want %d: %.200v", len(got), len(two), got)
	}
	next := map[string]int{"one": 1, "two": 1}
	own := 0
	everything(t, js, "SOURCED", func(m *jetstream.RawStreamMsg) string {
		var origin string
		var i int
		if _, err := fmt.Sscanf(string(m.Data), "%s %d", &origin, &i); err != nil {
			own++
			return ""
		}
		subject := fmt.Sprint(origin, ".", i%3)
		if origin == "one" {
			subject = "from." + subject
		}
		if i != next[origin] || m.Subject != subject || m.Header.Get("N") != fmt.Sprint(i) || m.Header.Get("Nats-Stream-Source") == "" {
			t.Fatalf("message %d is %s %q %v, want %s %d on %s", m.Sequence, m.Subject, m.Data, m.Header, origin, next[origin], subject)
		}
		next[origin]++
		return ""
	})
	if own != 1 || next["one"] != rounds*each+1 || next["two"] != rounds*each+1 {
		t.Errorf("%d own messages, next are %v", own, next)
	}
	st, err := js.Stream(ctx, "ONE")
	if err != nil {
		t.Fatal(err)
	}
	if c := st.CachedInfo().State.Consumers; c != 0 {
		t.Errorf("the consumers of the copies are counted: %d", c)
	}
}

// A mirror becomes a stream of its own by an update.
func TestMirrorIsPromoted(t *testing.T) {
	s := harness.Start(t, harness.Options{Streams: true})
	js, err := jetstream.New(s.Connect(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "O", Subjects: []string{"o"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "M", Mirror: &jetstream.StreamSource{Name: "O"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(ctx, "o", []byte("1")); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(harness.Patience)
	for {
		st, err := js.Stream(ctx, "M")
		if err != nil {
			t.Fatal(err)
		}
		if st.CachedInfo().State.LastSeq == 1 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v", st.CachedInfo())
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := js.DeleteStream(ctx, "O"); err != nil {
		t.Fatal(err)
	}
	if _, err := js.UpdateStream(ctx, jetstream.StreamConfig{Name: "M", Subjects: []string{"o"}}); err != nil {
		t.Fatal(err)
	}
	if ack, err := js.Publish(ctx, "o", []byte("2")); err != nil || ack.Stream != "M" || ack.Sequence != 2 {
		t.Fatalf("%+v %v", ack, err)
	}
}
