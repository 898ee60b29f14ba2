package client

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/urfave/cli/v2"
)

func (t *Tool) stream() *cli.Command {
	return &cli.Command{Name: "stream", Usage: "manage streams", Subcommands: []*cli.Command{
		t.streamAdd(), t.streamEdit(), t.streamLs(), t.streamInfo(), t.streamGet(), t.streamView(), t.streamRm(), t.streamRmMsg(), t.streamPurge(), t.streamSeal(),
		t.streamBackup(), t.streamRestore(),
	}}
}

// streamFlags are the fields of a stream's configuration. Names of the metadata with which clients ask for partitions are the server's.
func streamFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "subjects", Usage: "subjects to store; with commas, or given several times"},
		&cli.StringFlag{Name: "description", Usage: "what the stream is for"},
		&cli.StringFlag{Name: "storage", Usage: "file or memory"},
		&cli.StringFlag{Name: "retention", Usage: "limits, interest or work"},
		&cli.StringFlag{Name: "discard", Usage: "old or new: what goes when a limit is reached"},
		&cli.Int64Flag{Name: "max-msgs", Usage: "most messages; -1 is no limit"},
		&cli.Int64Flag{Name: "max-msgs-per-subject", Usage: "most messages of each subject; -1 is no limit"},
		&cli.StringFlag{Name: "max-bytes", Usage: "most bytes, such as 10GiB; -1 is no limit"},
		&cli.DurationFlag{Name: "max-age", Usage: "time after which messages go; 0 is never"},
		&cli.StringFlag{Name: "max-msg-size", Usage: "most bytes of a message; -1 is no limit"},
		&cli.DurationFlag{Name: "dupe-window", Usage: "time for which message ids are remembered"},
		&cli.StringFlag{Name: "compression", Usage: "none or s2"},
		&cli.BoolFlag{Name: "deny-delete", Usage: "messages cannot be deleted"},
		&cli.BoolFlag{Name: "deny-purge", Usage: "the stream cannot be purged"},
		&cli.BoolFlag{Name: "allow-rollup", Usage: "messages may replace all before them"},
		&cli.BoolFlag{Name: "allow-direct", Value: true, Usage: "messages can be read without the API's queue"},
		&cli.BoolFlag{Name: "allow-ttl", Usage: "messages may have a time to live of their own"},
		&cli.BoolFlag{Name: "allow-atomic", Usage: "messages may be published in batches, all or none"},
		&cli.BoolFlag{Name: "allow-schedules", Usage: "messages may be published for later"},
		&cli.StringSliceFlag{Name: "metadata", Usage: "NAME=VALUE; may be given several times"},
		&cli.StringFlag{Name: "mirror", Usage: "stream to copy"},
		&cli.StringSliceFlag{Name: "source", Usage: "stream to take messages from; may be given several times"},
		&cli.StringFlag{Name: "config", Usage: "file with the configuration in JSON; flags count more"},
	}
}

func (t *Tool) streamAdd() *cli.Command {
	return t.leaf(&cli.Command{Name: "add", Usage: "make a stream", ArgsUsage: "[NAME]",
		Flags: append(streamFlags(), jsonFlag(),
			&cli.IntFlag{Name: "partitions", Usage: "logs that the stream is spread over, by the key of its messages"},
			&cli.StringFlag{Name: "partition-key", Usage: "what the partition depends on: subject, tokens:N,… or header:NAME"},
			&cli.BoolFlag{Name: "defaults", Usage: "ask nothing"},
		),
	}, func(c *call) error {
		args := c.Args().Slice()
		cfg := jetstream.StreamConfig{AllowDirect: true}
		if err := c.configure(&cfg); err != nil {
			return err
		}
		if len(args) > 0 {
			cfg.Name = args[0]
		}
		if err := c.askStream(&cfg); err != nil {
			return err
		}
		if c.IsSet("partitions") {
			setMeta(&cfg, "godwit.partitions", strconv.Itoa(c.Int("partitions")))
		}
		if k := c.String("partition-key"); k != "" {
			setMeta(&cfg, "godwit.partition_key", k)
		}
		ctx, cancel := c.within()
		defer cancel()
		if _, err := c.js.CreateStream(ctx, cfg); err != nil {
			return err
		}
		return c.showStream(cfg.Name)
	})
}

func setMeta(cfg *jetstream.StreamConfig, name, value string) {
	if cfg.Metadata == nil {
		cfg.Metadata = map[string]string{}
	}
	cfg.Metadata[name] = value
}

