package jetstream

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"godwit/protocol/jsapi"
)

func TestFileNames(t *testing.T) {
	long := strings.Repeat("x", 255)
	seen := map[string]string{}
	for _, name := range []string{"$G", "ORDERS", "..", ".", "a/b", `a\b`, "a b", "~new.x", "~", "a~b", "%2E", "ä", "", long, long + "y", "a:b", "a\x00b", "%h00"} {
		f := fileName(name)
		if f == "" || f == "." || f == ".." || len(f) > 255 || strings.ContainsAny(f, "/\\\x00 .") || strings.HasPrefix(f, "~") || filepath.Base(f) != f {
			t.Errorf("%q is kept in %q", name, f)
		}
		if other, taken := seen[f]; taken {
			t.Errorf("%q and %q are both kept in %q", name, other, f)
		}
		seen[f] = name
	}
	if f := fileName("ORDERS-1_x"); f != "ORDERS-1_x" {
		t.Errorf("a plain name became %q", f)
	}
}

func TestMetaIsChecked(t *testing.T) {
	m := &meta{Format: metaFormat, Account: "$G", UID: "u", Created: time.Unix(5, 0).UTC(), Config: jsapi.StreamConfig{Name: "S", Subjects: []string{"s"}}}
	b, err := m.encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeMeta(b)
	if err != nil || got.UID != "u" || got.Config.Name != "S" || !got.Created.Equal(m.Created) || got.key(0) != m.key(0) {
		t.Fatalf("%+v, %v", got, err)
	}
	for i := range len(b) - 1 { // the last line end says nothing
		bad := append([]byte{}, b...)
		bad[i] ^= 1
		if _, err := decodeMeta(bad); err == nil {
			t.Errorf("a flipped bit in byte %d (%q) was not seen", i, b[i])
		}
	}
	for cut := range len(b) - 1 {
		if _, err := decodeMeta(b[:cut]); err == nil {
			t.Errorf("cut to %d bytes it was taken", cut)
		}
	}
	m.Format = metaFormat + 1
	if b, err = m.encode(); err != nil {
		t.Fatal(err)
	}
	if _, err := decodeMeta(b); err == nil {
		t.Error("a later format was taken")
	}
}

func TestKeysDiffer(t *testing.T) {
	base := meta{Account: "a", UID: "u", Config: jsapi.StreamConfig{Name: "s"}}
	keys := map[[32]byte]bool{base.key(0): true, base.key(1): true}
	for _, m := range []meta{{Account: "b", UID: "u", Config: base.Config}, {Account: "a", UID: "v", Config: base.Config},
		{Account: "a", UID: "u", Config: jsapi.StreamConfig{Name: "t"}}} {
		keys[m.key(0)] = true
	}
	if len(keys) != 5 {
		t.Errorf("%d keys of 5 partitions", len(keys))
	}
}

func TestTooNew(t *testing.T) {
	for h, want := range map[string]bool{
		"": false, "NATS/1.0\r\n\r\n": false, "NATS/1.0\r\nNats-Required-Api-Level: 5\r\n\r\n": false,
		"NATS/1.0\r\nNats-Required-Api-Level: 6\r\n\r\n": true, "NATS/1.0\r\nA: b\r\nNats-Required-Api-Level:99\r\n\r\n": true,
		"NATS/1.0\r\nNats-Required-Api-Level: x\r\n\r\n": true, "NATS/1.0\r\nNats-Required-Api-Level: \r\n\r\n": true,
		"NATS/1.0\r\nX-Nats-Required-Api-Level: 9\r\n\r\n": false,
	} {
		if got := TooNew([]byte(h)); got != want {
			t.Errorf("%q: %v", h, got)
		}
	}
}
