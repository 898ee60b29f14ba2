package client

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/urfave/cli/v2"
)

func (t *Tool) kv() *cli.Command {
	return &cli.Command{Name: "kv", Usage: "keys and values", Subcommands: []*cli.Command{
		t.leaf(&cli.Command{Name: "add", Usage: "make a bucket", ArgsUsage: "BUCKET", Flags: []cli.Flag{
			&cli.UintFlag{Name: "history", Value: 1, Usage: "values kept of each key, up to 64"}, &cli.DurationFlag{Name: "ttl", Usage: "time after which values go"},
			&cli.StringFlag{Name: "max-bytes", Value: "-1", Usage: "most bytes"}, &cli.StringFlag{Name: "storage", Value: "file", Usage: "file or memory"}}}, kvAdd),
		t.leaf(&cli.Command{Name: "ls", Usage: "list buckets", Flags: []cli.Flag{jsonFlag()}}, kvLs),
		t.leaf(&cli.Command{Name: "keys", Usage: "list the keys of a bucket", ArgsUsage: "BUCKET", Flags: []cli.Flag{jsonFlag()}}, kvKeys),
		t.leaf(&cli.Command{Name: "get", Usage: "show the value of a key", ArgsUsage: "BUCKET KEY", Flags: []cli.Flag{jsonFlag(), &cli.BoolFlag{Name: "raw", Aliases: []string{"r"}, Usage: "print the value only"},
			&cli.Uint64Flag{Name: "revision", Usage: "that of this revision"}}}, kvGet),
		t.leaf(&cli.Command{Name: "put", Usage: "set a value, which is read from standard input if it is missing", ArgsUsage: "BUCKET KEY [VALUE]"}, kvPut),
		t.leaf(&cli.Command{Name: "create", Usage: "set a value if the key has none", ArgsUsage: "BUCKET KEY [VALUE]"}, kvPut),
		t.leaf(&cli.Command{Name: "update", Usage: "set a value if the key has this revision", ArgsUsage: "BUCKET KEY VALUE REVISION"}, kvUpdate),
		t.leaf(&cli.Command{Name: "del", Usage: "delete a key, keeping its history", ArgsUsage: "BUCKET KEY", Flags: []cli.Flag{forceFlag()}}, kvDel),
		t.leaf(&cli.Command{Name: "purge", Usage: "delete a key with its history", ArgsUsage: "BUCKET KEY", Flags: []cli.Flag{forceFlag()}}, kvDel),
		t.leaf(&cli.Command{Name: "history", Usage: "show the values that a key had", ArgsUsage: "BUCKET KEY", Flags: []cli.Flag{jsonFlag()}}, kvHistory),
		t.leaf(&cli.Command{Name: "watch", Usage: "show changes as they come", ArgsUsage: "BUCKET [KEY]", Flags: []cli.Flag{
			&cli.IntFlag{Name: "count", Usage: "end after so many; 0 is never"}, &cli.BoolFlag{Name: "new", Usage: "new changes only"}}}, kvWatch),
		t.leaf(&cli.Command{Name: "info", Usage: "describe a bucket", ArgsUsage: "BUCKET", Flags: []cli.Flag{jsonFlag()}}, kvInfo),
		t.leaf(&cli.Command{Name: "rm", Usage: "delete a bucket", ArgsUsage: "BUCKET", Flags: []cli.Flag{forceFlag()}}, kvRm),
	}}
}

func (c *call) bucket(name string) (jetstream.KeyValue, error) {
	ctx, cancel := c.within()
	defer cancel()
	kv, err := c.js.KeyValue(ctx, name)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, &hinted{fmt.Errorf("there is no bucket %s", name), "list them with: godwit kv ls"}
	}
	return kv, err
}

func kvAdd(c *call) error {
	args := c.Args().Slice()
	cfg := jetstream.KeyValueConfig{Bucket: args[0], TTL: c.Duration("ttl")}
	if h := c.Uint("history"); h < 1 || h > 64 {
		return usage("--history is to be from 1 to 64")
	}
	cfg.History = uint8(c.Uint("history"))
	var err error
	if cfg.MaxBytes, err = parseSize("max-bytes", c.String("max-bytes")); err != nil {
		return err
	}
	if err := oneOf("storage", c.String("storage"), map[string]func(){"file": func() {}, "memory": func() { cfg.Storage = jetstream.MemoryStorage }}); err != nil {
		return err
	}
	ctx, cancel := c.within()
	defer cancel()
	if _, err := c.js.CreateKeyValue(ctx, cfg); err != nil {
		return err
	}
	c.t.printf("bucket %s is made\n", args[0])
	return nil
}

