package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"godwit/tests/load/stats"
)

// Scenario is one kind of measurement.
type Scenario struct {
	Name string
	Help string
	JS   bool // needs JetStream
	// Trial is the number of messages of the trial run that finds the rate;
	// 0 if the scenario does not depend on --msgs.
	Trial uint64
	// Timed names the phase that --secs speaks of, if not the first.
	Timed string
	Run   func(e *Env) ([]stats.Phase, error)
}

// ErrUnsupported is returned by a scenario that the server cannot do.
var ErrUnsupported = errors.New("unsupported by the server")

// All lists the scenarios.
func All() []*Scenario {
	return []*Scenario{
		{Name: "core-pub", Help: "publishers (--conns 1), no subscriber", Trial: 200000, Run: corePub},
		{Name: "core-pubsub", Help: "1 publisher, 1 subscriber (or --conns to --subs)", Trial: 200000, Run: corePubSub},
		{Name: "core-fanout", Help: "1 publisher to --subs 8; a message is one delivery", Trial: 50000, Run: coreFanout},
		{Name: "core-fanin", Help: "--conns 8 publishers to 1 subscriber", Trial: 200000, Run: coreFanin},
		{Name: "core-queue", Help: "--conns 2 publishers to a queue group of --subs 4", Trial: 200000, Run: coreQueue},
		{Name: "core-request", Help: "request/reply: --window in flight, then one by one", Trial: 50000, Run: coreRequest},
		{Name: "core-manysubs", Help: "--subs 100000 distinct and wildcard subscriptions: memory, publish to random ones", Trial: 100000, Timed: "publish", Run: coreManySubs},
		{Name: "core-conns", Help: "--conns 1000 idle connections with a subscription each: memory", Run: coreConns},
		{Name: "core-churn", Help: "core-pubsub while --churn 4 other connections SUB and UNSUB all the time", Trial: 200000, Run: coreChurn},
		{Name: "js-pub-sync", Help: "publish with one message in flight: latency", JS: true, Trial: 3000, Run: jsPubSync},
		{Name: "js-pub-async", Help: "publish with --window acks outstanding", JS: true, Trial: 50000, Run: jsPubAsync},
		{Name: "js-pub-batch", Help: "atomic batch publish, --batch 100 messages each", JS: true, Trial: 50000, Run: jsPubBatch},
		{Name: "js-pub-fast", Help: "fast-ingest batch publish, --window messages ahead of the acks", JS: true, Trial: 50000, Run: jsPubFast},
		{Name: "js-consume-pull", Help: "read a filled stream by pulls of --batch 500, --ack explicit|none", JS: true, Trial: 50000, Run: jsConsumePull},
		{Name: "js-consume-push", Help: "read a filled stream pushed with flow control, --ack explicit|none", JS: true, Trial: 50000, Run: jsConsumePush},
		{Name: "js-e2e", Help: "publish-to-receive latency at a fixed --rate (open loop)", JS: true, Run: jsE2E},
		{Name: "js-mixed", Help: "publish while --subs 3 durable consumers read", JS: true, Trial: 30000, Run: jsMixed},
		{Name: "js-recover", Help: "SIGKILL with --msgs 1000000 stored: time to serve again, messages lost", JS: true, Run: jsRecover},
		{Name: "js-kv", Help: "put and get random ones of --keys 100000", JS: true, Trial: 50000, Run: jsKV},
	}
}

// Find returns the scenarios of these names; each may be a comma list.
func Find(names []string) ([]*Scenario, error) {
	all := All()
	var out []*Scenario
	for _, arg := range names {
		for _, name := range strings.Split(arg, ",") {
			i := slices.IndexFunc(all, func(s *Scenario) bool { return s.Name == name })
			if i < 0 {
				return nil, fmt.Errorf("unknown scenario %q; see the list of scenarios", name)
			}
			out = append(out, all[i])
		}
	}
	if len(out) == 0 {
		return nil, errors.New("name at least one scenario; see the list of scenarios")
	}
	return out, nil
}
