package crash

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"godwit/tests/harness"
)

// copies are a mirror of one worker's stream and a stream that has another's as its source.
type copies struct {
	mirrored, gathered *worker
	last               map[string]uint64 // last sequences seen
}

// place tells the sequence that a message of a copy has in its origin; seq is its own.
type place func(m jetstream.Msg, seq uint64) (uint64, error)

func newCopies(t *testing.T, js jetstream.JetStream, workers []*worker) *copies {
	t.Helper()
	of := func(name string) *worker {
		return workers[slices.IndexFunc(workers, func(w *worker) bool { return w.cfg.Name == name })]
	}
	c := &copies{mirrored: of("FEW"), gathered: of("NEWEST"), last: map[string]uint64{}}
	for _, cfg := range []jetstream.StreamConfig{
		{Name: "MIRROR", Mirror: &jetstream.StreamSource{Name: c.mirrored.cfg.Name}},
		{Name: "GATHER", Sources: []*jetstream.StreamSource{{Name: c.gathered.cfg.Name}}},
	} {
		if _, err := js.CreateStream(t.Context(), cfg); err != nil {
			t.Fatalf("%s: %v", cfg.Name, err)
		}
	}
	return c
}

// verify waits until the copies have all that their origins have, and looks at each of their messages.
func (c *copies) verify(t *testing.T, s *harness.Server) {
	t.Helper()
	if t.Failed() {
		return
	}
	js := streams(t, s)
	c.compare(t, js, "MIRROR", c.mirrored, func(_ jetstream.Msg, seq uint64) (uint64, error) { return seq, nil })
	c.compare(t, js, "GATHER", c.gathered, func(m jetstream.Msg, _ uint64) (uint64, error) {
		from := strings.Fields(m.Headers().Get("Nats-Stream-Source"))
		if len(from) < 2 {
			return 0, fmt.Errorf("header %v", m.Headers())
		}
		return strconv.ParseUint(from[1], 10, 64)
	})
}

// compare holds a copy to its origin.
func (c *copies) compare(t *testing.T, js jetstream.JetStream, name string, origin *worker, at place) {
	t.Helper()
	harness.Eventually(t, func() error {
		have, last, err := c.read(t, js, name, origin, at)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, m := range origin.state.msgs {
			if !have[m.seq] {
				return fmt.Errorf("%s, which ends at %d, does not have sequence %d of %s", name, last, m.seq, origin.cfg.Name)
			}
		}
		return nil
	})
}

// read reads a copy and returns the sequences of its origin that it has, and its own last one.
func (c *copies) read(t *testing.T, js jetstream.JetStream, name string, origin *worker, at place) (have map[uint64]bool, last uint64, err error) {
	reader, err := js.CreateConsumer(t.Context(), name, jetstream.ConsumerConfig{AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true})
	if err != nil {
		return nil, 0, err
	}
	defer js.DeleteConsumer(t.Context(), name, reader.CachedInfo().Name)
	have = map[uint64]bool{}
	n := int(reader.CachedInfo().NumPending)
	if n == 0 {
		return have, 0, nil
	}
	batch, err := reader.FetchNoWait(n)
	if err != nil {
		return nil, 0, err
	}
	highest := uint64(0)
	for m := range batch.Messages() {
		meta, err := m.Metadata()
		if err != nil {
			return nil, 0, err
		}
		last = meta.Sequence.Stream
		seq, err := at(m, last)
		if err != nil {
			return nil, 0, err
		}
		want, ok := origin.state.history[seq]
		if !ok || want.subject != m.Subject() || want.body != string(m.Data()) {
			return nil, 0, fmt.Errorf("sequence %d, of %d there, is %s %.60q, want %+v", last, seq, m.Subject(), m.Data(), want)
		}
		if seq <= highest {
			return nil, 0, fmt.Errorf("sequence %d is of %d there, after one of %d", last, seq, highest)
		}
		highest = seq
		have[seq] = true
	}
	if err := batch.Error(); err != nil {
		return nil, 0, err
	}
	if last < c.last[name] {
		return nil, 0, fmt.Errorf("it ends at %d, and has ended at %d before", last, c.last[name])
	}
	c.last[name] = last
	return have, last, nil
}
