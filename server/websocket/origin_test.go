package websocket

import (
	"net/http"
	"testing"
)

func TestOriginList(t *testing.T) {
	a, err := newOrigins(false, []string{"http://good.com", "HTTPS://Sec.com:8443/path?x=1", "http://[::1]:5"})
	if err != nil {
		t.Fatal(err)
	}
	const unlisted = "not in the allowed list"
	tests := []struct{ origin, want string }{
		{"", ""},
		{"http://good.com", ""},
		{"HTTP://GOOD.com", ""},
		{"http://good.com:80", ""},
		{"http://good.com/page", ""},
		{"http://good.com:81", unlisted},
		{"https://good.com", unlisted},
		{"http://evil.good.com", unlisted},
		{"http://good.com.evil", unlisted},
		{"http://good.com@evil.com", unlisted},
		{"https://sec.com:8443", ""},
		{"https://sec.com", unlisted},
		{"http://[::1]:5", ""},
		{"null", `parse "null": invalid URI for request`},
		{"http://[::1", `parse "http://[::1": missing ']' in host`},
		{"https://sec.com:x", `parse "https://sec.com:x": invalid port ":x" after host`},
	}
	for _, tt := range tests {
		t.Run(tt.origin, func(t *testing.T) {
			for _, header := range []string{"Origin", "Sec-Websocket-Origin"} {
				req := &http.Request{Header: http.Header{header: {tt.origin}}}
				got := ""
				if err := a.check(req, false); err != nil {
					got = err.Error()
				}
				if got != tt.want {
					t.Errorf("%s: got %q, want %q", header, got, tt.want)
				}
			}
		})
	}
}

func TestSameOrigin(t *testing.T) {
	a, err := newOrigins(true, nil)
	if err != nil {
		t.Fatal(err)
	}
	const different = "not same origin"
	tests := []struct {
		host, origin string
		secure       bool
		want         string
	}{
		{"x:1", "", false, ""},
		{"x:1", "http://x:1", false, ""},
		{"x:1", "https://x:1", false, different},
		{"x:1", "https://x:1", true, ""},
		{"x", "http://x", false, ""},
		{"x", "http://x:80", false, ""},
		{"x:80", "http://x", false, ""},
		{"x", "https://x", false, different},
		{"x", "https://x", true, ""},
		{"x:443", "https://x", true, ""},
		{"x", "http://x", true, different},
		{"X", "http://x", false, ""},
		{"x", "http://X", false, ""},
		{"x", "http://y", false, different},
		{"x:1", "http://x:2", false, different},
		{"[::1]:5", "http://[::1]:5", false, ""},
		{"[::1]", "http://[::1]", false, ""},
		{"x:1:2", "http://x:1", false, "address x:1:2: too many colons in address"},
		{"x", "ftp://x", false, different},
		{"x", "//x", false, different},
		{"x", "null", false, `parse "null": invalid URI for request`},
	}
	for _, tt := range tests {
		t.Run(tt.host+" "+tt.origin, func(t *testing.T) {
			req := &http.Request{Host: tt.host, Header: http.Header{"Origin": {tt.origin}}}
			got := ""
			if err := a.check(req, tt.secure); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Fatalf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestSameOriginAndList(t *testing.T) {
	a, err := newOrigins(true, []string{"http://x"})
	if err != nil {
		t.Fatal(err)
	}
	for origin, want := range map[string]error{"http://x": nil, "http://y": errNotSame} {
		req := &http.Request{Host: "x", Header: http.Header{"Origin": {origin}}}
		if err := a.check(req, false); err != want {
			t.Errorf("%s: got %v, want %v", origin, err, want)
		}
	}
	req := &http.Request{Host: "y", Header: http.Header{"Origin": {"http://y"}}}
	if err := a.check(req, false); err != errNotListed {
		t.Errorf("same but not listed: got %v", err)
	}
}

func TestNoRuleNoCheck(t *testing.T) {
	var a origins
	if err := a.check(&http.Request{Header: http.Header{"Origin": {"null"}}}, false); err != nil {
		t.Fatal(err)
	}
}
