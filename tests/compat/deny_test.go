package compat

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"godwit/tests/harness"
)

// denyConfig has a user with denied subjects, mappings and imports that lead to some, and one who may do everything.
const denyConfig = `
accounts {
  A {
    users: [
      {user: all, password: p}
      {user: u, password: p, permissions: {
        publish: {deny: ["secret", "secret.>", "*.secret", "ask.hidden"]}
        subscribe: {deny: ["secret", "secret.>", "*.secret", "group.> g.*", "$JS.>"]}
      }}
    ]
    mappings { "swap.*.*": "$2.$1", alias: "secret.x", "cut.*": "{{split(1,-)}}", dice: [{destination: "secret.y", weight: 50}, {destination: open, weight: 50}] }
    imports: [{service: {account: B, subject: "svc.>"}, to: "ask.>"}, {stream: {account: B, subject: "news.>"}, prefix: secret}, {stream: {account: B, subject: "far.*"}, to: "$1.secret"}]
  }
  B {
    users: [{user: b, password: p}]
    exports: [{service: "svc.>"}, {stream: "news.>"}, {stream: "far.*"}]
  }
}
`

// isSecret is the widest reading of the denied subjects: empty tokens count, and text that looks like a wildcard is text.
func isSecret(subject string) bool {
	tokens := strings.Split(subject, ".")
	return subject == "secret" || tokens[0] == "secret" && len(tokens) > 1 || len(tokens) == 2 && tokens[1] == "secret"
}

// messagesIn returns the subjects and sids of messages in what came; their payload is one byte.
func messagesIn(t *testing.T, text string) (list [][2]string) {
	t.Helper()
	for line := range strings.SplitSeq(text, "\r\n") {
		if f := strings.Fields(line); len(f) >= 4 && (f[0] == "MSG" || f[0] == "HMSG") {
			list = append(list, [2]string{f[1], f[2]})
		}
	}
	return list
}

// Whatever form a subject has, and wherever mappings and imports lead it: nothing is published on a denied subject, and
// nothing is delivered from one.
func TestNoSubjectSlipsPastADeny(t *testing.T) {
	if harness.OnPeer() {
		t.Skip("nats-server lets some forms through")
	}
	rounds := harness.Count(t, "GODWIT_DENY_ROUNDS", 200)
	s := harness.Start(t, harness.Options{Streams: true, Config: denyConfig})
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	tokens := []string{"secret", "secret", "a", "*", ">", "", "swap", "cut", "secret-a", "a-secret", "SECRET", "secret*", ">secret", "group", "ask", "hidden",
		"news", "far", "_INBOX", "$JS", "$SYS", "API", "INFO", "alias", "dice", "\xff", "é", "$1", "{{wildcard(1)}}"}
	subject := func() string {
		n := 1 + random.IntN(4)
		list := make([]string, n)
		for i := range list {
			list[i] = tokens[random.IntN(len(tokens))]
		}
		subj := strings.Join(list, ".")
		if subj == "" {
			return "a"
		}
		return subj
	}
	login := func(user, flags string) *harness.Raw {
		r := s.Raw(t)
		r.Connect(fmt.Sprintf("CONNECT {\"user\":%q,\"pass\":\"p\",\"protocol\":1,\"headers\":true,\"no_responders\":true,%s}\r\n", user, flags))
		return r
	}
	all, b := login("all", `"verbose":false`), login("b", `"verbose":false`)
	b.Send("SUB > 1\r\n")
	b.UntilPong(0)
	everything := []string{"open", "a", "a.a", "secret", "secret.a", "secret.a.a", "a.secret", "swap.secret.a", "swap.a.secret", "alias", "dice", "cut.secret-a", "cut.a-secret",
		"group", "group.a", "group.a.a", "$JS.API.INFO", "_INBOX.secret", "_INBOX.a", "ask.hidden", "ask.a"}

	t.Run("publish", func(t *testing.T) {
		all.Send("SUB > 1\r\n")
		all.UntilPong(0)
		u := login("u", `"verbose":false,"pedantic":false`)
		count := 0
		for range rounds {
			var out strings.Builder
			for range 20 {
				subj := subject()
				if random.IntN(3) == 0 {
					subj = everything[random.IntN(len(everything))]
				}
				reply := ""
				if random.IntN(3) == 0 && !strings.HasPrefix(subj, "$JS") { // who answers is not bound by what the asker may do
					reply = " " + strings.ReplaceAll(subject(), " ", "")
				}
				if random.IntN(2) == 0 {
					fmt.Fprintf(&out, "PUB %s%s 1\r\nx\r\n", subj, reply)
				} else {
					fmt.Fprintf(&out, "HPUB %s%s 12 13\r\nNATS/1.0\r\n\r\nx\r\n", subj, reply)
				}
			}
			u.Send(out.String())
			u.UntilPong(0)
			for _, m := range messagesIn(t, all.UntilPong(0)) {
				count++
				if isSecret(m[0]) {
					t.Errorf("published on %q", m[0])
				}
			}
			for _, m := range messagesIn(t, b.UntilPong(0)) {
				if m[0] == "svc.hidden" {
					t.Errorf("requested %q", m[0])
				}
			}
			if t.Failed() {
				t.Fatalf("among\n%q", out.String())
			}
		}
		if count == 0 {
			t.Error("nothing came at all")
		}
		all.Send("UNSUB 1\r\n")
		all.UntilPong(0)
	})

	t.Run("subscribe", func(t *testing.T) {
		queues := []string{"", "", "g.a", "g", "g.a.b", "q", "g.", ".g", "*", "g.*", ">"}
		count := 0
		for range rounds / 2 {
			u := login("u", fmt.Sprintf(`"verbose":false,"pedantic":%v`, random.IntN(2) == 0))
			var out strings.Builder
			var made []string // queue by sid
			for sid := range 20 {
				subj, queue := subject(), queues[random.IntN(len(queues))]
				if random.IntN(3) == 0 {
					subj = []string{">", "*", "*.*", "*.>", "a.*", "*.a", "group.>", "group.*", "secret.*", "secret.a", "*.secret"}[random.IntN(11)]
				}
				made = append(made, queue)
				fmt.Fprintf(&out, "SUB %s %s %d\r\n", subj, queue, sid)
			}
			u.Send(out.String())
			u.UntilPong(0)
			for _, subj := range everything {
				all.Send("PUB " + subj + " 1\r\nx\r\n")
			}
			all.UntilPong(0)
			b.Send("PUB news.a 1\r\nx\r\nPUB far.a 1\r\nx\r\n")
			b.UntilPong(0)
			for _, m := range messagesIn(t, u.UntilPong(0)) {
				var sid int
				fmt.Sscan(m[1], &sid)
				count++
				inGroup := strings.HasPrefix(m[0], "group.") && slices.Contains([]string{"g.a", "g.*", "g."}, made[sid])
				if isSecret(m[0]) || inGroup || strings.HasPrefix(m[0], "$JS.") {
					t.Fatalf("%q was delivered to subscription %d of\n%s", m[0], sid, out.String())
				}
			}
			u.Close()
		}
		if count == 0 {
			t.Error("nothing came at all")
		}
	})
}
