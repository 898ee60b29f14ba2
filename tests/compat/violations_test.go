package compat

import (
	"fmt"
	"regexp"
	"testing"

	"godwit/tests/harness"
)

// What a client may not do is told to it and to the log, at the level of errors.
func TestViolationsAreLogged(t *testing.T) {
	s := harness.Start(t, harness.Options{Config: `
		authorization { users: [{user: u, password: p, permissions: {publish: {deny: "x.>"}, subscribe: {deny: ["y", "q g"]}}}] }
		max_subscriptions: 2
		max_sub_tokens: 3
		max_payload: 10
		max_control_line: 256`})
	const connect = `CONNECT {"verbose":false,"user":"u","pass":"p","name":"app","lang":"go","version":"1.2"}` + "\r\n"
	for _, tt := range []struct{ send, told, logged string }{
		{"PUB x.1 1\r\na\r\n", `Permissions Violation for Publish to "x.1"`, `Publish Violation - Subject "x.1"`},
		{"PUB a _R_.b 1\r\na\r\n", `Permissions Violation for Publish with Reply of "_R_.b"`, `Publish Violation - Reply "_R_.b"`},
		{"SUB y 7\r\n", `Permissions Violation for Subscription to "y"`, `Subscription Violation - Subject "y", SID 7`},
		{"SUB q g 8\r\n", `Permissions Violation for Subscription to "q" using queue "g"`, `Subscription Violation - Subject "q", Queue: "g", SID 8`},
		{"SUB a.b.c.d 9\r\n", `Permissions Violation for Subscription to "a.b.c.d", too many tokens`, `Subscription Violation Too Many Tokens - Subject "a.b.c.d", SID 9`},
		{"SUB a 1\r\nSUB b 2\r\nSUB c 3\r\n", "maximum subscriptions exceeded", "maximum subscriptions exceeded"},
		{"PUB a 11\r\n", "Maximum Payload Violation", "maximum payload"},
		{"HELLO\r\n", "Unknown Protocol Operation", "(?i)(parser error|unknown protocol operation)"},
	} {
		t.Run(tt.told, func(t *testing.T) {
			r := s.Raw(t)
			defer r.Close()
			r.Send(connect + tt.send)
			r.Expect(fmt.Sprintf("-ERR '%s'", tt.told))
			pattern := regexp.QuoteMeta(tt.logged)
			if tt.logged[0] == '(' {
				pattern = tt.logged
			}
			s.WaitLog(`\[ERR\] \S+ - cid:\d+ - "v1\.2:go:app" - "\$G/user:u" - .*` + pattern)
		})
	}
}
