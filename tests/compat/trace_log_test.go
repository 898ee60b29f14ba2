package compat

import (
	"strings"
	"testing"

	"godwit/tests/harness"
)

// The protocol trace shows messages in both directions, as far as the configuration wants it to, and no secrets.
func TestProtocolTrace(t *testing.T) {
	const send = "CONNECT {\"verbose\":false,\"user\":\"u\",\"pass\":\"hush\",\"headers\":true}\r\nSUB x 1\r\nPUB x 6\r\nsecret\r\nHPUB x 18 21\r\nNATS/1.0\r\nA: b\r\n\r\nend\r\n"
	for _, tt := range []struct {
		config    string
		has, lack []string
	}{
		{"trace: true", []string{`<<- [PUB x 6]`, `<<- MSG_PAYLOAD: ["secret"]`, `->> [MSG x 1 6]`, `->> MSG_PAYLOAD: ["secret"]`, `A: b\r\n\r\nend"]`}, []string{"hush"}},
		{"trace: true, max_traced_msg_len: 3", []string{`<<- MSG_PAYLOAD: ["sec..."]`, `->> MSG_PAYLOAD: ["sec..."]`}, []string{"secret", "hush"}},
		{"trace_headers: true", []string{`<<- [PUB x 6]`, `<<- MSG_PAYLOAD: ["NATS/1.0\r\nA: b"]`, `->> MSG_PAYLOAD: ["NATS/1.0\r\nA: b"]`}, []string{"secret", "end", "hush", `[""]`}},
		{"debug: true", nil, []string{"[TRC]", "secret"}},
	} {
		t.Run(tt.config, func(t *testing.T) {
			s := harness.Start(t, harness.Options{Config: "authorization {users: [{user: u, password: hush}]}\n" + tt.config})
			r := s.Raw(t)
			r.Send(send)
			r.UntilPong(0)
			if tt.has != nil {
				s.WaitLog(`->> \[PONG\]`)
			}
			log := s.Log()
			for _, want := range tt.has {
				if !strings.Contains(log, want) {
					t.Errorf("no %s in\n%s", want, log)
				}
			}
			for _, not := range tt.lack {
				if strings.Contains(log, not) {
					t.Errorf("%s in\n%s", not, log)
				}
			}
		})
	}
}
