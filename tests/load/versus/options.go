package versus

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"godwit/tests/load/fleet"
	"godwit/tests/load/scenario"
	"godwit/tests/load/wire"
)

// Options are the settings of a comparison.
type Options struct {
	scenario.Settings

	A, B   string // binaries; without B only A is measured
	Rounds int
	Sizes  []int // payload bytes; each is measured

	Sync  string // sync policy of both sides
	SyncA string // overrides Sync for A
	SyncB string // overrides Sync for B

	ExtraA, ExtraB string // more configuration text
	TLS            bool   // clients connect with TLS
	AccountsA      int    // accounts of A, with ten users each
	AccountsB      int    // of B
	Dir            string // where the scratch directory is made
	JSON           string // file for all results; empty for none
	Markdown       bool   // the form of the table
	Keep           bool   // keep the data directories
}

// Flags defines the flags of the run command; sizes is handed to Finish afterwards.
func Flags(o *Options, sizes *string) *flag.FlagSet {
	f := flag.NewFlagSet("run", flag.ExitOnError)
	f.StringVar(&o.A, "a", "", "server binary A (required)")
	f.StringVar(&o.B, "b", "", "server binary B; without it only A is measured")
	f.IntVar(&o.Rounds, "rounds", 3, "rounds; each runs A, then B")
	f.StringVar(sizes, "size", "128", "payload bytes, at least 16; a comma list measures each")
	f.Uint64Var(&o.Msgs, "msgs", 0, "messages per run; 0: as many as fill --secs, found by a trial run on A")
	f.Float64Var(&o.Secs, "secs", 5, "wanted length of the measured phase when --msgs is 0")
	f.DurationVar(&o.Limit, "limit", 3*time.Minute, "longest time for one run, set-up included")
	f.IntVar(&o.Conns, "conns", 0, "publishers (or pulling clients, or idle connections); 0: the scenario's default")
	f.IntVar(&o.Subs, "subs", 0, "subscribers, queue members, consumers or subscriptions; 0: the scenario's default")
	f.IntVar(&o.Window, "window", 1000, "unanswered requests per connection (JetStream publish, request/reply, KV)")
	f.IntVar(&o.Batch, "batch", 0, "messages per pull request (default 500) or per atomic batch (default 100)")
	f.StringVar(&o.Storage, "storage", "file", "JetStream storage: file or memory")
	f.IntVar(&o.Replicas, "replicas", 1, "stream replicas; 3 implies --nodes 3")
	f.IntVar(&o.Nodes, "nodes", 1, "servers: 1, or 3 in a cluster")
	f.StringVar(&o.Ack, "ack", "explicit", "consumer acks: explicit or none")
	f.IntVar(&o.Rate, "rate", 5000, "messages per second of js-e2e")
	f.IntVar(&o.Keys, "keys", 100000, "keys of js-kv")
	f.IntVar(&o.Subjects, "subjects", 1, "distinct subjects that JetStream publishers rotate over")
	f.IntVar(&o.Churn, "churn", 4, "connections of core-churn that subscribe and unsubscribe all the time")
	f.StringVar(&o.Sync, "sync", "default", "default: the server's own policy; always; lazy (sync_interval: 2m); or a duration")
	f.StringVar(&o.SyncA, "sync-a", "", "--sync for A alone, to compare unlike policies knowingly")
	f.StringVar(&o.SyncB, "sync-b", "", "--sync for B alone")
	f.StringVar(&o.Via, "via", "leader", "with 3 nodes, where JetStream clients connect: leader, follower or spread")
	f.Int64Var(&o.Flight, "flight", 8<<20, "core NATS: payload bytes a publisher may be ahead of its subscribers")
	f.IntVar(&o.Pending, "max-ack-pending", 0, "max_ack_pending of consumers; 0: the server's default")
	f.Int64Var(&o.MaxBytes, "max-bytes", 4<<30, "upper bound of payload bytes when --msgs is 0")
	f.StringVar(&o.ExtraA, "extra-a", "", "more configuration text for A")
	f.StringVar(&o.ExtraB, "extra-b", "", "more configuration text for B")
	f.BoolVar(&o.TLS, "tls", false, "clients connect with TLS")
	f.IntVar(&o.AccountsA, "accounts-a", 0, "accounts of A, with ten users each; clients log in to one of them")
	f.IntVar(&o.AccountsB, "accounts-b", 0, "the same for B")
	f.StringVar(&o.Dir, "dir", os.TempDir(), "where the fresh data directories are made")
	f.StringVar(&o.JSON, "json", "", "write all results to this file")
	f.BoolVar(&o.Markdown, "md", false, "print the table as Markdown")
	f.BoolVar(&o.Keep, "keep", false, "keep the data directories")
	f.StringVar(&o.ProfDir, "prof", "", "fetch a CPU profile of each measured phase over prof_port into this directory")
	f.IntVar(&o.ProfSecs, "prof-secs", 3, "seconds to profile")
	return f
}

// Finish checks the options after the flags were parsed.
func (o *Options) Finish(sizes string) error {
	for _, s := range strings.Split(sizes, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil || n < wire.MinPayload {
			return fmt.Errorf("--size %q: want numbers of at least %d", sizes, wire.MinPayload)
		}
		o.Sizes = append(o.Sizes, n)
	}
	if o.A == "" {
		return fmt.Errorf("--a BIN is required")
	}
	if o.Replicas == 3 {
		o.Nodes = 3
	}
	for name, ok := range map[string]bool{
		"--nodes":    o.Nodes == 1 || o.Nodes == 3,
		"--replicas": o.Replicas == 1 || o.Replicas == 3,
		"--storage":  o.Storage == "file" || o.Storage == "memory",
		"--ack":      o.Ack == "explicit" || o.Ack == "none",
		"--sync":     fleet.SyncAllowed(o.Sync),
		"--sync-a":   o.SyncA == "" || fleet.SyncAllowed(o.SyncA),
		"--sync-b":   o.SyncB == "" || fleet.SyncAllowed(o.SyncB),
		"--via":      o.Via == "leader" || o.Via == "follower" || o.Via == "spread",
		"--window":   o.Window > 0,
		"--rounds":   o.Rounds > 0,
		"--rate":     o.Rate > 0,
		"--subjects": o.Subjects > 0,
		"--churn":    o.Churn > 0,
	} {
		if !ok {
			return fmt.Errorf("%s: value not allowed", name)
		}
	}
	return nil
}

// syncOf is the policy of one side.
func (o *Options) syncOf(side string) string {
	if side == "A" && o.SyncA != "" {
		return o.SyncA
	}
	if side == "B" && o.SyncB != "" {
		return o.SyncB
	}
	return o.Sync
}
