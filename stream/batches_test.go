package stream

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"godwit/protocol/jsapi"
	"godwit/stream/vfs"
)

// abandoned are the hooks of a test that wants to hear of batches that were given up.
type abandonedHooks struct{ *testHooks }

func (h abandonedHooks) BatchAbandoned(id, reason string) { h.note("abandoned %s %s", id, reason) }

func batchBench(t testing.TB, change func(*Options)) *bench {
	cfg := jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}, AllowAtomicPublish: true, AllowBatchPublish: true, AllowRollup: true, AllowMsgTTL: true}
	return openBench(t, vfs.NewMem(), cfg, &clock{now: 1e12}, func(o *Options) {
		o.Hooks = abandonedHooks{o.Hooks.(*testHooks)}
		if change != nil {
			change(o)
		}
	})
}

// inTurn runs f where the state may be looked at.
func (b *bench) inTurn(f func()) {
	b.t.Helper()
	if err := b.p.do(f); err != nil {
		b.t.Fatal(err)
	}
}

// say publishes a message and returns everything that is answered.
func (b *bench) say(m testMsg, reply string) (answers []string) {
	b.t.Helper()
	c := b.out.listen(reply)
	defer b.out.leave(reply)
	batch := b.p.NewBatch()
	batch.Add([]byte(m.subject), []byte(reply), m.block(), []byte(m.value))
	b.p.Publish(batch, true)
	for quiet := 0; quiet < 2; quiet++ { // the first may run in the turn that takes the message
		b.inTurn(func() {
			if b.p.flights.len() > 0 {
				quiet = 0
			}
		})
	}
	for {
		select {
		case m := <-c:
			answers = append(answers, string(m.Payload))
		default:
			return answers
		}
	}
}

// atomicMsg is a message of an atomic batch.
func atomicMsg(id string, seq int, subject string, more ...string) testMsg {
	return testMsg{subject: subject, value: "v", headers: append([]string{hdrBatchID + ": " + id, fmt.Sprintf("%s: %d", hdrBatchSeq, seq)}, more...)}
}

func (b *bench) wantSaid(m testMsg, reply string, want ...string) {
	b.t.Helper()
	if got := b.say(m, reply); !slices.Equal(got, want) {
		b.t.Errorf("%+v to %s: answers\n%q, want\n%q", m, reply, got, want)
	}
}

func failure(code jsapi.Code, details ...string) string {
	e := jsapi.Err(code, details...)
	return fmt.Sprintf(`{"error":{"code":%d,"err_code":%d,"description":%q},"stream":"S","seq":0}`, e.Status, e.Code, e.Description)
}

func TestAtomicBatch(t *testing.T) {
	b := batchBench(t, nil)
	b.wantSaid(atomicMsg("i", 1, "s.a", "Nats-Required-Api-Level: 1"), "r", "")
	b.wantSaid(atomicMsg("i", 2, "s.b"), "r", "")
	if st := b.state(); st.LastSeq != 0 {
		t.Errorf("stored before the commit: %+v", st)
	}
	b.accept(testMsg{subject: "s.other"})
	b.wantSaid(atomicMsg("i", 3, "s.c", hdrBatchCommit+": 1"), "r", `{"stream":"S","seq":4,"batch":"i","count":3}`)
	b.wantMsg(2, "s.a", "NATS/1.0\r\nNats-Batch-Id: i\r\nNats-Batch-Sequence: 1\r\n\r\n", "v")
	b.wantMsg(4, "s.c", "NATS/1.0\r\nNats-Batch-Id: i\r\nNats-Batch-Sequence: 3\r\nNats-Batch-Commit: 1\r\n\r\n", "v")
	b.wantSaid(atomicMsg("i", 1, "s.a"), "r", "")
	b.wantSaid(atomicMsg("i", 2, "s.b", hdrBatchCommit+": eob"), "r", `{"stream":"S","seq":5,"batch":"i","count":1}`)
	b.wantMsg(5, "s.a", "NATS/1.0\r\nNats-Batch-Id: i\r\nNats-Batch-Sequence: 1\r\nNats-Batch-Commit: 1\r\n\r\n", "v")
	b.wantSaid(atomicMsg("j", 1, "s.a", hdrBatchCommit+": 1"), "r", `{"stream":"S","seq":6,"batch":"j","count":1}`)
	b.wantSaid(atomicMsg("k", 1, "s.a"), "r", "")
	b = b.restart(true) // which forgets what was not committed
	b.wantSaid(atomicMsg("k", 2, "s.a", hdrBatchCommit+": 1"), "r", failure(jsapi.ErrAtomicPublishIncompleteBatch))
	if st := b.state(); st.Msgs != 6 || st.LastSeq != 6 {
		t.Errorf("%+v", st)
	}
	b.close()
}

