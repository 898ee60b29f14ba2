package ws

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAppendClose(t *testing.T) {
	tests := []struct {
		name, text, want string
	}{
		{"no text", "", "\x03\xe9"},
		{"text", "Server Shutdown", "\x03\xe9Server Shutdown"},
		{"longest", strings.Repeat("a", 123), "\x03\xe9" + strings.Repeat("a", 123)},
		{"too long", strings.Repeat("a", 124), "\x03\xe9" + strings.Repeat("a", 120) + "..."},
		{"cut inside a letter", strings.Repeat("a", 119) + "éééé", "\x03\xe9" + strings.Repeat("a", 119) + "..."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := string(AppendClose(nil, CloseGoingAway, tt.text))
			if got != tt.want || len(got) > MaxControl || !utf8.ValidString(got[2:]) {
				t.Fatalf("got %q, want %q", got, tt.want)
			}
			if err := checkClose([]byte(got)); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestErrorsNameTheirKind(t *testing.T) {
	if v := IsViolation(fmt.Errorf("reading: %w", ErrTooLarge)); v == nil || v.Code != CloseTooBig {
		t.Fatalf("got %v", v)
	}
	if v := IsViolation(errTest); v != nil {
		t.Fatalf("got %v", v)
	}
	if got := ErrTooLarge.Error(); got != "websocket: compressed message is too large" {
		t.Fatal(got)
	}
}
