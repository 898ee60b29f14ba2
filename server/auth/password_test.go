package auth

import "testing"

func TestIsBcrypt(t *testing.T) {
	tests := map[string]bool{
		"$2a$11$abc": true, "$2b$04$": true, "$2x$10$x": true, "$2y$10$x": true,
		"$2c$10$x": false, "$2a$1$x": false, "$2a$100$x": false, "$2a$10": false, "2a$10$x": false, "": false, "x$2a$10$x": false,
		"$2$10$xyz": false, "$2aa10$x": false, "$2a$1x$x": false,
	}
	for in, want := range tests {
		if got := IsBcrypt(in); got != want {
			t.Errorf("IsBcrypt(%q) = %v", in, got)
		}
	}
}

func TestMalformedHashMatchesNothing(t *testing.T) {
	for _, configured := range []string{"$2a$10$short", "$2a$99$", "$2y$04$R/f8ZqVVxtxtWDPAwLwgzOSlqdC"} {
		for _, presented := range []string{"", configured, "x"} {
			if passwordMatches(configured, presented) {
				t.Errorf("%q matches %q", presented, configured)
			}
		}
	}
}

func FuzzPassword(f *testing.F) {
	f.Add("secret", "secret")
	f.Add("", "x")
	f.Add("$2a$04$x", "$2a$04$x")
	f.Fuzz(func(t *testing.T, configured, presented string) {
		if IsBcrypt(configured) {
			if len(configured) < 59 && passwordMatches(configured, presented) {
				t.Fatalf("%q matches the malformed %q", presented, configured)
			}
			return
		}
		if got := passwordMatches(configured, presented); got != (configured == presented) {
			t.Fatalf("passwordMatches(%q, %q) = %v", configured, presented, got)
		}
	})
}

func FuzzSignature(f *testing.F) {
	k := newKey(f, 20<<3)
	f.Add("nonce", "")
	f.Add("nonce", "AAAA")
	f.Add("nonce", "AA==")
	f.Fuzz(func(t *testing.T, nonce, sig string) {
		if verifySignature(k.public, nonce, sig) == "" {
			t.Fatalf("%q passes as a signature of %q", sig, nonce)
		}
	})
}
