package stream

import (
	"bytes"
	"testing"
)

// FuzzHeaders feeds header blocks as clients can send them, which may be anything.
func FuzzHeaders(f *testing.F) {
	for _, s := range []string{"", "NATS/1.0\r\n\r\n", "NATS/1.0 503 text\r\nA: b\r\n\r\n", "NATS/1.0\r\nNats-Msg-Id: x\r\n\r\n", "NATS/1.0\r\nNats-Msg-Id",
		"NATS/1.0\r\nNats-Expected-Last-Sequence: 99999999999999999999\r\n\r\n", "NATS/1.0\r\nNats-Request-Info: {}\r\nA: b\r\n\r\n",
		"NATS/1.0\r\nNats-TTL: 1h\r\nNats-Rollup: sub\r\n\r\n", "\r\n\r\n", "NATS/1.0\nNats-Msg-Id: y\n\n", "Nats-Msg-Id:\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, block []byte) {
		const before = "before"
		b := append([]byte(before), block...)
		var c check
		scanHeader(b, uint32(len(before)), uint32(len(b)), &c)
		for name, s := range map[string]span{"id": c.msgID, "stream": c.stream, "subject": c.subj, "last id": c.lastID, "rollup": c.rollup} {
			if s.empty() {
				continue
			}
			if s.from < uint32(len(before)) || s.to > uint32(len(b)) || s.from > s.to {
				t.Fatalf("%s: span %v of a block of %d bytes", name, s, len(block))
			}
			if v := s.of(b); bytes.ContainsRune(v, '\n') {
				t.Fatalf("%s: value %q", name, v)
			}
		}
		stored := storeHeader(nil, block)
		if again := storeHeader(nil, stored); !bytes.Equal(again, stored) {
			t.Fatalf("%q is stored as %q, and that as %q", block, stored, again)
		}
	})
}
