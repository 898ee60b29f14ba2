package consumer

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"godwit/protocol/jsapi"
)

// consumerModel is what must hold, whatever happens: each stored message that the consumer wants is acknowledged, out,
// parked, or ahead.
type consumerModel struct {
	acked     map[uint64]bool
	confirmed map[uint64]bool // acknowledged, and the record is durable
	out       map[uint64]bool // delivered and not resolved
	times     map[uint64]int  // deliveries since the last restart
}

// TestConsumerAgainstModel does what clients, time, limits and restarts may do, in any order.
func TestConsumerAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := explicit()
		cfg.AckWait = time.Second
		cfg.MaxAckPending = rapid.SampledFrom([]int{3, 1000}).Draw(t, "maxAckPending")
		cfg.MaxDeliver = rapid.SampledFrom([]int{-1, 3}).Draw(t, "maxDeliver")
		switch rapid.IntRange(0, 3).Draw(t, "filter") {
		case 1:
			cfg.FilterSubject = "s.a"
		case 2:
			cfg.FilterSubjects = []string{"s.a", "s.*.c"}
		case 3:
			cfg.FilterSubject, cfg.DeliverPolicy = "s.>", jsapi.DeliverLastPerSubject
		}
		r := newRig(cfg)
		subjects := []string{"s.a", "s.b", "s.b.c", "s.d"}
		publish := func() {
			for range rapid.IntRange(1, 20).Draw(t, "n") {
				r.publish(rapid.SampledFrom(subjects).Draw(t, "subject"))
			}
		}
		if rapid.Bool().Draw(t, "before") {
			publish()
		}
		r.start()
		m := &consumerModel{acked: map[uint64]bool{}, confirmed: map[uint64]bool{}, out: map[uint64]bool{}, times: map[uint64]int{}}
		skipped := map[uint64]bool{} // stored before the start and not wanted by the start policy
		if seqs, resume, ok := r.c.Lasts(); ok {
			for s := uint64(1); s <= resume; s++ {
				if !slices.Contains(seqs, s) {
					skipped[s] = true
				}
			}
		}
		var records [][]byte
		latest := map[uint64]sent{} // last delivery of each message that is out
		take := func(list []sent) {
			for _, d := range list {
				if d.seq == 0 {
					continue
				}
				if m.acked[d.seq] {
					t.Fatalf("%d delivered though acknowledged", d.seq)
				}
				if !r.store.has(d.seq) || !r.wanted(d.seq) {
					t.Fatalf("%d delivered: stored %v, wanted %v", d.seq, r.store.has(d.seq), r.wanted(d.seq))
				}
				m.times[d.seq]++
				m.out[d.seq] = true
				latest[d.seq] = d
			}
		}
		pick := func() (sent, bool) {
			var all []uint64
			for s := range latest {
				all = append(all, s)
			}
			if len(all) == 0 {
				return sent{}, false
			}
			slices.Sort(all)
			return latest[rapid.SampledFrom(all).Draw(t, "which")], true
		}
		log := func() {
			records = append(records, r.c.AppendProgress(nil))
			for s := range m.acked {
				m.confirmed[s] = true
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"publish": func(*rapid.T) { publish() },
			"pull": func(t *rapid.T) {
				take(r.pull(fmt.Sprintf(`{"batch":%d,"no_wait":true}`, rapid.IntRange(1, 10).Draw(t, "batch"))))
			},
			"ack": func(*rapid.T) {
				if d, ok := pick(); ok {
					r.answer(d, "+ACK", "")
					m.acked[d.seq] = true
					delete(m.out, d.seq)
					delete(latest, d.seq)
				}
			},
			"term": func(*rapid.T) {
				if d, ok := pick(); ok {
					r.answer(d, "+TERM", "")
					m.acked[d.seq] = true
					delete(m.out, d.seq)
					delete(latest, d.seq)
				}
			},
			"nak": func(*rapid.T) {
				if d, ok := pick(); ok {
					r.answer(d, rapid.SampledFrom([]string{"-NAK", "-NAK 2s"}).Draw(t, "nak"), "")
				}
			},
			"wpi": func(*rapid.T) {
				if d, ok := pick(); ok {
					r.answer(d, "+WPI", "")
				}
			},
			"time": func(t *rapid.T) {
				take(r.pass(time.Duration(rapid.IntRange(1, 1500).Draw(t, "ms")) * time.Millisecond))
			},
			"remove": func(t *rapid.T) {
				if r.store.High() > 0 {
					seq := rapid.Uint64Range(r.store.first, r.store.High()+1).Draw(t, "seq")
					r.remove(seq)
					delete(latest, seq)
				}
			},
			"removeFirst": func(t *rapid.T) {
				for range rapid.IntRange(1, 5).Draw(t, "n") {
					delete(latest, r.store.first)
					r.remove(r.store.first)
				}
			},
			"log": func(*rapid.T) { log() },
			"checkpoint": func(*rapid.T) {
				log()
				records = [][]byte{r.c.AppendState(nil)}
			},
			"reset": func(t *rapid.T) {
				if cfg.DeliverPolicy != jsapi.DeliverAll {
					return
				}
				at, err := r.c.ResetTo(rapid.Uint64Range(0, r.store.High()+1).Draw(t, "to"), 0)
				if err != nil {
					t.Fatal(err)
				}
				r.c.Reset(at, nil)
				r.recount()
				clear(m.out)
				clear(m.times)
				clear(latest)
				for s := uint64(1); s <= r.store.High(); s++ {
					if s >= at {
						delete(m.acked, s)
						delete(m.confirmed, s)
					}
					skipped[s] = s < at
				}
				log()
			},
			"restart": func(*rapid.T) {
				if len(records) == 0 {
					log()
				}
				r.restart(records)
				// What was in no record is forgotten: acknowledgements that nobody confirmed.
				clear(m.times)
				clear(m.out)
				for s := range latest {
					if _, ok := r.c.pend.get(s, 0); ok {
						m.out[s] = true
					} else {
						delete(latest, s)
					}
				}
				for s := range m.acked {
					if !m.confirmed[s] {
						delete(m.acked, s)
						if _, ok := r.c.pend.get(s, 0); ok {
							m.out[s] = true
						}
					}
				}
			},
			"": func(t *rapid.T) { checkConsumer(t, r, m, skipped) },
		})
	})
}

