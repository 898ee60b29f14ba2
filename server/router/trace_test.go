package router

import (
	"bytes"
	"testing"

	"godwit/protocol"
)

func TestReplaceTraceDest(t *testing.T) {
	for in, want := range map[string]string{
		"NATS/1.0\r\nNats-Trace-Dest: a\r\n\r\n":                "NATS/1.0\r\nNats-Trace-Dest: trace disabled\r\n\r\n",
		"NATS/1.0\r\nA: b\r\nNats-Trace-Dest:a\r\nC: d\r\n\r\n": "NATS/1.0\r\nA: b\r\nNats-Trace-Dest: trace disabled\r\nC: d\r\n\r\n",
		"NATS/1.0\r\nnats-trace-dest: a\r\n\r\n":                "NATS/1.0\r\nnats-trace-dest: a\r\n\r\n",
		"NATS/1.0\r\nX-Nats-Trace-Dest: a\r\n\r\n":              "NATS/1.0\r\nX-Nats-Trace-Dest: a\r\n\r\n",
		"NATS/1.0\r\n\r\n":                                      "NATS/1.0\r\n\r\n",
		"NATS/1.0\r\nNats-Trace-Dest: a":                        "NATS/1.0\r\nNats-Trace-Dest: a",
		"":                                                      "",
	} {
		if got := replaceTraceDest([]byte(in), traceOff); string(got) != want {
			t.Errorf("%q gives %q", in, got)
		}
	}
}

// Property: what follows a header block with another destination is a frame of the same message.
func FuzzWithTraceDest(f *testing.F) {
	f.Add([]byte("NATS/1.0\r\nNats-Trace-Dest: a\r\n\r\n"), []byte("payload"), []byte("reply"))
	f.Add([]byte("NATS/1.0\r\nNats-Trace-Dest:"), []byte(""), []byte(""))
	f.Add([]byte("\r\nNats-Trace-Dest:\r\n"), []byte("\r\n"), []byte("r"))
	f.Fuzz(func(t *testing.T, header, payload, reply []byte) {
		body := append(bytes.Clone(header), payload...)
		p := &protocol.Pub{Subject: []byte("s"), Reply: reply, Body: body, HeaderLen: len(header), HPUB: true,
			Tail: protocol.AppendHeaderTail(nil, reply, header, payload)}
		q := withTraceDest(p, "d")
		if !bytes.Equal(q.Payload(), payload) || !bytes.Equal(q.Tail, protocol.AppendHeaderTail(nil, reply, q.Header(), payload)) {
			t.Errorf("%q", q.Tail)
		}
		if q != p && string(TraceDest(q.Header())) != "d" {
			t.Errorf("%q", q.Header())
		}
		if !bytes.Equal(p.Body, body) {
			t.Error("the message was changed")
		}
	})
}

// A trace is told once, when the last that takes part has said what became of the message.
func TestTraceIsToldOnce(t *testing.T) {
	told := 0
	tr := NewTrace(TraceIn{Subject: "s"}, func(_ *Trace, events []any) {
		told++
		if len(events) != 2 || events[1].(*traceStream).Subject != "stored" {
			t.Errorf("%+v", events)
		}
	})
	e := &traceStream{}
	tr.add(e)
	tr.pending++
	tr.End()
	if told != 0 {
		t.Fatal("told before the stream has said something")
	}
	if (&TraceStep{tr, e}).Done("stored", false, ""); told != 1 {
		t.Errorf("told %d times", told)
	}
}
