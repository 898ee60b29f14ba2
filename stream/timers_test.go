package stream

import (
	"testing"
	"time"

	"godwit/protocol/jsapi"
	"godwit/stream/vfs"
)

func timersBench(t *testing.T, change func(*jsapi.StreamConfig)) *bench {
	cfg := jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>", "t.>"}, AllowMsgSchedules: true, AllowMsgTTL: true}
	if change != nil {
		change(&cfg)
	}
	return openBench(t, vfs.NewMem(), cfg, &clock{now: time.Date(2030, 1, 1, 0, 0, 0, 2e8, time.UTC).UnixNano()}, nil)
}

func (b *bench) wantMsg(seq uint64, subject, header, value string) {
	b.t.Helper()
	m, ok := b.get(jsapi.MsgGetRequest{Seq: seq})
	if !ok {
		b.t.Errorf("there is no message %d", seq)
		return
	}
	if m.Subject != subject || string(m.Data) != value || string(m.Header) != header {
		b.t.Errorf("message %d is %s %q %q\nwant %s %q %q", seq, m.Subject, m.Header, m.Data, subject, header, value)
	}
}

func (b *bench) accept(m testMsg) uint64 {
	b.t.Helper()
	ack := b.pub(m)
	if ack.Error != nil {
		b.t.Fatalf("%+v: %+v", m, ack.Error)
	}
	return ack.Sequence
}

func (b *bench) refuse(code jsapi.Code, m testMsg) {
	b.t.Helper()
	if ack := b.pub(m); ack.Error == nil || ack.Error.Code != code {
		b.t.Errorf("%+v: %+v, want error %d", m, ack.Error, code)
	}
}

func TestScheduleOnce(t *testing.T) {
	b := timersBench(t, nil)
	b.accept(testMsg{subject: "s.a", value: "v", headers: []string{"Nats-Schedule: @at 2030-01-01T00:00:05Z", "Nats-Schedule-Target: t.a", "X: y",
		"Nats-Msg-Id: i", "Nats-Expected-Last-Sequence: 0", "Nats-Schedule-TTL: 3", "Nats-Schedule-Rollup: sub"}})
	b.accept(testMsg{subject: "t.a", value: "before"})
	b = b.restart(true)
	b.pass(4 * time.Second)
	if st := b.state(); st.Msgs != 2 {
		t.Errorf("too early: %+v", st)
	}
	b = b.restart(false)
	b.pass(time.Second)
	const produced = "NATS/1.0\r\nX: y\r\nNats-Scheduler: s.a\r\nNats-Schedule-Next: purge\r\nNats-TTL: 3\r\nNats-Rollup: sub\r\n\r\n"
	b.wantMsg(3, "t.a", produced, "v")
	if st := b.state(); st.Msgs != 1 {
		t.Errorf("left: %+v", st)
	}
	b = b.restart(true)
	b.pass(3 * time.Second)
	if st := b.state(); st.Msgs != 0 || st.LastSeq != 3 {
		t.Errorf("left: %+v", st)
	}
	b.close()
}

func TestScheduleRepeats(t *testing.T) {
	b := timersBench(t, nil)
	b.accept(testMsg{subject: "s.src", value: "one", headers: []string{"From: src"}})
	b.accept(testMsg{subject: "s.e", value: "own", headers: []string{"Nats-Schedule: @every 10s", "Nats-Schedule-Target: t.e", "Nats-Schedule-Source: s.src"}})
	b.wantMsg(2, "s.e", "NATS/1.0\r\nNats-Schedule: @every 10s\r\nNats-Schedule-Target: t.e\r\nNats-Schedule-Source: s.src\r\nNats-Rollup: sub\r\n\r\n", "own")
	b.pass(10 * time.Second)
	b.wantMsg(3, "t.e", "NATS/1.0\r\nFrom: src\r\nNats-Scheduler: s.e\r\nNats-Schedule-Next: 2030-01-01T00:00:20Z\r\n\r\n", "one")
	if err := b.p.Delete(1); err != nil {
		t.Fatal(err)
	}
	b.checkpointNow(true)
	b = b.restart(true)
	b.pass(45 * time.Second) // four were missed; they are one
	b.wantMsg(4, "t.e", "NATS/1.0\r\nNats-Scheduler: s.e\r\nNats-Schedule-Next: 2030-01-01T00:01:05Z\r\n\r\n", "own")
	b.accept(testMsg{subject: "s.e", value: "plain"})
	b.pass(time.Minute)
	if st := b.state(); st.LastSeq != 5 || st.Subjects["s.e"] != 2 {
		t.Errorf("a plain message stops a schedule and leaves it: %+v", st)
	}
	b.close()
}

func TestScheduleReplaceCancelPurge(t *testing.T) {
	b := timersBench(t, nil)
	at := func(s, when string) testMsg {
		return testMsg{subject: s, value: when, headers: []string{"Nats-Schedule: @at 2030-01-01T00:00:" + when + "Z", "Nats-Schedule-Target: t.x"}}
	}
	b.pubs(at("s.a", "10"), at("s.a", "05"), at("s.b", "05"), at("s.c", "05"))
	if st := b.state(); st.Subjects["s.a"] != 1 {
		t.Errorf("two schedules on one subject: %+v", st)
	}
	b.accept(testMsg{subject: "t.gone", headers: []string{"Nats-Schedule-Next: purge", "Nats-Scheduler: s.b"}})
	if _, err := b.p.Purge(&jsapi.PurgeRequest{Subject: "s.c"}); err != nil {
		t.Fatal(err)
	}
	b.pass(20 * time.Second)
	b.wantMsg(6, "t.x", "NATS/1.0\r\nNats-Scheduler: s.a\r\nNats-Schedule-Next: purge\r\n\r\n", "05")
	if st := b.state(); st.LastSeq != 6 || st.Msgs != 2 {
		t.Errorf("left: %+v", st)
	}
	b.accept(at("s.past", "01"))
	b.pass(tickMin)
	b.wantMsg(8, "t.x", "NATS/1.0\r\nNats-Scheduler: s.past\r\nNats-Schedule-Next: purge\r\n\r\n", "01")
	b.close()
}

