package jsapi

import (
	"math/rand/v2"
	"testing"

	"godwit/protocol/jsapi"
	"godwit/stream/vfs"
)

// A log without a checkpoint is applied from its beginning, with the configuration of that time: what a limit has removed
// stays so although the limit was raised later, and twice.
func TestRaisedLimitBringsNothingBackAfterCrash(t *testing.T) {
	fs := vfs.NewMem()
	v := start(t, fs, nil)
	c := newClient(t, v.index)
	c.ok("STREAM.CREATE.S", `{"name":"S","subjects":["s.*"],"storage":"file","max_msgs":3,"num_replicas":1}`, nil)
	for range 5 {
		c.pub("s.a", "", "x")
	}
	for _, limit := range []string{"10", "20"} {
		c.ok("STREAM.UPDATE.S", `{"name":"S","subjects":["s.*"],"storage":"file","max_msgs":`+limit+`,"num_replicas":1}`, nil)
	}
	for restart := range 2 {
		cut := fs.CrashClone(rand.New(rand.NewPCG(1, uint64(restart))))
		v.stop()
		fs = cut
		v = start(t, fs, nil)
		c = newClient(t, v.index)
		var info jsapi.StreamInfoResponse
		c.ok("STREAM.INFO.S", "", &info)
		if st := info.State; st.FirstSeq != 3 || st.Msgs != 3 || info.Config.MaxMsgs != 20 {
			t.Fatalf("restart %d: limit %d, %+v", restart+1, info.Config.MaxMsgs, st)
		}
	}
	v.stop()
}