// askStream asks a person for what is missing and matters; where nobody is, that is an error.
func (c *call) askStream(cfg *jetstream.StreamConfig) error {
	copies := cfg.Mirror != nil || len(cfg.Sources) > 0
	if cfg.Name != "" && (len(cfg.Subjects) > 0 || copies) {
		return nil
	}
	if !c.t.Terminal || c.Bool("defaults") {
		if cfg.Name == "" {
			return usage("stream add takes a name")
		}
		if !copies {
			cfg.Subjects = []string{cfg.Name}
		}
		return nil
	}
	in := bufio.NewReader(c.t.In)
	ask := func(question, preset string) string {
		c.t.printf("%s [%s]: ", question, preset)
		line, _ := in.ReadString('\n')
		if line = strings.TrimSpace(line); line == "" {
			return preset
		}
		return line
	}
	for cfg.Name == "" {
		cfg.Name = ask("Name of the stream", "")
	}
	if len(cfg.Subjects) == 0 && !copies {
		cfg.Subjects = strings.Split(ask("Subjects to store, with commas", strings.ToLower(cfg.Name)+".>"), ",")
	}
	if !c.IsSet("retention") {
		if err := setRetention(cfg, ask("Keep messages until a limit, or until consumers are done (limits, interest, work)", "limits")); err != nil {
			return err
		}
	}
	if !c.IsSet("max-age") {
		d, err := time.ParseDuration(ask("Time after which messages go (0s is never)", "0s"))
		if err != nil {
			return usage("%v", err)
		}
		cfg.MaxAge = d
	}
	return nil
}

func setRetention(cfg *jetstream.StreamConfig, text string) error {
	switch text {
	case "limits":
		cfg.Retention = jetstream.LimitsPolicy
	case "interest":
		cfg.Retention = jetstream.InterestPolicy
	case "work", "workqueue":
		cfg.Retention = jetstream.WorkQueuePolicy
	default:
		return usage("--retention %q: want limits, interest or work", text)
	}
	return nil
}

// configure puts the file and the flags into a configuration.
func (c *call) configure(cfg *jetstream.StreamConfig) error {
	if file := c.String("config"); file != "" {
		b, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(b, cfg)
		}
		if err != nil {
			return fmt.Errorf("--config: %w", err)
		}
	}
	if list := c.StringSlice("subjects"); len(list) > 0 {
		cfg.Subjects = list
	}
	text := map[string]func(v string) error{
		"description": func(v string) error { cfg.Description = v; return nil },
		"retention":   func(v string) error { return setRetention(cfg, v) },
		"storage": func(v string) error {
			return oneOf("storage", v, map[string]func(){"file": func() { cfg.Storage = jetstream.FileStorage }, "memory": func() { cfg.Storage = jetstream.MemoryStorage }})
		},
		"discard": func(v string) error {
			return oneOf("discard", v, map[string]func(){"old": func() { cfg.Discard = jetstream.DiscardOld }, "new": func() { cfg.Discard = jetstream.DiscardNew }})
		},
		"compression": func(v string) error {
			return oneOf("compression", v, map[string]func(){"none": func() { cfg.Compression = jetstream.NoCompression }, "s2": func() { cfg.Compression = jetstream.S2Compression }})
		},
		"max-bytes": func(v string) (err error) { cfg.MaxBytes, err = parseSize("max-bytes", v); return err },
		"max-msg-size": func(v string) error {
			n, err := parseSize("max-msg-size", v)
			cfg.MaxMsgSize = int32(n)
			return err
		},
		"mirror": func(v string) error { cfg.Mirror = &jetstream.StreamSource{Name: v}; return nil },
	}
	for name, set := range text {
		if c.IsSet(name) {
			if err := set(c.String(name)); err != nil {
				return err
			}
		}
	}
	for _, s := range c.StringSlice("source") {
		cfg.Sources = append(cfg.Sources, &jetstream.StreamSource{Name: s})
	}
	for _, m := range c.StringSlice("metadata") {
		name, value, ok := strings.Cut(m, "=")
		if !ok || name == "" {
			return usage("--metadata %q is not NAME=VALUE", m)
		}
		setMeta(cfg, name, value)
	}
	numbers := map[string]func(){
		"max-msgs":             func() { cfg.MaxMsgs = c.Int64("max-msgs") },
		"max-msgs-per-subject": func() { cfg.MaxMsgsPerSubject = c.Int64("max-msgs-per-subject") },
		"max-age":              func() { cfg.MaxAge = c.Duration("max-age") },
		"dupe-window":          func() { cfg.Duplicates = c.Duration("dupe-window") },
		"deny-delete":          func() { cfg.DenyDelete = c.Bool("deny-delete") },
		"deny-purge":           func() { cfg.DenyPurge = c.Bool("deny-purge") },
		"allow-rollup":         func() { cfg.AllowRollup = c.Bool("allow-rollup") },
		"allow-direct":         func() { cfg.AllowDirect = c.Bool("allow-direct") },
		"allow-ttl":            func() { cfg.AllowMsgTTL = c.Bool("allow-ttl") },
		"allow-atomic":         func() { cfg.AllowAtomicPublish = c.Bool("allow-atomic") },
		"allow-schedules":      func() { cfg.AllowMsgSchedules = c.Bool("allow-schedules") },
	}
	for name, set := range numbers {
		if c.IsSet(name) {
			set()
		}
	}
	return nil
}