func TestScheduleRefused(t *testing.T) {
	b := timersBench(t, nil)
	defer b.close()
	off := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}}, nil, nil)
	defer off.close()
	off.refuse(jsapi.ErrMessageSchedulesDisabled, testMsg{subject: "s.a", headers: []string{"Nats-Schedule: @hourly", "Nats-Schedule-Target: s.b"}})
	off.refuse(jsapi.ErrMessageSchedulesDisabled, testMsg{subject: "s.a", headers: []string{"Nats-Schedule: x"}})
	noTTL := timersBench(t, func(c *jsapi.StreamConfig) { c.AllowMsgTTL = false })
	defer noTTL.close()
	noTTL.refuse(jsapi.ErrMessageTTLDisabled, testMsg{subject: "s.a", headers: []string{"Nats-Schedule: @hourly", "Nats-Schedule-Target: s.b", "Nats-Schedule-TTL: 5"}})
	for _, c := range []struct {
		code    jsapi.Code
		headers []string
	}{
		{jsapi.ErrMessageSchedulesPatternInvalid, []string{"Nats-Schedule: @every 1ms", "Nats-Schedule-Target: t.b"}},
		{jsapi.ErrMessageSchedulesPatternInvalid, []string{"Nats-Schedule: 0 0 0 31 2 *", "Nats-Schedule-Target: t.b"}},
		{jsapi.ErrMessageSchedulesPatternInvalid, []string{"Nats-Schedule: @every 1s", "Nats-Schedule-Target: t.b", "Nats-Schedule-Time-Zone: UTC"}},
		{jsapi.ErrMessageSchedulesTimeZoneInvalid, []string{"Nats-Schedule: @every 1s", "Nats-Schedule-Target: t.b", "Nats-Schedule-Time-Zone: "}},
		{jsapi.ErrMessageSchedulesTimeZoneInvalid, []string{"Nats-Schedule: @daily", "Nats-Schedule-Target: t.b", "Nats-Schedule-Time-Zone: "}},
		{jsapi.ErrMessageSchedulesTimeZoneInvalid, []string{"Nats-Schedule: @daily", "Nats-Schedule-Target: t.b", "Nats-Schedule-Time-Zone: No/Where"}},
		{jsapi.ErrMessageSchedulesTTLInvalid, []string{"Nats-Schedule: @daily", "Nats-Schedule-Target: t.b", "Nats-Schedule-TTL: 0"}},
		{jsapi.ErrMessageSchedulesRollupInvalid, []string{"Nats-Schedule: @daily", "Nats-Schedule-Target: t.b", "Nats-Schedule-Rollup: all"}},
		{jsapi.ErrMessageSchedulesRollupInvalid, []string{"Nats-Schedule: @daily", "Nats-Schedule-Target: t.b", "Nats-Rollup: all"}},
		{jsapi.ErrMessageSchedulesTargetInvalid, []string{"Nats-Schedule: @daily"}},
		{jsapi.ErrMessageSchedulesTargetInvalid, []string{"Nats-Schedule: @daily", "Nats-Schedule-Target: s.a"}},
		{jsapi.ErrMessageSchedulesTargetInvalid, []string{"Nats-Schedule: @daily", "Nats-Schedule-Target: t.*"}},
		{jsapi.ErrMessageSchedulesTargetInvalid, []string{"Nats-Schedule: @daily", "Nats-Schedule-Target: other"}},
		{jsapi.ErrMessageSchedulesSourceInvalid, []string{"Nats-Schedule: @daily", "Nats-Schedule-Target: t.b", "Nats-Schedule-Source: t.*"}},
		{jsapi.ErrMessageSchedulesSourceInvalid, []string{"Nats-Schedule: @daily", "Nats-Schedule-Target: t.b", "Nats-Schedule-Source: t.b"}},
		{jsapi.ErrMessageSchedulesSchedulerInvalid, []string{"Nats-Schedule-Next: purge"}},
		{jsapi.ErrMessageSchedulesSchedulerInvalid, []string{"Nats-Scheduler: s.b"}},
		{jsapi.ErrMessageSchedulesSchedulerInvalid, []string{"Nats-Scheduler: s.a", "Nats-Schedule-Next: purge"}},
		{jsapi.ErrMessageSchedulesSchedulerInvalid, []string{"Nats-Scheduler: s.b", "Nats-Schedule-Next: 2030-01-01T00:00:00Z"}},
	} {
		b.refuse(c.code, testMsg{subject: "s.a", headers: c.headers})
	}
	b.accept(testMsg{subject: "s.plain"})
	b.refuse(jsapi.ErrMessageSchedulesSchedulerInvalid, testMsg{subject: "s.a", headers: []string{"Nats-Scheduler: s.plain", "Nats-Schedule-Next: purge"}})
}