func TestAtomicBatchRefused(t *testing.T) {
	b := batchBench(t, func(o *Options) { o.Batches = BatchLimits{Messages: 3, Atomic: 2} })
	defer b.close()
	b.accept(testMsg{subject: "s.a", headers: []string{hdrMsgID + ": old"}})
	one := hdrBatchCommit + ": 1"
	for _, c := range []struct {
		want string
		msgs []testMsg
	}{
		{failure(jsapi.ErrAtomicPublishInvalidBatchID), []testMsg{atomicMsg(strings.Repeat("x", 65), 1, "s.a")}},
		{failure(jsapi.ErrAtomicPublishMissingSeq), []testMsg{{subject: "s.a", headers: []string{hdrBatchID + ": i"}}}},
		{failure(jsapi.ErrAtomicPublishIncompleteBatch), []testMsg{atomicMsg("i", 0, "s.a")}},
		{failure(jsapi.ErrAtomicPublishIncompleteBatch), []testMsg{atomicMsg("i", 2, "s.a")}},
		{failure(jsapi.ErrAtomicPublishIncompleteBatch), []testMsg{atomicMsg("i", 1, "s.a", hdrBatchCommit+": eob")}},
		{failure(jsapi.ErrAtomicPublishIncompleteBatch), []testMsg{atomicMsg("i", 1, "s.a"), atomicMsg("i", 3, "s.a")}},
		{failure(jsapi.ErrAtomicPublishInvalidBatchCommit), []testMsg{atomicMsg("i", 1, "s.a"), atomicMsg("i", 2, "s.a", hdrBatchCommit+": x")}},
		{failure(jsapi.ErrAtomicPublishTooLargeBatch, "size", "3"), []testMsg{atomicMsg("i", 1, "s.a"), atomicMsg("i", 2, "s.a"), atomicMsg("i", 3, "s.a"), atomicMsg("i", 4, "s.a")}},
		{failure(jsapi.ErrStreamWrongLastSequenceConstant), []testMsg{atomicMsg("i", 1, "s.a"), atomicMsg("i", 2, "s.a", one, hdrExpectSeq+": 1")}},
		{failure(jsapi.ErrStreamWrongLastSequence, "seq", "1"), []testMsg{atomicMsg("i", 1, "s.a", hdrExpectSeq+": 9"), atomicMsg("i", 2, "s.a", one)}},
		{failure(jsapi.ErrStreamWrongLastSequence, "seq", "1"), []testMsg{atomicMsg("i", 1, "s.a", hdrExpectSubjSeq+": 9"), atomicMsg("i", 2, "s.a", one)}},
		{failure(jsapi.ErrStreamWrongLastSequenceConstant), []testMsg{atomicMsg("i", 1, "s.a"), atomicMsg("i", 2, "s.b", one, hdrExpectSubjSeq+": 1", hdrExpectSubj+": s.*")}},
		{failure(jsapi.ErrAtomicPublishUnsupportedHeaderBatch, "header", hdrExpectMsgID), []testMsg{atomicMsg("i", 1, "s.a", one, hdrExpectMsgID+": x")}},
		{failure(jsapi.ErrAtomicPublishContainsDuplicateMessage), []testMsg{atomicMsg("i", 1, "s.a", one, hdrMsgID+": old")}},
		{failure(jsapi.ErrAtomicPublishContainsDuplicateMessage), []testMsg{atomicMsg("i", 1, "s.a", hdrMsgID+": n"), atomicMsg("i", 2, "s.b", one, hdrMsgID+": n")}},
		{failure(jsapi.ErrStreamRollupFailed, "err", "batch rollup sub invalid"), []testMsg{atomicMsg("i", 1, "s.a"), atomicMsg("i", 2, "s.a", one, hdrRollup+": sub")}},
		{failure(jsapi.ErrStreamRollupFailed, "err", "batch rollup all invalid"), []testMsg{atomicMsg("i", 1, "s.a"), atomicMsg("i", 2, "s.b", one, hdrRollup+": all")}},
		{failure(jsapi.ErrMessageTTLInvalid), []testMsg{atomicMsg("i", 1, "s.a", one, hdrTTL+": x")}},
		{failure(jsapi.ErrAtomicPublishTooManyInflight), []testMsg{atomicMsg("m1", 1, "s.a"), atomicMsg("m2", 1, "s.a"), atomicMsg("m3", 1, "s.a")}},
	} {
		for i, m := range c.msgs {
			want := ""
			if i == len(c.msgs)-1 {
				want = c.want
			}
			b.wantSaid(m, "r", want)
		}
	}
	b.wantSaid(atomicMsg("m1", 2, "s.n", hdrMsgID+": n", one), "r", `{"stream":"S","seq":3,"batch":"m1","count":2}`)
	b.pass(10 * time.Second)
	want := []string{"abandoned i incomplete", "abandoned i incomplete", "abandoned i large", "abandoned m2 timeout"}
	b.hooks.mu.Lock()
	if !slices.Equal(b.hooks.events, want) {
		t.Errorf("told %v, want %v", b.hooks.events, want)
	}
	b.hooks.mu.Unlock()
	b.inTurn(func() {
		if n := b.p.open.limits.Budget.atomic.Load(); n != 0 || b.p.open.staged != 0 {
			t.Errorf("%d batches, %d bytes count as open", n, b.p.open.staged)
		}
	})
}

