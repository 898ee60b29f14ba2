package stream

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"godwit/protocol/jsapi"
	"godwit/stream/vfs"
)

// settle waits until what is due by the clock was done and applied.
func (b *bench) settle() {
	b.t.Helper()
	for busy := true; busy; {
		b.p.box.wake()
		if err := b.p.do(func() { busy = b.p.flights.len() > 0 || b.p.sched.due() <= b.p.now }); err != nil {
			b.t.Fatal(err)
		}
		runtime.Gosched()
	}
}

func TestMaxAge(t *testing.T) {
	now := &clock{now: 1e9}
	b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}, MaxAge: 10 * time.Second}, now, nil)
	for range 3 {
		b.pubs(testMsg{subject: "s.a"}, testMsg{subject: "s.b"})
		now.pass(4 * time.Second)
	}
	b.settle() // 12 s after the first two
	if st := b.state(); st.Msgs != 4 || st.FirstSeq != 3 {
		t.Fatalf("state %+v", st)
	}
	b.close()
	now.pass(3 * time.Second)
	b = b.reopen(b.fs)
	b.settle() // what became too old while nobody was there
	if st := b.state(); st.Msgs != 2 || st.FirstSeq != 5 {
		t.Fatalf("after a restart: %+v", st)
	}
	now.pass(time.Hour)
	b.settle()
	if st := b.state(); st.Msgs != 0 || st.FirstSeq != 7 || st.LastSeq != 6 || !st.FirstTime.IsZero() || st.LastTime.IsZero() {
		t.Fatalf("empty: %+v", st)
	}
	b.close()
}

// The clock removes old messages by itself, and a partition that has nothing to do has no timer.
func TestMaxAgeByTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}, MaxAge: time.Second}, nil, nil)
		b.pub(testMsg{subject: "s.a"})
		time.Sleep(900 * time.Millisecond)
		synctest.Wait()
		if st := b.state(); st.Msgs != 1 {
			t.Fatalf("removed early: %+v", st)
		}
		time.Sleep(400 * time.Millisecond)
		synctest.Wait()
		if st := b.state(); st.Msgs != 0 {
			t.Fatalf("still there: %+v", st)
		}
		b.close()
	})
}

// An idle push consumer beats, and a pull request expires, by the partition's timer alone.
func TestDeadlinesByTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}}, nil, nil)
		in := b.out.listen("d")
		b.consumer("P", jsapi.ConsumerConfig{DeliverSubject: "d", Heartbeat: time.Second, FlowControl: true})
		b.consumer("C", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, AckWait: 2 * time.Second})
		pulls := b.out.listen("i")
		batch := NewPullBatch(b.handle("C"))
		batch.Add([]byte("i"), []byte(`{"batch":2,"expires":5000000000}`), false)
		b.p.Pull(batch, true)
		b.pub(testMsg{subject: "s.a"})
		time.Sleep(2500 * time.Millisecond)
		synctest.Wait()
		if n := len(in); n != 3 { // the message and two heartbeats
			t.Errorf("%d messages pushed", n)
		}
		if n := len(pulls); n != 2 { // the message, and again after its ack wait
			t.Errorf("%d messages pulled", n)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if n := len(pulls); n != 2 {
			t.Errorf("%d messages after the request was filled", n)
		}
		b.close()
	})
}
