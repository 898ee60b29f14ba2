package compat

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"godwit/tests/harness"
)

type inflightAnswer struct {
	Type     string
	Total    int
	Next     uint64 `json:"next_seq"`
	Messages []struct {
		Seq        uint64 `json:"stream_seq"`
		Subject    string
		State      string
		Deliveries int
		Deadline   *time.Time
		Partition  int
	}
	Error *struct {
		Code        int
		ErrCode     int `json:"err_code"`
		Description string
	}
}

// inside asks about a consumer and acts on its messages.
type inside struct {
	t                *testing.T
	nc               *nats.Conn
	stream, consumer string
}

func (i *inside) ask(words, body string, out any) {
	i.t.Helper()
	m, err := i.nc.Request(fmt.Sprintf("$JS.API.GODWIT.V1.%s", words), []byte(body), harness.Patience)
	if err != nil {
		i.t.Fatal(words, err)
	}
	if err := json.Unmarshal(m.Data, out); err != nil {
		i.t.Fatal(words, err)
	}
}

func (i *inside) list(body string) (a inflightAnswer) {
	i.t.Helper()
	i.ask("CONSUMER.INFLIGHT."+i.stream+"."+i.consumer, body, &a)
	return a
}

// act returns the code of the error, 0 for success.
func (i *inside) act(body string) int {
	i.t.Helper()
	var a inflightAnswer
	i.ask("CONSUMER.ACT."+i.stream+"."+i.consumer, body, &a)
	if a.Error != nil {
		return a.Error.ErrCode
	}
	return 0
}

// states lists the unresolved messages in short.
func (i *inside) states() (list []string) {
	for _, m := range i.list("").Messages {
		list = append(list, fmt.Sprintf("%d %s %d", m.Seq, m.State, m.Deliveries))
	}
	return list
}

func (i *inside) want(want ...string) {
	i.t.Helper()
	if got := i.states(); !slices.Equal(got, want) {
		i.t.Fatalf("got %q, want %q", got, want)
	}
}

func TestInflight(t *testing.T) {
	s := harness.Start(t, harness.Options{Streams: true})
	nc := s.Connect(t)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}}); err != nil {
		t.Fatal(err)
	}
	c, err := js.CreateConsumer(ctx, "S", jetstream.ConsumerConfig{Durable: "C", AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Hour, MaxDeliver: 2})
	if err != nil {
		t.Fatal(err)
	}
	i := &inside{t, nc, "S", "C"}
	i.want()
	for n := range 8 {
		if _, err := js.Publish(ctx, fmt.Sprintf("s.%d", n), nil); err != nil {
			t.Fatal(err)
		}
	}
	next := func() jetstream.Msg {
		t.Helper()
		m, err := c.Next(jetstream.FetchMaxWait(harness.Patience))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	var got []jetstream.Msg
	for range 5 {
		got = append(got, next())
	}
	if err := got[1].DoubleAck(ctx); err != nil {
		t.Fatal(err)
	}
	if err := got[2].NakWithDelay(time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	i.want("1 pending 1", "3 delayed 1", "4 pending 1", "5 pending 1")
	first := i.list(`{"limit":2}`)
	if first.Total != 4 || first.Next != 4 || len(first.Messages) != 2 || first.Messages[0].Subject != "s.0" || first.Messages[0].Deadline == nil || first.Type != "io.nats.jetstream.api.v1.godwit_consumer_inflight_response" {
		t.Errorf("%+v", first)
	}
	if rest := i.list(fmt.Sprintf(`{"from_seq":%d,"limit":2}`, first.Next)); rest.Next != 0 || len(rest.Messages) != 2 || rest.Messages[1].Seq != 5 {
		t.Errorf("%+v", rest)
	}

	// Released, the delayed one comes again at once.
	if code := i.act(`{"seq":3,"action":"release"}`); code != 0 {
		t.Fatal(code)
	}
	if m := next(); m.Subject() != "s.2" {
		t.Fatalf("%s came", m.Subject())
	}
	i.want("1 pending 1", "3 pending 2", "4 pending 1", "5 pending 1")
	// Extended, the deadline moves.
	if code := i.act(`{"seq":4,"action":"extend","duration":360000000000000}`); code != 0 {
		t.Fatal(code)
	}
	if d := i.list(`{"from_seq":4,"limit":1}`).Messages[0].Deadline; time.Until(*d) < 99*time.Hour {
		t.Errorf("the deadline is %v", d)
	}
	// Terminated and acknowledged, they are gone; the reason is told.
	told, err := nc.SubscribeSync("$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.S.C")
	if err != nil {
		t.Fatal(err)
	}
	if code := i.act(`{"seq":5,"action":"terminate","reason":"poison"}`); code != 0 {
		t.Fatal(code)
	}
	if m, err := told.NextMsg(harness.Patience); err != nil || !strings.Contains(string(m.Data), `"reason":"poison"`) {
		t.Errorf("%v %s", err, m.Data)
	}
	if code := i.act(`{"seq":1,"action":"acknowledge"}`); code != 0 {
		t.Fatal(code)
	}
	i.want("3 pending 2", "4 pending 1")
	for body, want := range map[string]int{
		`{"seq":1,"action":"release"}`:      20003,
		`{"seq":99,"action":"release"}`:     20003,
		`{"seq":0,"action":"release"}`:      20003,
		`{"seq":4,"action":"extend"}`:       20004,
		`{"seq":4,"action":"burn"}`:         20004,
		`{"seq":4,"action":""}`:             20004,
		`{"seq":-4,"action":"release"}`:     10025,
		`{`:                                 10025,
		`{"seq":4,"action":"release"}trash`: 10025,
	} {
		if code := i.act(body); code != want {
			t.Errorf("%s: %d, want %d", body, code, want)
		}
	}
	for words, want := range map[string]int{"CONSUMER.INFLIGHT.S.NO": 10014, "CONSUMER.INFLIGHT.NO.C": 10059, "CONSUMER.LAG.S.NO": 10014, "STREAM.LAG.NO": 10059} {
		var a inflightAnswer
		if i.ask(words, "", &a); a.Error == nil || a.Error.ErrCode != want {
			t.Errorf("%s: %+v", words, a.Error)
		}
	}

	// What was done is not undone by a crash, and a dead message can be had once more.
	if _, err := js.UpdateConsumer(ctx, "S", jetstream.ConsumerConfig{Durable: "C", AckPolicy: jetstream.AckExplicitPolicy, AckWait: 50 * time.Millisecond, MaxDeliver: 2}); err != nil {
		t.Fatal(err)
	}
	if code := i.act(`{"seq":3,"action":"extend","duration":1000000}`); code != 0 {
		t.Fatal(code)
	}
	dead := func() error {
		if got := i.states(); !slices.Contains(got, "3 dead 2") {
			return fmt.Errorf("got %q", got)
		}
		return nil
	}
	harness.Eventually(t, dead)
	s.Kill()
	s.Start()
	nc = s.Connect(t)
	if js, err = jetstream.New(nc); err != nil {
		t.Fatal(err)
	}
	i.nc = nc
	if c, err = js.Consumer(ctx, "S", "C"); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, dead)
	for _, state := range i.states() {
		if state[0] == '1' || state[0] == '5' {
			t.Errorf("after a crash: %s", state)
		}
	}
	if code := i.act(`{"seq":3,"action":"release"}`); code != 0 {
		t.Fatal(code)
	}
	if m := next(); m.Subject() != "s.2" {
		t.Fatalf("%s came", m.Subject())
	} else if err := m.DoubleAck(ctx); err != nil {
		t.Fatal(err)
	}
	for _, state := range i.states() {
		if state[0] == '3' {
			t.Error(state)
		}
	}
}

