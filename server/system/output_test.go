package system

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"godwit/server/router"
)

// writer is a connection that keeps what is written to it.
type writer struct {
	router.Dest
	router.Sink
	mu   sync.Mutex
	text string
}

func (w *writer) Take(h router.Handover) router.Done {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text += string(h.Block.B[:h.N])
	return router.Done{}
}

// Frames of the server itself have two blanks before the size, as those of nats-server, answers of imported services
// one.
func TestWireForm(t *testing.T) {
	for _, tt := range []struct{ account, subject, header, want string }{
		{"SYS", "$SYS.REQ.SERVER.PING.IDZ", "", "MSG _INBOX.1 9  47\r\n{\"name\":\"S1\",\"host\":\"0.0.0.0\",\"id\":\"NSERVERID\"}\r\n"},
		{"SYS", "$SYS.REQ.SERVER.PING.HEALTHZ", "Accept-Encoding: x", "HMSG _INBOX.1 9  40 "},
		{"SYS", "$SYS.REQ.USER.INFO", "", "MSG _INBOX.1 9 "},
		{"A", "$SYS.REQ.SERVER.PING.CONNZ", "", "MSG _INBOX.1 9 "},
		{"A", "$SYS.REQ.SERVER.PING.CONNZ", "Accept-Encoding: x", "HMSG _INBOX.1 9 40 "},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := started(t)
			c := &writer{}
			c.Init(c)
			c.Headers.Store(true)
			x := w.account(tt.account).Index()
			x.Insert(router.NewSub(&c.Dest, []byte("_INBOX.1"), nil, []byte("9")), "_INBOX.1")
			me := &caller{}
			w.users[me] = UserInfo{User: "u"}
			w.publish(me, tt.account, tt.subject, "_INBOX.1", tt.header, "")
			synctest.Wait()
			c.mu.Lock()
			defer c.mu.Unlock()
			if !strings.HasPrefix(c.text, tt.want) || strings.HasPrefix(c.text, tt.want+" ") {
				t.Errorf("%s in %s: got %.80q, want %q", tt.subject, tt.account, c.text, tt.want)
			}
			if !strings.HasSuffix(c.text, "}\r\n") {
				t.Errorf("ends in %q", c.text[max(0, len(c.text)-10):])
			}
		})
	}
}