func checkConsumer(t *rapid.T, r *rig, m *consumerModel, skipped map[uint64]bool) {
	info := r.c.Info(r.now)
	if want := r.ahead(); info.NumPending != want {
		t.Fatalf("%d pending, want %d", info.NumPending, want)
	}
	lasts, resume, _ := r.c.Lasts()
	parked, out := 0, 0
	for seq := r.store.first; seq <= r.store.High(); seq++ {
		if !r.store.has(seq) || !r.wanted(seq) || m.acked[seq] {
			continue
		}
		e, pending := r.c.pend.get(seq, 0)
		switch {
		case pending && e.State == Parked:
			parked++
		case pending:
			out++
		case seq >= r.c.Next() && len(lasts) == 0, seq > resume && len(lasts) > 0, slices.Contains(lasts, seq):
		case skipped[seq], len(lasts) > 0, r.c.lasts.on && seq <= resume:
			// not wanted by the start policy, or superseded before a restart
		default:
			t.Fatalf("%d is neither acknowledged nor out nor ahead: next %d, info %+v", seq, r.c.Next(), info)
		}
		if r.c.cfg.MaxDeliver > 0 && m.times[seq] > r.c.cfg.MaxDeliver {
			t.Fatalf("%d delivered %d times", seq, m.times[seq])
		}
	}
	if info.NumAckPending != out {
		t.Fatalf("%d ack pending, want %d", info.NumAckPending, out)
	}
	if limit := r.c.cfg.MaxAckPending; info.NumAckPending > limit {
		t.Fatalf("%d ack pending, limit %d", info.NumAckPending, limit)
	}
	if lowest, _, ok := r.c.pend.lowest(); ok && info.AckFloor.Stream >= lowest {
		t.Fatalf("ack floor %d is above %d", info.AckFloor.Stream, lowest)
	}
	r.c.Audit(1<<20, func(text string) { t.Fatalf("%s: %+v", text, info) })
	if info.AckFloor.Stream > info.Delivered.Stream || info.AckFloor.Consumer > info.Delivered.Consumer {
		t.Fatalf("ack floor %+v beyond delivered %+v", info.AckFloor, info.Delivered)
	}
}