func TestLag(t *testing.T) {
	for _, partitions := range []string{"", "4"} {
		t.Run("partitions "+partitions, func(t *testing.T) {
			s := harness.Start(t, harness.Options{Streams: true})
			nc := s.Connect(t)
			js, err := jetstream.New(nc)
			if err != nil {
				t.Fatal(err)
			}
			ctx := context.Background()
			cfg := jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}}
			if partitions != "" {
				cfg.Metadata = map[string]string{"godwit.partitions": partitions}
			}
			if _, err := js.CreateStream(ctx, cfg); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"A", "B"} {
				if _, err := js.CreateConsumer(ctx, "S", jetstream.ConsumerConfig{Durable: name, AckPolicy: jetstream.AckExplicitPolicy}); err != nil {
					t.Fatal(err)
				}
			}
			for n := range 20 {
				if _, err := js.Publish(ctx, fmt.Sprintf("s.%d", n), make([]byte, 100)); err != nil {
					t.Fatal(err)
				}
			}
			c, err := js.Consumer(ctx, "S", "A")
			if err != nil {
				t.Fatal(err)
			}
			batch, err := c.Fetch(5)
			if err != nil {
				t.Fatal(err)
			}
			for range batch.Messages() {
			}
			i := &inside{t, nc, "S", "A"}
			type oldest struct {
				Seq uint64
				Age float64 `json:"age_seconds"`
			}
			type lag struct {
				Name            string
				Messages, Bytes uint64
				Unacked         int     `json:"unacknowledged"`
				Undelivered     *oldest `json:"oldest_undelivered"`
				OldestUnacked   *oldest `json:"oldest_unacknowledged"`
			}
			var a lag
			i.ask("CONSUMER.LAG.S.A", "", &a)
			if a.Name != "A" || a.Messages != 15 || a.Bytes < 15*100 || a.Unacked != 5 || a.Undelivered == nil || a.OldestUnacked == nil || a.Undelivered.Age <= 0 || a.OldestUnacked.Seq == 0 {
				t.Errorf("%+v", a)
			}
			var all struct {
				Total     int
				Consumers []lag
			}
			i.ask("STREAM.LAG.S", "", &all)
			if all.Total != 2 || len(all.Consumers) != 2 || all.Consumers[1].Messages != 20 || all.Consumers[1].OldestUnacked != nil {
				t.Errorf("%+v", all)
			}
			if got := i.list(""); got.Total != 5 || len(got.Messages) != 5 {
				t.Errorf("%+v", got)
			} else if partitions != "" {
				for _, m := range got.Messages {
					if m.Partition != int((m.Seq-1)%4) {
						t.Errorf("%+v", m)
					}
				}
				if code := i.act(fmt.Sprintf(`{"seq":%d,"action":"acknowledge"}`, got.Messages[2].Seq)); code != 0 || i.list("").Total != 4 {
					t.Errorf("%d, %+v", code, i.list(""))
				}
			}
		})
	}
}
