package stream

import (
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"godwit/protocol/jsapi"
	"godwit/stream/consumer"
	"godwit/stream/vfs"
)

// TestFullDiskDelaysAndLosesNothing publishes to a disk that is full: the answer comes when there is room, and what is
// stored can be read meanwhile. A partition that is closed in that state refuses what waits, and keeps the rest.
func TestFullDiskDelaysAndLosesNothing(t *testing.T) {
	var full atomic.Bool
	mem := vfs.NewMem()
	faults := vfs.Inject(mem, func(op vfs.Op) *vfs.Fault {
		if full.Load() && op.Kind == vfs.OpWrite {
			return &vfs.Fault{Err: syscall.ENOSPC, Keep: op.Len / 2}
		}
		return nil
	})
	b := openBench(t, mem, jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}}, nil, func(o *Options) { o.FS = faults })
	if ack := b.pub(testMsg{subject: "s.1", value: "one"}); ack.Sequence != 1 {
		t.Fatalf("%+v", ack)
	}
	full.Store(true)
	c := b.out.listen("later")
	send := func(subject, value string) {
		batch := b.p.NewBatch()
		batch.Add([]byte(subject), []byte("later"), nil, []byte(value))
		b.p.Publish(batch, true)
	}
	send("s.2", "two")
	waitFor(t, func() bool { return b.p.Stalled() != nil })
	if _, ok := b.get(jsapi.MsgGetRequest{Seq: 1}); !ok {
		t.Error("what is stored cannot be read")
	}
	if _, ok := b.get(jsapi.MsgGetRequest{Seq: 2}); ok {
		t.Error("what is not stored yet can be read")
	}
	select {
	case m := <-c:
		t.Fatalf("answered while the disk is full: %s", m.Payload)
	default:
	}
	// Nothing more is taken, and whoever asks hears of it at once.
	if ack := b.pub(testMsg{subject: "s.0", value: "refused"}); ack.Error == nil || ack.Error.Code != jsapi.ErrInsufficientResources {
		t.Errorf("a publish on a full disk: %+v", ack)
	}
	noRoom := func(what string, err *jsapi.Error) {
		t.Helper()
		if err == nil || err.Code != jsapi.ErrInsufficientResources {
			t.Errorf("%s on a full disk: %v", what, err)
		}
	}
	_, err := b.p.Purge(&jsapi.PurgeRequest{})
	noRoom("a purge", err)
	_, err = b.p.CreateConsumer(ConsumerRequest{Name: "c", Config: jsapi.ConsumerConfig{Durable: "c", AckPolicy: jsapi.AckExplicit}})
	noRoom("a consumer", err)
	noRoom("a copy", b.p.Source([]Copied{{Subject: []byte("s.5")}}))
	_, err = b.p.Sourced("x")
	noRoom("a position", err)
	full.Store(false)
	if m := answer(t, c); string(m.Payload) != `{"stream":"S","seq":2}` {
		t.Errorf("answer when there is room: %s", m.Payload)
	}
	waitFor(t, func() bool { return b.p.Stalled() == nil })
	if ack := b.pub(testMsg{subject: "s.3", value: "three"}); ack.Sequence != 3 {
		t.Errorf("%+v", ack)
	}

	full.Store(true)
	send("s.4", "four")
	waitFor(t, func() bool { return b.p.Stalled() != nil })
	closed := make(chan error)
	go func() { closed <- b.p.Close() }()
	select {
	case err := <-closed:
		if err == nil {
			t.Error("closed without an error, though not all could be written")
		}
	case <-time.After(20 * time.Second):
		t.Fatal("close waits for room")
	}
	m := answer(t, c)
	if ack := (jsapi.PubAck{}); jsapi.Decode(m.Payload, &ack, false) != nil || ack.Error == nil {
		t.Errorf("answer to what was not stored: %s", m.Payload)
	}
	full.Store(false)
	b = b.reopen(mem)
	defer b.close()
	if st := b.state(); st.Msgs != 3 || st.LastSeq != 3 {
		t.Errorf("%d messages, the last is %d", st.Msgs, st.LastSeq)
	}
}