// TestAtomicBatchLarge commits more than fits into one batch of the log otherwise, and refuses what never fits.
func TestAtomicBatchLarge(t *testing.T) {
	b := batchBench(t, func(o *Options) { o.SegmentBytes = 64 << 20 })
	defer b.close()
	big := func(seq int, more ...string) testMsg {
		m := atomicMsg("i", seq, "s.a", more...)
		m.value = strings.Repeat("x", 9<<20)
		return m
	}
	for i := range 3 {
		b.wantSaid(big(i+1), "r", "")
	}
	b.wantSaid(big(4), "r", failure(jsapi.ErrAtomicPublishTooLargeBatch, "size", "1000"))
	for i := range 3 {
		b.wantSaid(big(i+1), "r", "")
	}
	b.wantSaid(atomicMsg("i", 4, "s.a", hdrBatchCommit+": 1"), "r", `{"stream":"S","seq":4,"batch":"i","count":4}`)
}

// fast is a message of a fast batch; op and seq are in the reply.
func (b *bench) fast(id, flow, gap string, seq int, op fastOp, headers ...string) []string {
	b.t.Helper()
	return b.say(testMsg{subject: "s.f", value: "v", headers: headers}, fmt.Sprintf("inbox.x.%s.%s.%s.%d.%d%s", id, flow, gap, seq, op, fastSuffix))
}

