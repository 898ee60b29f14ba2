package compat

import (
	"fmt"
	"testing"

	"godwit/protocol/jsapi"
	"godwit/tests/harness"
)

// What a stream keeps only while somebody needs it is kept for its copies: also while they have no room, and while the
// server is away.
func TestOriginKeepsForCopies(t *testing.T) {
	if harness.OnPeer() {
		t.Skip("its copies wait for much longer than a test can")
	}
	for _, retention := range []string{"interest", "workqueue"} {
		t.Run(retention, func(t *testing.T) {
			s := harness.Start(t, harness.Options{Streams: true})
			a := &rawAPI{t, s.Connect(t)}
			a.made(`{"name":"O","subjects":["o"],"retention":"`+retention+`"}`, `{"name":"S","sources":[{"name":"O"}],"max_msgs":3,"discard":"new"}`)
			a.until("S", "is with its source", func(i *jsapi.StreamInfo) bool { return len(i.Sources) == 1 && i.Sources[0].Active >= 0 })
			for i := range 6 {
				a.publish("o", fmt.Sprint(i+1))
			}
			a.lastIs("S", 3)
			a.until("O", "gives up what was copied", func(i *jsapi.StreamInfo) bool { return i.State.FirstSeq == 4 && i.State.Msgs == 3 })
			s.Kill()
			s.Start()
			a.nc = s.Connect(t)
			a.publish("o", "7")
			a.ask("STREAM.PURGE.S", "", &struct{}{})
			a.lastIs("S", 6)
			a.ask("STREAM.PURGE.S", "", &struct{}{})
			a.lastIs("S", 7)
			if m := a.message("S", 7); string(m.Data) != "7" {
				t.Errorf("message 7 is %q", m.Data)
			}
			a.until("O", "is empty", func(i *jsapi.StreamInfo) bool { return i.State.Msgs == 0 })
			var gone struct{ Success bool }
			a.ask("STREAM.DELETE.S", "", &gone)
			a.publish("o", "8")
			a.until("O", "has nobody left to keep for", func(i *jsapi.StreamInfo) bool {
				return i.State.Consumers == 0 && (retention == "workqueue" || i.State.Msgs == 0)
			})
		})
	}
}
