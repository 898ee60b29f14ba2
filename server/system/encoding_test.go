package system

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
)

// decoded undoes an encoding.
func decoded(t *testing.T, e encoding, body string) string {
	t.Helper()
	var r io.Reader = strings.NewReader(body)
	switch e {
	case encodingSnappy:
		r = s2.NewReader(r)
	case encodingGzip:
		z, err := gzip.NewReader(r)
		if err != nil {
			t.Fatal(err)
		}
		r = z
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestAcceptEncoding(t *testing.T) {
	const identity = "NATS/1.0\r\nContent-Encoding: identity\r\n\r\n"
	tests := []struct {
		ask    string
		e      encoding
		header string
	}{
		{"", encodingNone, ""},
		{"Foo: bar", encodingNone, ""},
		{"accept-encoding: gzip", encodingNone, ""},
		{"Accept-Encoding: ", encodingNone, ""},
		{"Accept-Encoding: gzip", encodingGzip, "NATS/1.0\r\nContent-Encoding: gzip\r\n\r\n"},
		{"Accept-Encoding:gzip", encodingGzip, "NATS/1.0\r\nContent-Encoding: gzip\r\n\r\n"},
		{"X: y\r\nAccept-Encoding: GZIP", encodingGzip, "NATS/1.0\r\nContent-Encoding: gzip\r\n\r\n"},
		{"Accept-Encoding: s2", encodingSnappy, "NATS/1.0\r\nContent-Encoding: snappy\r\n\r\n"},
		{"Accept-Encoding: gzip, snappy", encodingSnappy, "NATS/1.0\r\nContent-Encoding: snappy\r\n\r\n"},
		{"Accept-Encoding: deflate", encodingIdentity, identity},
	}
	synctest.Test(t, func(t *testing.T) {
		w := started(t)
		for _, tt := range tests {
			got := w.ask(nil, "SYS", "$SYS.REQ.SERVER.PING.HEALTHZ", tt.ask, "")
			if len(got) != 1 {
				t.Fatalf("%q: %d answers", tt.ask, len(got))
			}
			if got[0].header != tt.header {
				t.Errorf("%q: header %q, want %q", tt.ask, got[0].header, tt.header)
			}
			if body := shape(decoded(t, tt.e, got[0].body)); body != healthy {
				t.Errorf("%q: got %s", tt.ask, body)
			}
			if tt.e == encodingSnappy && !strings.HasPrefix(got[0].body, "\xff\x06\x00\x00sNaPpY") {
				t.Errorf("%q: not the framed format of snappy", tt.ask)
			}
		}
	})
}

func TestWhatIsNeverCompressed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := started(t)
		c := &caller{}
		w.users[c] = UserInfo{User: "u"}
		for subject, body := range map[string]string{
			"$SYS.REQ.SERVER.PING":                    "",
			"$SYS.REQ.SERVER.PING.IDZ":                "",
			"$SYS.REQ.SERVER.PING.CONNZ":              "{bad",
			"$SYS.REQ.SERVER.PING.ACCOUNTZ":           `{"account":"nope"}`,
			"$SYS.REQ.SERVER." + serverID + ".RELOAD": "",
			"$SYS.REQ.ACCOUNT.A.CONNS":                "",
			"$SYS.REQ.ACCOUNT.NSUBS":                  `{"acc":"A","subject":"x"}`,
			"$SYS.REQ.USER.INFO":                      "",
			"$SYS.DEBUG.SUBSCRIBERS":                  "a",
		} {
			got := w.ask(c, "SYS", subject, "Accept-Encoding: gzip", body)
			if len(got) != 1 || got[0].header != "" || !strings.HasPrefix(got[0].body, "{") && got[0].body != "0" {
				t.Errorf("%s: %v", subject, got)
			}
		}
	})
}

func FuzzAccepted(f *testing.F) {
	for _, h := range []string{"", "NATS/1.0\r\nAccept-Encoding: gzip\r\n\r\n", "\r\nAccept-Encoding:", "NATS/1.0\r\nAccept-Encoding: \r\n"} {
		f.Add([]byte(h), []byte("{}"))
	}
	f.Fuzz(func(t *testing.T, header, body []byte) {
		e := accepted(header)
		h, b, err := e.apply(body)
		if err != nil {
			t.Fatal(err)
		}
		if (len(h) == 0) != (e == encodingNone) {
			t.Errorf("encoding %d with header %q", e, h)
		}
		if got := decoded(t, e, string(b)); !bytes.Equal([]byte(got), body) {
			t.Errorf("encoding %d: %q became %q", e, body, got)
		}
	})
}