func kvLs(c *call) error {
	ctx, cancel := c.within()
	defer cancel()
	list := c.js.KeyValueStores(ctx)
	var rows [][]string
	names := []string{}
	for s := range list.Status() {
		names = append(names, s.Bucket())
		rows = append(rows, []string{s.Bucket(), count(s.Values()), size(s.Bytes()), strconv.FormatInt(s.History(), 10), span(s.TTL())})
	}
	if err := list.Error(); err != nil {
		return err
	}
	if c.Bool("json") {
		return c.t.printJSON(names)
	}
	if len(rows) == 0 {
		c.t.printf("there are no buckets; make one with: godwit kv add NAME\n")
		return nil
	}
	c.t.table([]string{"bucket", "values", "size", "history", "ttl"}, rows)
	return nil
}

func kvKeys(c *call) error {
	args := c.Args().Slice()
	kv, err := c.bucket(args[0])
	if err != nil {
		return err
	}
	ctx, cancel := c.within()
	defer cancel()
	keys, err := kv.Keys(ctx)
	if err != nil && !errors.Is(err, jetstream.ErrNoKeysFound) {
		return err
	}
	if keys = sorted(keys); c.Bool("json") {
		return c.t.printJSON(append([]string{}, keys...))
	}
	for _, k := range keys {
		c.t.printf("%s\n", k)
	}
	return nil
}

func kvGet(c *call) error {
	args := c.Args().Slice()
	kv, err := c.bucket(args[0])
	if err != nil {
		return err
	}
	ctx, cancel := c.within()
	defer cancel()
	var e jetstream.KeyValueEntry
	if c.IsSet("revision") {
		e, err = kv.GetRevision(ctx, args[1], c.Uint64("revision"))
	} else {
		e, err = kv.Get(ctx, args[1])
	}
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return &hinted{fmt.Errorf("%s has no key %s", args[0], args[1]), "list them with: godwit kv keys " + args[0]}
	}
	if err != nil {
		return err
	}
	return c.showEntry(e)
}

func (c *call) showEntry(e jetstream.KeyValueEntry) error {
	switch {
	case c.Bool("json"):
		return c.t.printJSON(entryOf(e))
	case c.Bool("raw"):
		_, err := c.t.Out.Write(e.Value())
		return err
	}
	c.t.printf("%s revision %d at %s", e.Key(), e.Revision(), when(e.Created()))
	if e.Operation() != jetstream.KeyValuePut {
		c.t.printf(" deleted\n")
		return nil
	}
	c.t.printf("\n%s\n", e.Value())
	return nil
}

func operation(e jetstream.KeyValueEntry) string {
	switch e.Operation() {
	case jetstream.KeyValueDelete:
		return "delete"
	case jetstream.KeyValuePurge:
		return "purge"
	}
	return "put"
}

func entryOf(e jetstream.KeyValueEntry) map[string]any {
	return map[string]any{"bucket": e.Bucket(), "key": e.Key(), "revision": e.Revision(), "created": e.Created().Format(time.RFC3339Nano), "value": e.Value(), "operation": operation(e)}
}

func kvPut(c *call) error {
	args := c.Args().Slice()
	kv, err := c.bucket(args[0])
	if err != nil {
		return err
	}
	value := []byte(nil)
	if len(args) == 3 {
		value = []byte(args[2])
	} else if value, err = io.ReadAll(io.LimitReader(c.t.In, bodyMost)); err != nil {
		return err
	}
	ctx, cancel := c.within()
	defer cancel()
	var revision uint64
	if c.Command.Name == "create" {
		revision, err = kv.Create(ctx, args[1], value)
	} else {
		revision, err = kv.Put(ctx, args[1], value)
	}
	if errors.Is(err, jetstream.ErrKeyExists) {
		return &hinted{fmt.Errorf("%s has a value already", args[1]), "kv put replaces it"}
	}
	if err == nil {
		c.t.printf("%s has revision %d\n", args[1], revision)
	}
	return err
}