func oneOf(flag, value string, set map[string]func()) error {
	if f := set[value]; f != nil {
		f()
		return nil
	}
	var names []string
	for n := range set {
		names = append(names, n)
	}
	return usage("--%s %q: want one of %s", flag, value, strings.Join(sorted(names), ", "))
}

// parseSize reads bytes with a unit of 1000 or 1024; -1 is no limit.
func parseSize(flag, text string) (int64, error) {
	units := map[string]int64{"": 1, "B": 1, "K": 1e3, "KB": 1e3, "M": 1e6, "MB": 1e6, "G": 1e9, "GB": 1e9, "T": 1e12, "TB": 1e12, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40}
	t := strings.TrimSpace(strings.ToUpper(text))
	digits := strings.TrimRight(t, "KMGTIB ")
	n, err := strconv.ParseInt(digits, 10, 64)
	unit, ok := units[strings.TrimSpace(t[len(digits):])]
	switch {
	case err != nil || !ok || n < -1:
		return 0, usage("--%s %q: want bytes, such as 500MB or 10GiB", flag, text)
	case n > 0 && n > (1<<63-1)/unit:
		return 0, usage("--%s %q is too much", flag, text)
	}
	return max(n*unit, -1), nil
}

func (t *Tool) streamEdit() *cli.Command {
	return t.leaf(&cli.Command{Name: "edit", Usage: "change a stream", ArgsUsage: "NAME", Flags: append(streamFlags(), jsonFlag(), forceFlag())}, func(c *call) error {
		args := c.Args().Slice()
		ctx, cancel := c.within()
		defer cancel()
		s, err := c.js.Stream(ctx, args[0])
		if err != nil {
			return err
		}
		old := s.CachedInfo().Config
		cfg := old
		cfg.Metadata = map[string]string{}
		for k, v := range old.Metadata {
			cfg.Metadata[k] = v
		}
		if err := c.configure(&cfg); err != nil {
			return err
		}
		changes, err := differences(old, cfg)
		if err != nil {
			return err
		}
		if len(changes) == 0 {
			c.t.printf("nothing differs\n")
			return nil
		}
		if !c.Bool("json") {
			for _, line := range changes {
				c.t.printf("  %s\n", line)
			}
		}
		if err := c.confirm("Change the stream " + args[0] + " like that?"); err != nil {
			return err
		}
		ctx2, cancel2 := c.within() // a person may have thought about it
		defer cancel2()
		if _, err := c.js.UpdateStream(ctx2, cfg); err != nil {
			return err
		}
		return c.showStream(args[0])
	})
}

