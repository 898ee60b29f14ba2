package stream

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"godwit/protocol/jsapi"
	"godwit/stream/segment"
	"godwit/stream/vfs"
)

// keyed is what a stream with one message per subject should hold: sequence and text of each.
type keyed map[string]string

func (k keyed) list() (out []string) {
	for _, v := range k {
		out = append(out, v)
	}
	slices.Sort(out)
	return out
}

// powerCut is what a power cut would have left, when so many operations were answered.
type powerCut struct {
	fs   *vfs.Mem
	done int
}

// TestShrinkingAgainstModel does random operations on a stream whose segments are given up, rewritten and erased in all the time,
// and cuts the power at random moments: what is there is what was answered, or that and what was under way.
func TestShrinkingAgainstModel(t *testing.T) {
	start, end := rand.Uint64(), time.Now().Add(2*time.Second)
	cuts := 0
	for seed := start; seed < start+5 || time.Now().Before(end); seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { cuts += shrinkAgainstModel(t, seed) })
		if t.Failed() {
			return
		}
	}
	t.Logf("%d power cuts", cuts)
}

func shrinkAgainstModel(t *testing.T, seed uint64) int {
	rng := rand.New(rand.NewPCG(seed, 1))
	now := &clock{now: 1e18}
	mem := vfs.NewMem()
	var done atomic.Int32
	var on atomic.Bool
	var mu sync.Mutex
	var cuts []powerCut
	chance := rand.New(rand.NewPCG(seed, 2))
	fsys := vfs.Inject(mem, func(op vfs.Op) *vfs.Fault {
		if !on.Load() || op.Kind == vfs.OpRead || op.Kind == vfs.OpStat || op.Kind == vfs.OpReadDir {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		if chance.IntN(60) == 0 {
			cuts = append(cuts, powerCut{mem.CrashClone(chance), int(done.Load())})
		}
		return nil
	})
	cfg := jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}, MaxMsgsPerSubject: 1}
	if rng.IntN(2) == 0 {
		cfg.Compression = jsapi.S2Compression
	}
	size := int64(4<<10 + rng.IntN(12<<10))
	small := func(o *Options) { o.SegmentBytes, o.TailBytes, o.Pace = size, 4<<10, segment.NewPace(1<<40) }
	b := openBench(t, mem, cfg, now, func(o *Options) { small(o); o.FS = fsys })
	on.Store(true)
	model := keyed{}
	states := [][]string{nil}
	erased := map[int]uint64{} // by operation
	last := uint64(0)
	for len(states) < 120 {
		op := len(states)
		switch k := rng.IntN(20); {
		case k < 14:
			key := fmt.Sprint("s.", min(rng.IntN(12), rng.IntN(12)))
			value := confidential(op) + strings.Repeat("-", rng.IntN(400))
			last = b.accept(testMsg{subject: key, value: value})
			model[key] = fmt.Sprintf("%05d %s %s", last, key, value)
		case k < 17 && len(model) > 1:
			keys := model.list()
			victim := keys[rng.IntN(len(keys))]
			var seq uint64
			var key string
			fmt.Sscanf(victim, "%d %s", &seq, &key)
			if k == 14 {
				if err := b.p.Delete(seq); err != nil {
					t.Fatal(err)
				}
			} else if err := b.p.Erase(seq); err != nil {
				t.Fatal(err)
			} else {
				erased[op] = seq
			}
			delete(model, key)
		case k == 17:
			key := fmt.Sprint("s.", rng.IntN(12))
			if _, err := b.p.Purge(&jsapi.PurgeRequest{Subject: key}); err != nil {
				t.Fatal(err)
			}
			delete(model, key)
		default:
			b.checkpoint()
			if k == 19 {
				b.rewritten()
			}
			continue
		}
		states = append(states, model.list())
		done.Add(1)
	}
	b.close()
	for i, c := range cuts {
		checked, err := Check(Options{Dir: "/s/0", FS: c.fs, Key: [32]byte{1}, SegmentBytes: size, Config: b.cfg}, func(int64) {})
		if err != nil || len(checked.Faults) > 0 {
			t.Fatalf("cut %d: check: %+v %v", i, checked, err)
		}
		r := openBench(t, c.fs, b.cfg, now, small)
		r.erasedAll()
		var got []string
		for _, seq := range r.stored() {
			m, ok := r.get(jsapi.MsgGetRequest{Seq: seq})
			if !ok {
				t.Fatalf("cut %d: no message %d", i, seq)
			}
			got = append(got, fmt.Sprintf("%05d %s %s", seq, m.Subject, m.Data))
		}
		if !slices.Equal(got, states[c.done]) && (c.done+1 == len(states) || !slices.Equal(got, states[c.done+1])) {
			t.Fatalf("cut %d after %d operations: got\n%s\nwant\n%s", i, c.done, strings.Join(got, "\n"), strings.Join(states[c.done], "\n"))
		}
		for op, seq := range erased {
			if op > c.done {
				continue
			}
			for _, state := range states[:op] { // some of them hold its text
				for _, m := range state {
					if strings.HasPrefix(m, fmt.Sprintf("%05d ", seq)) {
						if name := r.holds(c.fs, strings.SplitN(m, " ", 3)[2][:50]); name != "" {
							t.Fatalf("cut %d: message %d is still in %s", i, seq, name)
						}
					}
				}
			}
		}
		r.close()
	}
	return len(cuts)
}