func TestFastBatch(t *testing.T) {
	b := batchBench(t, nil)
	defer b.close()
	const wrong = hdrExpectSeq + ": 9999"
	unknown := failure(jsapi.ErrBatchPublishUnknownBatchID)
	refused := func(seq int, last string) string {
		e := jsapi.Err(jsapi.ErrStreamWrongLastSequence, "seq", last)
		return fmt.Sprintf(`{"type":"err","seq":%d,"error":{"code":%d,"err_code":%d,"description":%q}}`, seq, e.Status, e.Code, e.Description)
	}
	ack := func(seq, msgs int) string { return fmt.Sprintf(`{"type":"ack","seq":%d,"msgs":%d}`, seq, msgs) }
	gap := func(want, got int) string { return fmt.Sprintf(`{"type":"gap","last_seq":%d,"seq":%d}`, want, got) }
	end := func(seq int, id string, n int) string {
		return fmt.Sprintf(`{"stream":"S","seq":%d,"batch":%q,"count":%d}`, seq, id, n)
	}
	for i, c := range []struct {
		id, flow, gap string
		seq           int
		op            fastOp
		header        string
		want          []string
	}{
		{"a", "2", "ok", 1, fastStart, "", []string{ack(0, 2)}},
		{"a", "2", "ok", 2, fastAppend, "", []string{ack(2, 2)}},
		{"a", "2", "ok", 3, fastAppend, "", nil},
		{"a", "2", "ok", 3, fastPing, "", []string{ack(3, 2)}},
		{"a", "2", "ok", 4, fastCommit, "", []string{end(4, "a", 4)}},
		{"a", "2", "ok", 5, fastAppend, "", []string{unknown}},
		{"b", "1", "fail", 1, fastStart, "", []string{ack(0, 1), ack(1, 1)}},
		{"b", "1", "fail", 2, fastEnd, "", []string{end(5, "b", 1)}},
		{"c", "3", "ok", 1, fastStart, "", []string{ack(0, 3)}},
		{"c", "3", "ok", 4, fastAppend, "", []string{gap(2, 4), ack(3, 3)}},
		{"c", "3", "ok", 5, fastAppend, "", nil},
		{"c", "3", "ok", 8, fastPing, "", []string{gap(6, 9), ack(8, 3)}},
		{"c", "3", "ok", 9, fastCommit, "", []string{end(9, "c", 9)}},
		{"d", "3", "fail", 1, fastStart, "", []string{ack(0, 3)}},
		{"d", "3", "fail", 4, fastAppend, "", []string{gap(2, 4), end(10, "d", 1)}},
		{"e", "3", "ok", 1, fastStart, "", []string{ack(0, 3)}},
		{"e", "3", "ok", 1, fastStart, "", []string{gap(2, 1), end(11, "e", 1)}},
		{"f", "1", "ok", 1, fastStart, wrong, []string{ack(0, 1), refused(1, "11")}},
		{"f", "1", "ok", 2, fastAppend, "", []string{ack(2, 1)}},
		{"f", "1", "ok", 3, fastCommit, wrong, []string{refused(3, "12"), end(12, "f", 2)}},
		{"g", "1", "fail", 1, fastStart, wrong, []string{ack(0, 1), failure(jsapi.ErrStreamWrongLastSequence, "seq", "12")}},
		{"g", "1", "fail", 2, fastAppend, "", []string{unknown}},
		{"h", "1", "fail", 1, fastStart, "", []string{ack(0, 1), ack(1, 1)}},
		{"h", "1", "fail", 2, fastAppend, wrong, []string{refused(2, "13"), end(13, "h", 1)}},
		{"i", "1", "ok", 1, fastCommit, "", []string{end(14, "i", 1)}},
		{"i", "1", "ok", 1, fastCommit, wrong, []string{refused(1, "14"), end(0, "i", 0)}},
		{"j", "5", "ok", 1, fastStart, hdrMsgID + ": j", []string{ack(0, 5)}},
		{"j", "5", "ok", 2, fastAppend, hdrMsgID + ": j", nil},
		{"j", "5", "ok", 3, fastEnd, "", []string{end(15, "j", 2)}},
		{"k", "100", "ok", 1, fastStart, "", []string{ack(0, 100)}},
		{"l", "100", "ok", 1, fastStart, "", []string{ack(0, 1), ack(1, 2)}},
		{"l", "100", "ok", 3, fastAppend, "", []string{gap(2, 3), ack(3, 4)}},
		{"m", "1", "ok", 2, fastStart, "", []string{failure(jsapi.ErrBatchPublishInvalidPattern)}},
		{"m", "1", "ok", 1, fastEnd, "", []string{failure(jsapi.ErrBatchPublishInvalidPattern)}},
		{"m", "1", "ko", 1, fastStart, "", []string{failure(jsapi.ErrBatchPublishInvalidPattern)}},
		{"m", "1", "ok", 1, 7, "", []string{failure(jsapi.ErrBatchPublishInvalidPattern)}},
		{"m", "1", "ok", 2, fastPing, "", []string{unknown}},
		{strings.Repeat("x", 65), "1", "ok", 1, fastStart, "", []string{failure(jsapi.ErrBatchPublishInvalidBatchID)}},
	} {
		var headers []string
		if c.header != "" {
			headers = append(headers, c.header)
		}
		if got := b.fast(c.id, c.flow, c.gap, c.seq, c.op, headers...); !slices.Equal(got, c.want) {
			t.Errorf("step %d: %s %s %d %d: answers\n%q, want\n%q", i, c.id, c.gap, c.seq, c.op, got, c.want)
		}
	}
	b.pass(10 * time.Second)
	if got := b.fast("k", "100", "ok", 2, fastAppend); !slices.Equal(got, []string{unknown}) || b.p.open.limits.Budget.fast.Load() != 0 {
		t.Errorf("an idle batch goes on: %q", got)
	}
}

