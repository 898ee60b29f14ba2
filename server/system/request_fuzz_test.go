package system

import (
	"testing"

	"godwit/server/monitor"
)

// FuzzRequests: whatever is asked, the answer is JSON and nothing fails.
func FuzzRequests(f *testing.F) {
	for i := range uint8(30) {
		f.Add(i, []byte(`{"name":"x","cid":1,"acc":"A","subject":"foo.>","limit":-1,"offset":99999999999}`))
		f.Add(i, []byte(`[1,{"a":null}]`))
	}
	w := newWorld(f)
	w.conns = []monitor.Conn{{CID: 7, Account: "A"}}
	system, handlers := w.account("SYS"), allHandlers()
	f.Fuzz(func(t *testing.T, which uint8, body []byte) {
		r := &request{receiver: &receiver{in: system, named: which&1 == 0}, account: "A", body: body, from: &caller{}}
		v := handlers[int(which)%len(handlers)](w.s, r)
		w.log = w.log[:0]
		if v == nil {
			for len(w.s.profiles) > 0 {
				<-w.s.profiles
			}
			return
		}
		b, err := encode(v)
		if err != nil || len(b) == 0 {
			t.Errorf("%q: %q, %v", body, b, err)
		}
	})
}

// allHandlers lists the handlers in a fixed order.
func allHandlers() (list []handler) {
	for _, m := range []map[string]handler{serverRequests(), controlRequests(), accountRequests()} {
		for _, name := range []string{"STATSZ", "IDZ", "PROFILEZ", "VARZ", "CONNZ", "ROUTEZ", "GATEWAYZ", "LEAFZ", "SUBSZ", "ACCOUNTZ", "JSZ", "HEALTHZ",
			"IPQUEUESZ", "RAFTZ", "RELOAD", "KICK", "LDM", "STATZ", "CONNS", "INFO"} {
			if h := m[name]; h != nil {
				list = append(list, h)
			}
		}
	}
	return append(list, (*Service).subscribers, (*Service).countSubscribers, (*Service).userInfo)
}
