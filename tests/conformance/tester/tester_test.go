package tester

import "testing"

func TestPortsStayReserved(t *testing.T) {
	p := newPortPool(17000, 17199)
	q := newPortPool(17000, 17199)
	taken := map[int]bool{}
	for i := range 100 {
		pool := []*portPool{p, q}[i%2]
		port, err := pool.take()
		if err != nil || taken[port] {
			t.Fatalf("port %d, taken %v, error %v", port, taken[port], err)
		}
		taken[port] = true
	}
	for port := range taken {
		p.release(port)
		q.release(port)
	}
	if port, err := p.take(); err != nil {
		t.Errorf("port %d after all were released: %v", port, err)
	} else {
		p.release(port)
	}
}

func TestListenersStayOnLoopback(t *testing.T) {
	for body, want := range map[string]string{
		"websocket { port: 5 }":                  "websocket {\n  host: \"127.0.0.1\"\n port: 5 }",
		"websocket { port: 5, host: localhost }": "websocket { port: 5, host: localhost }",
		"leafnodes { remotes: [ {url: x} ] }":    "leafnodes { remotes: [ {url: x} ] }",
	} {
		if got := bindLoopback(body, 5); got != want {
			t.Errorf("%q became %q", body, got)
		}
	}
}

func TestCustomizationsAreChecked(t *testing.T) {
	for _, tt := range []struct {
		name           string
		snippets       map[string]string
		template       string
		tls, jetstream bool
		code           string
	}{
		{"nothing", nil, "", false, false, ""},
		{"known", map[string]string{"accounts": "accounts {}", "jetstream": "max_mem: 1"}, "", true, true, ""},
		{"unknown snippet", map[string]string{"speed": "fast"}, "", false, false, "007"},
		{"tls twice", map[string]string{"tls": "tls {}"}, "", true, false, "007"},
		{"template without its tls", nil, "port: 1", true, false, "007"},
		{"jetstream off", map[string]string{"jetstream": "max_mem: 1"}, "", false, false, "011"},
	} {
		code := ""
		if err := checkCustomization(tt.snippets, tt.template, tt.tls, tt.jetstream); err != nil {
			code = err.code
		}
		if code != tt.code {
			t.Errorf("%s: code %q, want %q", tt.name, code, tt.code)
		}
	}
}
