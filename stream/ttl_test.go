package stream

import (
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"godwit/protocol/jsapi"
	"godwit/stream/vfs"
)

// pass lets time pass and waits until everything due is done.
func (b *bench) pass(d time.Duration) {
	b.t.Helper()
	b.now.pass(d)
	for ticks := 0; ticks < 100000; {
		b.p.box.wake()
		var flying, busy bool
		if err := b.p.do(func() {
			flying = b.p.expiring || b.p.flights.len() > 0
			busy = min(b.p.sched.expire, b.p.sched.fire, b.p.sched.batches) <= b.now.read()
		}); err != nil {
			b.t.Fatal(err)
		}
		switch {
		case flying: // the clock stands still until it is safe
			runtime.Gosched()
		case busy:
			b.now.pass(tickMin)
			ticks++
		default:
			return
		}
	}
	b.t.Fatal("the partition does not come to rest")
}

// restart opens the partition again: after a proper end, or after a power cut.
func (b *bench) restart(cut bool) *bench {
	b.t.Helper()
	if !cut {
		b.close()
		return b.reopen(b.fs)
	}
	fs := b.fs.CrashClone(rand.New(rand.NewPCG(1, 2)))
	b.p.Close()
	return b.reopen(fs)
}

func TestParseTTL(t *testing.T) {
	for text, want := range map[string]int64{"5": 5, "1m30s": 90, "1500ms": 1, "never": ttlNever, "NeVer": ttlNever, "0": 0, "-1": 0,
		"500ms": 0, "abc": 0, "": 0, "9223372036854775807": math.MaxInt64, "9223372036854775808": 0, "99999999999h": 0} {
		if got := parseTTL(text); got != want {
			t.Errorf("%q is %d, want %d", text, got, want)
		}
	}
	for _, ttl := range []int64{math.MaxInt64, math.MaxInt64 / int64(time.Second), math.MaxInt64/int64(time.Second) - 1} {
		if at := expiryTime(time.Now().UnixNano(), ttl); at != never {
			t.Errorf("a time to live of %d seconds ends at %d", ttl, at)
		}
	}
	if at := expiryTime(5, 2); at != 2e9+5 {
		t.Errorf("two seconds after 5 ns is %d", at)
	}
}

func ttlConfig() jsapi.StreamConfig {
	return jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}, AllowMsgTTL: true}
}

func TestTTLRefused(t *testing.T) {
	b := openBench(t, vfs.NewMem(), ttlConfig(), nil, nil)
	defer b.close()
	off := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}}, nil, nil)
	defer off.close()
	for _, v := range []string{"0", "-1", "500ms", "abc"} {
		m := testMsg{subject: "s.a", headers: []string{hdrTTL + ": " + v}}
		if ack := b.pub(m); ack.Error == nil || ack.Error.Code != jsapi.ErrMessageTTLInvalid {
			t.Errorf("%s: %+v", v, ack)
		}
		off.refuse(jsapi.ErrMessageTTLInvalid, m)
	}
	off.refuse(jsapi.ErrMessageTTLDisabled, testMsg{subject: "s.a", headers: []string{hdrTTL + ": 5"}})
}

// TestTTL: messages end when they say, whatever restarts come in between, and those with a very large value do not.
func TestTTL(t *testing.T) {
	for _, cut := range []bool{false, true} {
		now := &clock{now: time.Now().UnixNano() - int64(1e15)}
		b := openBench(t, vfs.NewMem(), ttlConfig(), now, nil)
		for _, v := range []string{"3", "1", "9223372036854775807", "never", "2s"} {
			if ack := b.pub(testMsg{subject: "s." + v, headers: []string{hdrTTL + ": " + v}}); ack.Error != nil {
				t.Fatal(ack.Error)
			}
		}
		b.pub(testMsg{subject: "s.plain"})
		for _, step := range []struct {
			wait time.Duration
			left []uint64
		}{{time.Second, []uint64{1, 3, 4, 5, 6}}, {time.Second, []uint64{1, 3, 4, 6}}, {time.Second, []uint64{3, 4, 6}}, {1e6 * time.Second, []uint64{3, 4, 6}}} {
			b.checkpointNow(cut)
			b = b.restart(cut)
			b.pass(step.wait)
			var left []uint64
			for seq := uint64(1); seq <= 6; seq++ {
				if _, ok := b.get(jsapi.MsgGetRequest{Seq: seq}); ok {
					left = append(left, seq)
				}
			}
			if len(left) != len(step.left) {
				t.Errorf("%v are left, want %v", left, step.left)
			}
		}
		b.close()
	}
}