func TestBatchesDisabled(t *testing.T) {
	b := batchBench(t, func(o *Options) { o.Batches.Fast = 1 })
	defer b.close()
	b.wantSaid(atomicMsg("i", 1, "s.a"), "r", "")
	b.fast("i", "1", "ok", 1, fastStart)
	if got := b.fast("j", "1", "ok", 1, fastStart); !slices.Equal(got, []string{failure(jsapi.ErrBatchPublishTooManyInflight)}) {
		t.Errorf("%q", got)
	}
	off := `{"name":"S","subjects":["s.>"],"retention":"limits","storage":"file","discard":"old","compression":"none","max_msg_size":-1}`
	if err := b.p.Reconfigure([]byte(off)); err != nil {
		t.Fatal(err)
	}
	b.wantSaid(atomicMsg("i", 2, "s.a"), "r", failure(jsapi.ErrAtomicPublishDisabled))
	if got := b.fast("i", "1", "ok", 2, fastAppend); !slices.Equal(got, []string{failure(jsapi.ErrBatchPublishDisabled)}) {
		t.Errorf("%q", got)
	}
	b.inTurn(func() {
		if len(b.p.open.atomic)+len(b.p.open.fast) != 0 {
			t.Error("batches stay open after they were disabled")
		}
	})
}

// TestAtomicBatchAllOrNothing: after a power cut a batch is there as a whole or not at all.
func TestAtomicBatchAllOrNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := batchBench(t, nil)
		defer func() { b.p.Close() }()
		n := rapid.IntRange(1, 20).Draw(rt, "n")
		batch := b.p.NewBatch()
		for i := range n {
			m := atomicMsg("i", i+1, "s.a")
			if i == n-1 {
				m = atomicMsg("i", i+1, "s.a", hdrBatchCommit+": 1")
			}
			batch.Add([]byte(m.subject), nil, m.block(), []byte(m.value))
			if rapid.Bool().Draw(rt, "other") {
				batch.Add([]byte("s.other"), nil, nil, nil)
			}
		}
		b.p.Publish(batch, true)
		b = b.restart(true)
		if got := b.state().Subjects["s.a"]; got != 0 && got != uint64(n) {
			rt.Fatalf("%d of %d messages of a batch are there", got, n)
		}
	})
}

func FuzzParseFast(f *testing.F) {
	for _, s := range []string{"inbox.id.10.ok.1.0.$FI", "a.b.c.d.e.f.$FI", "id.0.fail.2.4.$FI", ".$FI", "x.x.x.ok.99999999999999999999.1.$FI"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, reply []byte) {
		if r, ok := parseFast(reply); ok && (r.seq == 0 || r.flow < 1 || r.flow > fastFlowMax || len(r.id) == 0 || r.op > fastPing) {
			t.Fatalf("%q is %+v", reply, r)
		}
	})
}