func kvUpdate(c *call) error {
	args := c.Args().Slice()
	at, err := strconv.ParseUint(args[3], 10, 64)
	if err != nil {
		return usage("%q is no revision", args[3])
	}
	kv, err := c.bucket(args[0])
	if err != nil {
		return err
	}
	ctx, cancel := c.within()
	defer cancel()
	revision, err := kv.Update(ctx, args[1], []byte(args[2]), at)
	if err == nil {
		c.t.printf("%s has revision %d\n", args[1], revision)
	}
	return err
}

func kvDel(c *call) error {
	args := c.Args().Slice()
	kv, err := c.bucket(args[0])
	if err != nil {
		return err
	}
	if err := c.confirm(fmt.Sprintf("%s %s of %s?", c.Command.Name, args[1], args[0])); err != nil {
		return err
	}
	ctx, cancel := c.within()
	defer cancel()
	if c.Command.Name == "purge" {
		err = kv.Purge(ctx, args[1])
	} else {
		err = kv.Delete(ctx, args[1])
	}
	if err == nil {
		c.t.printf("%s is deleted\n", args[1])
	}
	return err
}

func kvHistory(c *call) error {
	args := c.Args().Slice()
	kv, err := c.bucket(args[0])
	if err != nil {
		return err
	}
	ctx, cancel := c.within()
	defer cancel()
	list, err := kv.History(ctx, args[1])
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return fmt.Errorf("%s has no key %s", args[0], args[1])
	}
	if err != nil {
		return err
	}
	if c.Bool("json") {
		var all []map[string]any
		for _, e := range list {
			all = append(all, entryOf(e))
		}
		return c.t.printJSON(all)
	}
	var rows [][]string
	for _, e := range list {
		rows = append(rows, []string{strconv.FormatUint(e.Revision(), 10), operation(e), when(e.Created()), fmt.Sprintf("%.60q", e.Value())})
	}
	c.t.table([]string{"revision", "operation", "time", "value"}, rows)
	return nil
}

func kvWatch(c *call) error {
	args := c.Args().Slice()
	kv, err := c.bucket(args[0])
	if err != nil {
		return err
	}
	key := ">"
	if len(args) == 2 {
		key = args[1]
	}
	var opts []jetstream.WatchOpt
	if c.Bool("new") {
		opts = append(opts, jetstream.UpdatesOnly())
	}
	w, err := kv.Watch(c.ctx, key, opts...)
	if err != nil {
		return err
	}
	defer w.Stop()
	for n := 0; c.Int("count") == 0 || n < c.Int("count"); {
		select {
		case e, ok := <-w.Updates():
			if !ok {
				return nil
			}
			if e == nil { // all there was is shown
				continue
			}
			n++
			if err := c.showEntry(e); err != nil {
				return err
			}
		case <-c.ctx.Done():
			return nil
		}
	}
	return nil
}

func kvInfo(c *call) error {
	args := c.Args().Slice()
	kv, err := c.bucket(args[0])
	if err != nil {
		return err
	}
	ctx, cancel := c.within()
	defer cancel()
	s, err := kv.Status(ctx)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return c.t.printJSON(map[string]any{"bucket": s.Bucket(), "values": s.Values(), "bytes": s.Bytes(), "history": s.History(), "ttl": s.TTL()})
	}
	c.t.facts("Bucket "+s.Bucket(), [2]string{"values", count(s.Values())}, [2]string{"size", size(s.Bytes())}, [2]string{"history", strconv.FormatInt(s.History(), 10)},
		[2]string{"ttl", limit(int64(s.TTL()), func(uint64) string { return span(s.TTL()) })}, [2]string{"stream", "KV_" + s.Bucket()})
	return nil
}

func kvRm(c *call) error {
	args := c.Args().Slice()
	if _, err := c.bucket(args[0]); err != nil {
		return err
	}
	if err := c.confirm("Delete the bucket " + args[0] + " with all values?"); err != nil {
		return err
	}
	ctx, cancel := c.within()
	defer cancel()
	if err := c.js.DeleteKeyValue(ctx, args[0]); err != nil {
		return err
	}
	c.t.printf("bucket %s is deleted\n", args[0])
	return nil
}