// differences lists the fields in which two configurations differ.
func differences(old, next any) (list []string, err error) {
	fields := func(v any) (m map[string]json.RawMessage, err error) {
		b, err := json.Marshal(v)
		if err == nil {
			err = json.Unmarshal(b, &m)
		}
		return m, err
	}
	a, err := fields(old)
	if err != nil {
		return nil, err
	}
	b, err := fields(next)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for n := range a {
		names[n] = true
	}
	for n := range b {
		names[n] = true
	}
	var all []string
	for n := range names {
		all = append(all, n)
	}
	for _, n := range sorted(all) {
		if x, y := string(a[n]), string(b[n]); x != y {
			list = append(list, fmt.Sprintf("%s: %s → %s", n, orNone(x), orNone(y)))
		}
	}
	return list, nil
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// streamState is what the API says of a stream, with what the library does not know.
type streamState struct {
	jetstream.StreamInfo
	Partitions []struct {
		Partition int    `json:"partition"`
		Msgs      uint64 `json:"messages"`
		Bytes     uint64 `json:"bytes"`
		FirstSeq  uint64 `json:"first_seq"`
		LastSeq   uint64 `json:"last_seq"`
	} `json:"partitions"`
}

// showStream prints a stream.
func (c *call) showStream(name string) error {
	if c.Bool("json") {
		var raw json.RawMessage
		if err := c.api("STREAM.INFO."+name, nil, &raw); err != nil {
			return err
		}
		return c.t.printJSON(raw)
	}
	var s streamState
	if err := c.api("STREAM.INFO."+name, nil, &s); err != nil {
		return err
	}
	cfg, st := &s.Config, &s.State
	partitions := "1"
	if p := cfg.Metadata["godwit.partitions"]; p != "" {
		partitions = fmt.Sprintf("%s, by %s", p, cmp.Or(cfg.Metadata["godwit.partition_key"], "subject"))
	}
	c.t.facts("Stream "+cfg.Name,
		[2]string{"description", cfg.Description}, [2]string{"subjects", strings.Join(cfg.Subjects, ", ")}, [2]string{"made", when(s.Created)},
		[2]string{"storage", strings.ToLower(cfg.Storage.String())}, [2]string{"retention", strings.ToLower(cfg.Retention.String())}, [2]string{"partitions", partitions},
		[2]string{"most messages", limit(cfg.MaxMsgs, count)}, [2]string{"most of a subject", limit(cfg.MaxMsgsPerSubject, count)}, [2]string{"most bytes", limit(cfg.MaxBytes, size)},
		[2]string{"oldest", limit(int64(cfg.MaxAge), func(uint64) string { return span(cfg.MaxAge) })}, [2]string{"duplicates within", span(cfg.Duplicates)},
		[2]string{"sealed", yes(cfg.Sealed)},
		[2]string{"messages", count(st.Msgs)}, [2]string{"size", size(st.Bytes)}, [2]string{"first", fmt.Sprintf("%s at %s", count(st.FirstSeq), when(st.FirstTime))},
		[2]string{"last", fmt.Sprintf("%s at %s", count(st.LastSeq), when(st.LastTime))}, [2]string{"different subjects", count(st.NumSubjects)},
		[2]string{"deleted", count(uint64(st.NumDeleted))}, [2]string{"consumers", count(uint64(st.Consumers))})
	if len(s.Partitions) > 1 {
		var rows [][]string
		for _, p := range s.Partitions {
			rows = append(rows, []string{strconv.Itoa(p.Partition), count(p.Msgs), size(p.Bytes), count(p.FirstSeq), count(p.LastSeq)})
		}
		c.t.printf("\n")
		c.t.table([]string{"partition", "messages", "size", "first", "last"}, rows)
	}
	return nil
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return ""
}

func (t *Tool) streamLs() *cli.Command {
	return t.leaf(&cli.Command{Name: "ls", Aliases: []string{"list", "report"}, Usage: "list streams", Flags: []cli.Flag{jsonFlag(),
		&cli.StringFlag{Name: "subject", Usage: "only those that store this subject"}}}, func(c *call) error {
		ctx, cancel := c.within()
		defer cancel()
		var opts []jetstream.StreamListOpt
		if s := c.String("subject"); s != "" {
			opts = append(opts, jetstream.WithStreamListSubject(s))
		}
		list := c.js.ListStreams(ctx, opts...)
		found := []*jetstream.StreamInfo{}
		for s := range list.Info() {
			found = append(found, s)
		}
		if err := list.Err(); err != nil {
			return err
		}
		if c.Bool("json") {
			return c.t.printJSON(found)
		}
		if len(found) == 0 {
			c.t.printf("there are no streams; make one with: godwit stream add NAME --subjects SUBJECT\n")
			return nil
		}
		var rows [][]string
		for _, s := range found {
			rows = append(rows, []string{s.Config.Name, strings.Join(s.Config.Subjects, ","), count(s.State.Msgs), size(s.State.Bytes), strconv.Itoa(s.State.Consumers), when(s.State.LastTime)})
		}
		c.t.table([]string{"stream", "subjects", "messages", "size", "consumers", "last message"}, rows)
		return nil
	})
}

func (t *Tool) streamInfo() *cli.Command {
	return t.leaf(&cli.Command{Name: "info", Usage: "describe a stream", ArgsUsage: "NAME", Flags: []cli.Flag{jsonFlag()}}, func(c *call) error {
		args := c.Args().Slice()
		return c.showStream(args[0])
	})
}

// openStream finds a stream.
func (c *call) openStream(name string) (jetstream.Stream, error) {
	ctx, cancel := c.within()
	defer cancel()
	return c.js.Stream(ctx, name)
}

func (t *Tool) streamRm() *cli.Command {
	return t.leaf(&cli.Command{Name: "rm", Usage: "delete a stream with all messages", ArgsUsage: "NAME", Flags: []cli.Flag{forceFlag()}}, func(c *call) error {
		args := c.Args().Slice()
		s, err := c.openStream(args[0])
		if err != nil {
			return err
		}
		if err := c.confirm(fmt.Sprintf("Delete the stream %s with %s messages?", args[0], count(s.CachedInfo().State.Msgs))); err != nil {
			return err
		}
		ctx, cancel := c.within()
		defer cancel()
		if err := c.js.DeleteStream(ctx, args[0]); err != nil {
			return err
		}
		c.t.printf("stream %s is deleted\n", args[0])
		return nil
	})
}

func (t *Tool) streamRmMsg() *cli.Command {
	return t.leaf(&cli.Command{Name: "rm-msg", Aliases: []string{"rmm"}, Usage: "delete one message, and overwrite it", ArgsUsage: "NAME SEQUENCE",
		Flags: []cli.Flag{forceFlag(), &cli.BoolFlag{Name: "no-erase", Usage: "do not overwrite it"}}}, func(c *call) error {
		args := c.Args().Slice()
		seq, err := sequence(args[1])
		if err != nil {
			return err
		}
		s, err := c.openStream(args[0])
		if err != nil {
			return err
		}
		if err := c.confirm(fmt.Sprintf("Delete message %d of %s?", seq, args[0])); err != nil {
			return err
		}
		ctx, cancel := c.within()
		defer cancel()
		if c.Bool("no-erase") {
			err = s.DeleteMsg(ctx, seq)
		} else {
			err = s.SecureDeleteMsg(ctx, seq)
		}
		if err == nil {
			c.t.printf("message %d is deleted\n", seq)
		}
		return err
	})
}

func sequence(text string) (uint64, error) {
	seq, err := strconv.ParseUint(text, 10, 64)
	if err != nil || seq == 0 {
		return 0, usage("%q is no sequence", text)
	}
	return seq, nil
}

func (t *Tool) streamPurge() *cli.Command {
	return t.leaf(&cli.Command{Name: "purge", Usage: "delete messages of a stream", ArgsUsage: "NAME", Flags: []cli.Flag{forceFlag(),
		&cli.StringFlag{Name: "subject", Usage: "only of these subjects"}, &cli.Uint64Flag{Name: "seq", Usage: "only those before this sequence"},
		&cli.Uint64Flag{Name: "keep", Usage: "keep so many"}}}, func(c *call) error {
		args := c.Args().Slice()
		s, err := c.openStream(args[0])
		if err != nil {
			return err
		}
		if err := c.confirm(fmt.Sprintf("Purge the stream %s, which has %s messages?", args[0], count(s.CachedInfo().State.Msgs))); err != nil {
			return err
		}
		var opts []jetstream.StreamPurgeOpt
		if v := c.String("subject"); v != "" {
			opts = append(opts, jetstream.WithPurgeSubject(v))
		}
		if c.IsSet("seq") {
			opts = append(opts, jetstream.WithPurgeSequence(c.Uint64("seq")))
		}
		if c.IsSet("keep") {
			opts = append(opts, jetstream.WithPurgeKeep(c.Uint64("keep")))
		}
		ctx, cancel := c.within()
		defer cancel()
		if err := s.Purge(ctx, opts...); err != nil {
			return err
		}
		info, err := s.Info(ctx)
		if err == nil {
			c.t.printf("%s messages are left in %s\n", count(info.State.Msgs), args[0])
		}
		return err
	})
}

func (t *Tool) streamSeal() *cli.Command {
	return t.leaf(&cli.Command{Name: "seal", Usage: "let nothing change in a stream any more, for ever", ArgsUsage: "NAME", Flags: []cli.Flag{forceFlag()}}, func(c *call) error {
		args := c.Args().Slice()
		s, err := c.openStream(args[0])
		if err != nil {
			return err
		}
		if err := c.confirm("Seal the stream " + args[0] + "? It cannot be undone."); err != nil {
			return err
		}
		cfg := s.CachedInfo().Config
		cfg.Sealed = true
		ctx, cancel := c.within()
		defer cancel()
		if _, err := c.js.UpdateStream(ctx, cfg); err != nil {
			return err
		}
		c.t.printf("stream %s is sealed\n", args[0])
		return nil
	})
}

func (t *Tool) streamGet() *cli.Command {
	return t.leaf(&cli.Command{Name: "get", Usage: "show one message", ArgsUsage: "NAME [SEQUENCE]", Flags: []cli.Flag{jsonFlag(),
		&cli.StringFlag{Name: "last-for", Usage: "the last one of this subject"}, &cli.BoolFlag{Name: "raw", Aliases: []string{"r"}, Usage: "print the body only"}}}, func(c *call) error {
		args := c.Args().Slice()
		if (len(args) == 2) == c.IsSet("last-for") {
			return usage("stream get needs a sequence or --last-for SUBJECT")
		}
		s, err := c.openStream(args[0])
		if err != nil {
			return err
		}
		ctx, cancel := c.within()
		defer cancel()
		var m *jetstream.RawStreamMsg
		if len(args) == 2 {
			seq, err := sequence(args[1])
			if err != nil {
				return err
			}
			m, err = s.GetMsg(ctx, seq)
			if err != nil {
				return err
			}
		} else if m, err = s.GetLastMsgForSubject(ctx, c.String("last-for")); err != nil {
			return err
		}
		return c.showStored(m)
	})
}

func (c *call) showStored(m *jetstream.RawStreamMsg) error {
	for _, name := range []string{"Nats-Sequence", "Nats-Stream", "Nats-Subject", "Nats-Time-Stamp"} { // of the answer, not of the message
		delete(m.Header, name)
	}
	switch {
	case c.Bool("json"):
		return c.t.printJSON(map[string]any{"seq": m.Sequence, "subject": m.Subject, "time": m.Time, "headers": m.Header, "data": m.Data})
	case c.Bool("raw"):
		c.t.printf("%s\n", m.Data)
	default:
		c.t.printf("#%d %s at %s\n", m.Sequence, m.Subject, when(m.Time))
		printHeaders(c.t, m.Header)
		c.t.printf("%s\n", m.Data)
	}
	return nil
}

func (t *Tool) streamView() *cli.Command {
	return t.leaf(&cli.Command{Name: "view", Usage: "show messages, page by page", ArgsUsage: "NAME", Flags: []cli.Flag{
		&cli.Uint64Flag{Name: "from", Value: 1, Usage: "sequence to begin with"}, &cli.IntFlag{Name: "count", Value: 20, Usage: "messages of a page"},
		&cli.StringFlag{Name: "subject", Usage: "only of these subjects"}, &cli.BoolFlag{Name: "all", Usage: "all pages, without a pause"},
		&cli.BoolFlag{Name: "raw", Aliases: []string{"r"}, Usage: "print the bodies only"}}}, func(c *call) error {
		args := c.Args().Slice()
		if c.Int("count") < 1 {
			return usage("--count is to be 1 or more")
		}
		s, err := c.openStream(args[0])
		if err != nil {
			return err
		}
		filter := c.String("subject")
		if filter == "" {
			filter = ">"
		}
		in := bufio.NewReader(c.t.In)
		seq := c.Uint64("from")
		for n := 0; c.ctx.Err() == nil; n++ {
			if n > 0 && n%c.Int("count") == 0 && !c.Bool("all") {
				if !c.t.Terminal {
					c.t.printf("more follows: --from %d\n", seq)
					return nil
				}
				c.t.printf("more? [Y/n] ")
				if line, err := in.ReadString('\n'); err != nil || strings.HasPrefix(strings.ToLower(strings.TrimSpace(line)), "n") {
					return nil
				}
			}
			ctx, cancel := c.within()
			m, err := s.GetMsg(ctx, seq, jetstream.WithGetMsgSubject(filter))
			cancel()
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				if n == 0 {
					c.t.printf("there are no messages from there on\n")
				}
				return nil
			}
			if err != nil {
				return err
			}
			if err := c.showStored(m); err != nil {
				return err
			}
			seq = m.Sequence + 1
		}
		return context.Cause(c.ctx)
	})
}
