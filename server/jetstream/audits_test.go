package jetstream

import (
	"fmt"
	"strings"
	"testing"

	"godwit/stream/consumer"
)

// Violations are counted, all of them, and do not flood the log.
func TestViolationsAreCountedAndLogged(t *testing.T) {
	var lines []string
	s, err := New(Options{Version: "1", Warnf: func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	h := &hooks{s: &Stream{name: "S", account: &Account{name: "A", service: s}}}
	h.Violated(nil, "first")
	for range 2*violationsEvery + 10 {
		h.Violated(&consumer.Consumer{Options: consumer.Options{Name: "C"}}, "again")
	}
	h.Audited(5)
	if got := s.Info(); got.Violations != 2*violationsEvery+11 || got.Audited != 5 {
		t.Fatalf("%+v", got)
	}
	if len(lines) != violationsShown+2 {
		t.Fatalf("%d lines", len(lines))
	}
	if want := `account "A" stream "S" consumer "C": invariant violated (2000 in all): again`; !strings.Contains(lines[len(lines)-1], want) {
		t.Fatalf("last line is %q", lines[len(lines)-1])
	}
}
