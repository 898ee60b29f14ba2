package stream

import (
	"fmt"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"godwit/protocol/jsapi"
	"godwit/stream/vfs"
)

func incr(subject, by string, more ...string) testMsg {
	return testMsg{subject: subject, headers: append([]string{hdrIncr + ": " + by}, more...)}
}

// TestCounterAgainstModel adds numbers of any size, several in one batch, with removals and restarts in between.
func TestCounterAgainstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"c.>"}, AllowMsgCounter: true}, nil, nil)
		defer func() { b.p.Close() }()
		want := map[string]*big.Int{}
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			switch rapid.IntRange(0, 5).Draw(rt, "step") {
			case 0:
				b = b.restart(rapid.Bool().Draw(rt, "cut"))
			case 1:
				s := rapid.SampledFrom([]string{"c.a", "c.b"}).Draw(rt, "purged")
				if _, err := b.p.Purge(&jsapi.PurgeRequest{Subject: s}); err != nil {
					rt.Fatal(err)
				}
				delete(want, s)
			default:
				var list []testMsg
				var values []string
				for range rapid.IntRange(1, 5).Draw(rt, "n") {
					s := rapid.SampledFrom([]string{"c.a", "c.b"}).Draw(rt, "subject")
					by := rapid.StringMatching(`[+-]?[0-9]{1,30}`).Draw(rt, "by")
					n, _ := new(big.Int).SetString(by, 10)
					if want[s] == nil {
						want[s] = new(big.Int)
					}
					want[s] = new(big.Int).Add(want[s], n)
					list, values = append(list, incr(s, by)), append(values, want[s].String())
				}
				for i, ack := range b.pubs(list...) {
					if ack.Error != nil || ack.Value != values[i] {
						rt.Fatalf("%+v: %+v %+v, want %s", list[i], ack, ack.Error, values[i])
					}
				}
			}
			for s, v := range want {
				if m, ok := b.get(jsapi.MsgGetRequest{LastFor: s}); !ok || string(m.Data) != fmt.Sprintf(`{"val":"%s"}`, v) {
					rt.Fatalf("%s holds %+v, want %s", s, m, v)
				}
			}
		}
	})
}

func TestCounterRefused(t *testing.T) {
	b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"c.>"}, AllowMsgCounter: true, MaxMsgSize: 60}, nil, nil)
	defer func() { b.close() }()
	off := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"c.>"}}, nil, nil)
	defer off.close()
	off.refuse(jsapi.ErrMessageIncrDisabled, incr("c.a", "1"))
	off.refuse(jsapi.ErrMessageIncrInvalid, incr("c.a", "x"))
	b.refuse(jsapi.ErrMessageIncrMissing, testMsg{subject: "c.a"})
	b.refuse(jsapi.ErrMessageIncrInvalid, incr("c.a", "1.5"))
	b.refuse(jsapi.ErrMessageIncrInvalid, incr("c.a", "1", hdrRollup+": sub"))
	b.refuse(jsapi.ErrMessageIncrInvalid, incr("c.a", "1", hdrExpectSeq+": 0"))
	payload := incr("c.a", "1")
	payload.value = "x"
	b.refuse(jsapi.ErrMessageIncrPayload, payload)
	b.refuse(jsapi.ErrStreamMessageExceedsMaximum, incr("c.a", "12345678901234567"))
	if ack := b.pub(incr("c.a", "5", hdrMsgID+": i")); ack.Value != "5" || ack.Sequence != 1 {
		t.Errorf("%+v", ack)
	}
	if ack := b.pub(incr("c.a", "5", hdrMsgID+": i")); ack.Value != "" || !ack.Duplicate {
		t.Errorf("again: %+v", ack)
	}
	b.wantMsg(1, "c.a", "NATS/1.0\r\nNats-Incr: 5\r\nNats-Msg-Id: i\r\n\r\n", `{"val":"5"}`)
}