// TestRequestsDoNotWaitForRoom has the disk become full with a request under way: it is answered, and takes effect when
// there is room.
func TestRequestsDoNotWaitForRoom(t *testing.T) {
	var full atomic.Bool
	mem := vfs.NewMem()
	faults := vfs.Inject(mem, func(op vfs.Op) *vfs.Fault {
		if full.Load() && op.Kind == vfs.OpWrite {
			return &vfs.Fault{Err: syscall.EDQUOT}
		}
		return nil
	})
	b := openBench(t, mem, jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}}, nil, func(o *Options) { o.FS = faults })
	defer b.close()
	b.pub(testMsg{subject: "s.1", value: "one"})
	full.Store(true)
	if _, err := b.p.Purge(&jsapi.PurgeRequest{}); err == nil || err.Code != jsapi.ErrInsufficientResources {
		t.Errorf("a purge on a full disk: %v", err)
	}
	if st := b.state(); st.Msgs != 1 {
		t.Errorf("%d messages before the purge is safe", st.Msgs)
	}
	full.Store(false)
	waitFor(t, func() bool { return b.state().Msgs == 0 })
}

// TestFullDiskGathersNothing has a consumer and a schedule go on while the disk is full: nothing is appended for them before
// there is room, and then nothing is missing.
func TestFullDiskGathersNothing(t *testing.T) {
	var full atomic.Bool
	mem := vfs.NewMem()
	faults := vfs.Inject(mem, func(op vfs.Op) *vfs.Fault {
		if full.Load() && op.Kind == vfs.OpWrite {
			return &vfs.Fault{Err: syscall.ENOSPC}
		}
		return nil
	})
	now := &clock{now: 1e18}
	b := openBench(t, mem, jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}, AllowMsgSchedules: true}, now, func(o *Options) { o.FS = faults })
	b.consumer("c", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, FilterSubject: "s.a.>"})
	for range 20 {
		b.accept(testMsg{subject: "s.a.x", value: "one"})
	}
	due := time.Unix(0, 1e18).Add(time.Second).UTC().Format(time.RFC3339Nano)
	b.accept(testMsg{subject: "s.schedule", headers: []string{"Nats-Schedule: @at " + due, "Nats-Schedule-Target: s.b"}})
	_, replies := b.pull("c", 20)
	full.Store(true)
	batch := b.p.NewBatch()
	batch.Add([]byte("s.z"), nil, nil, nil)
	b.p.Publish(batch, true)
	waitFor(t, func() bool { return b.p.Stalled() != nil })
	for _, r := range replies {
		b.ack("c", r)
		now.pass(10 * progressEvery)
		b.inTurn(func() {})
	}
	b.inTurn(func() {
		if n := b.p.flights.len(); n != 1 { // the message
			t.Errorf("%d batches are in flight", n)
		}
	})
	full.Store(false)
	waitFor(t, func() bool { return b.p.Stalled() == nil && b.state().LastSeq == 23 })
	now.pass(progressEvery)
	b.inTurn(func() {})
	waitFor(t, func() (ok bool) { b.inTurn(func() { ok = b.p.flights.len() == 0 }); return ok })
	b = b.restart(false)
	defer b.close()
	if info, err := b.p.ConsumerInfo("c"); err != nil || info.NumAckPending != 0 || info.AckFloor.Consumer != 20 {
		t.Errorf("%+v %v", info, err)
	}
}

// TestPurgeGivesBackDiskSpace purges a stream whose messages all lie in the segment that is being written: the space comes
// back without anything else being published, and what was kept is there after a restart.
func TestPurgeGivesBackDiskSpace(t *testing.T) {
	for _, keep := range []uint64{0, 5} {
		for _, cut := range []bool{false, true} {
			b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}}, nil, func(o *Options) { o.SegmentBytes = 64 << 20 })
			for range 40 {
				b.accept(testMsg{subject: "s.a", value: strings.Repeat("x", 50_000)})
			}
			if n, err := b.p.Purge(&jsapi.PurgeRequest{Keep: keep}); err != nil || n != 40-keep {
				t.Fatal(n, err)
			}
			waitFor(t, func() bool { return b.p.log.Bytes() < 300_000 })
			b = b.restart(cut)
			if st := b.state(); st.Msgs != keep || st.LastSeq != 40 || b.p.log.Bytes() > 300_000 {
				t.Errorf("keep %d, cut %v: %+v, %d bytes", keep, cut, st, b.p.log.Bytes())
			}
			for seq := 41 - keep; seq <= 40; seq++ {
				b.wantMsg(seq, "s.a", "", strings.Repeat("x", 50_000))
			}
			if seq := b.accept(testMsg{subject: "s.a"}); seq != 41 {
				t.Errorf("the next one is %d", seq)
			}
			b.close()
		}
	}
}

func answer(t *testing.T, c chan consumer.Message) consumer.Message {
	t.Helper()
	select {
	case m := <-c:
		return m
	case <-time.After(20 * time.Second):
		t.Fatal("no answer")
	}
	return consumer.Message{}
}

// waitFor waits until something that happens by itself has happened.
func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not happen")
		}
	}
}