// checkpointNow makes a checkpoint without letting time pass.
func (b *bench) checkpointNow(want bool) {
	if want {
		if err := b.p.do(func() { b.p.sched.check = b.p.now; b.p.maybeCheckpoint() }); err != nil {
			b.t.Fatal(err)
		}
	}
}

func TestNeverOutlivesAge(t *testing.T) {
	now := &clock{now: 1e12}
	cfg := ttlConfig()
	cfg.MaxAge = time.Second
	b := openBench(t, vfs.NewMem(), cfg, now, nil)
	b.pub(testMsg{subject: "s.a"})
	b.pub(testMsg{subject: "s.b", headers: []string{hdrTTL + ": never"}})
	b.pub(testMsg{subject: "s.c", headers: []string{hdrTTL + ": 1h"}})
	b = b.restart(true)
	b.pass(1500 * time.Millisecond)
	b.pub(testMsg{subject: "s.d"})
	if st := b.state(); st.Msgs != 2 || st.Subjects["s.b"] != 1 || st.Subjects["s.d"] != 1 {
		t.Errorf("left: %+v", st)
	}
	b = b.restart(false)
	b.pass(1500 * time.Millisecond)
	if st := b.state(); st.Msgs != 1 || st.Subjects["s.b"] != 1 || st.FirstSeq != 2 {
		t.Errorf("left: %+v", st)
	}
	b.close()
}

func TestDeleteMarkers(t *testing.T) {
	now := &clock{now: 1e12}
	cfg := ttlConfig()
	cfg.SubjectDeleteMarkerTTL, cfg.MaxAge = 5*time.Second, time.Minute
	b := openBench(t, vfs.NewMem(), cfg, now, nil)
	b.pubs(testMsg{subject: "s.age", value: "old"}, testMsg{subject: "s.age", value: "newer"})
	b.pub(testMsg{subject: "s.raised", headers: []string{"A: b", hdrTTL + ": 1", "C: d"}})
	b.pub(testMsg{subject: "s.purged", headers: []string{"KV-Operation: PURGE", hdrTTL + ": 10"}})
	b.pub(testMsg{subject: "s.more", value: "x", headers: []string{hdrTTL + ": 10"}})
	b.pub(testMsg{subject: "s.more", value: "y"})
	if m, ok := b.get(jsapi.MsgGetRequest{Seq: 3}); !ok || string(m.Header) != "NATS/1.0\r\nA: b\r\nNats-TTL: 5\r\nC: d\r\n\r\n" {
		t.Errorf("stored %+v", m)
	}
	b.pass(4 * time.Second)
	if st := b.state(); st.Msgs != 6 {
		t.Errorf("too early: %+v", st)
	}
	b.pass(time.Second)
	const marker = "NATS/1.0\r\nNats-Marker-Reason: MaxAge\r\nNats-TTL: 5s\r\nNats-Rollup: sub\r\n\r\n"
	if m, ok := b.get(jsapi.MsgGetRequest{LastFor: "s.raised"}); !ok || string(m.Header) != marker || m.Sequence != 7 || len(m.Data) > 0 {
		t.Errorf("instead of the message there is %+v", m)
	}
	b = b.restart(true)
	b.pass(5 * time.Second)
	if st := b.state(); st.Msgs != 3 || st.Subjects["s.more"] != 1 || st.Subjects["s.age"] != 2 {
		t.Errorf("left: %+v", st)
	}
	b.pass(51 * time.Second)
	for _, s := range []string{"s.age", "s.more"} {
		if m, ok := b.get(jsapi.MsgGetRequest{LastFor: s}); !ok || string(m.Header) != marker {
			t.Errorf("instead of the last message on %s there is %+v", s, m)
		}
	}
	b.pass(5 * time.Second)
	if st := b.state(); st.Msgs != 0 || st.LastSeq != 9 {
		t.Errorf("left: %+v", st)
	}
	if !strings.Contains(marker, b.cfg.SubjectDeleteMarkerTTL.String()) || b.quota.used != 0 {
		t.Errorf("%d bytes are counted", b.quota.used)
	}
	b.close()
}
