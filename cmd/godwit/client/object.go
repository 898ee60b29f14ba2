package client

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/urfave/cli/v2"
)

func (t *Tool) object() *cli.Command {
	return &cli.Command{Name: "object", Aliases: []string{"obj"}, Usage: "files in buckets", Subcommands: []*cli.Command{
		t.leaf(&cli.Command{Name: "add", Usage: "make a bucket", ArgsUsage: "BUCKET", Flags: []cli.Flag{&cli.DurationFlag{Name: "ttl", Usage: "time after which files go"},
			&cli.StringFlag{Name: "max-bytes", Value: "-1", Usage: "most bytes"}, &cli.StringFlag{Name: "storage", Value: "file", Usage: "file or memory"}}}, objectAdd),
		t.leaf(&cli.Command{Name: "ls", Usage: "list buckets, or the files of one", ArgsUsage: "[BUCKET]", Flags: []cli.Flag{jsonFlag()}}, objectLs),
		t.leaf(&cli.Command{Name: "put", Usage: "store a file, or standard input", ArgsUsage: "BUCKET [FILE]", Flags: []cli.Flag{
			&cli.StringFlag{Name: "name", Usage: "what it is called; default is the file's name"}, &cli.StringFlag{Name: "description", Usage: "what it is"}}}, objectPut),
		t.leaf(&cli.Command{Name: "get", Usage: "write a stored file to a file of the same name, or to standard output", ArgsUsage: "BUCKET NAME", Flags: []cli.Flag{
			&cli.StringFlag{Name: "output", Aliases: []string{"O"}, Usage: "file to write to; - is standard output"}, forceFlag()}}, objectGet),
		t.leaf(&cli.Command{Name: "info", Usage: "describe a stored file", ArgsUsage: "BUCKET NAME", Flags: []cli.Flag{jsonFlag()}}, objectInfo),
		t.leaf(&cli.Command{Name: "rm", Usage: "delete a bucket, or a file of it", ArgsUsage: "BUCKET [NAME]", Flags: []cli.Flag{forceFlag()}}, objectRm),
	}}
}

func (c *call) objects(name string) (jetstream.ObjectStore, error) {
	ctx, cancel := c.within()
	defer cancel()
	o, err := c.js.ObjectStore(ctx, name)
	if errors.Is(err, jetstream.ErrBucketNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, &hinted{fmt.Errorf("there is no bucket %s", name), "list them with: godwit object ls"}
	}
	return o, err
}

func objectAdd(c *call) error {
	cfg := jetstream.ObjectStoreConfig{Bucket: c.Args().First(), TTL: c.Duration("ttl")}
	var err error
	if cfg.MaxBytes, err = parseSize("max-bytes", c.String("max-bytes")); err != nil {
		return err
	}
	if err := oneOf("storage", c.String("storage"), map[string]func(){"file": func() {}, "memory": func() { cfg.Storage = jetstream.MemoryStorage }}); err != nil {
		return err
	}
	ctx, cancel := c.within()
	defer cancel()
	if _, err := c.js.CreateObjectStore(ctx, cfg); err != nil {
		return err
	}
	c.t.printf("bucket %s is made\n", cfg.Bucket)
	return nil
}

func objectLs(c *call) error {
	ctx, cancel := c.within()
	defer cancel()
	names, rows, heads := []string{}, [][]string{}, []string{"file", "size", "stored", "description"}
	if c.NArg() == 0 {
		heads = []string{"bucket", "size", "description"}
		list := c.js.ObjectStores(ctx)
		for s := range list.Status() {
			names, rows = append(names, s.Bucket()), append(rows, []string{s.Bucket(), size(s.Size()), s.Description()})
		}
		if err := list.Error(); err != nil {
			return err
		}
	} else {
		o, err := c.objects(c.Args().First())
		if err != nil {
			return err
		}
		list, err := o.List(ctx)
		if err != nil && !errors.Is(err, jetstream.ErrNoObjectsFound) {
			return err
		}
		for _, i := range list {
			names, rows = append(names, i.Name), append(rows, []string{i.Name, size(i.Size), when(i.ModTime), i.Description})
		}
	}
	switch {
	case c.Bool("json"):
		return c.t.printJSON(names)
	case len(rows) == 0:
		c.t.printf("there is nothing\n")
	default:
		c.t.table(heads, rows)
	}
	return nil
}

func objectPut(c *call) error {
	o, err := c.objects(c.Args().First())
	if err != nil {
		return err
	}
	meta := jetstream.ObjectMeta{Name: c.String("name"), Description: c.String("description")}
	in := c.t.In
	if file := c.Args().Get(1); file != "" {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
		if meta.Name == "" {
			meta.Name = filepath.Base(file)
		}
	}
	if meta.Name == "" {
		return usage("standard input needs a --name")
	}
	info, err := o.Put(c.ctx, meta, in)
	if err == nil {
		c.t.printf("%s has %s\n", info.Name, size(info.Size))
	}
	return err
}

func objectGet(c *call) error {
	o, err := c.objects(c.Args().First())
	if err != nil {
		return err
	}
	name := c.Args().Get(1)
	r, err := o.Get(c.ctx, name)
	if err != nil {
		return missing(c, err)
	}
	defer r.Close()
	path := c.String("output")
	if path == "" {
		path = filepath.Base(name)
	}
	if path == "-" {
		_, err := io.Copy(c.t.Out, r)
		return errors.Join(err, r.Error())
	}
	if _, err := os.Stat(path); err == nil {
		if err := c.confirm("Replace the file " + path + "?"); err != nil {
			return err
		}
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".*.part")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	n, err := io.Copy(f, r)
	if err = errors.Join(err, r.Error(), f.Close()); err != nil { // the checksum is wrong, too
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	c.t.printf("%s has %s\n", path, size(uint64(n)))
	return nil
}

func missing(c *call, err error) error {
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return &hinted{fmt.Errorf("%s has no file %s", c.Args().First(), c.Args().Get(1)), "list them with: godwit object ls " + c.Args().First()}
	}
	return err
}

func objectInfo(c *call) error {
	o, err := c.objects(c.Args().First())
	if err != nil {
		return err
	}
	ctx, cancel := c.within()
	defer cancel()
	i, err := o.GetInfo(ctx, c.Args().Get(1))
	if err != nil {
		return missing(c, err)
	}
	if c.Bool("json") {
		return c.t.printJSON(i)
	}
	c.t.facts("File "+i.Name, [2]string{"description", i.Description}, [2]string{"size", size(i.Size)}, [2]string{"stored", when(i.ModTime)}, [2]string{"pieces", count(uint64(i.Chunks))}, [2]string{"digest", i.Digest})
	return nil
}

func objectRm(c *call) error {
	o, err := c.objects(c.Args().First())
	if err != nil {
		return err
	}
	what := "bucket " + c.Args().First()
	if c.NArg() == 2 {
		what = "file " + c.Args().Get(1)
		ctx, cancel := c.within()
		_, err := o.GetInfo(ctx, c.Args().Get(1))
		cancel()
		if err != nil {
			return missing(c, err)
		}
	}
	if err := c.confirm("Delete the " + what + "?"); err != nil {
		return err
	}
	ctx, cancel := c.within()
	defer cancel()
	if c.NArg() == 2 {
		err = missing(c, o.Delete(ctx, c.Args().Get(1)))
	} else {
		err = c.js.DeleteObjectStore(ctx, c.Args().First())
	}
	if err == nil {
		c.t.printf("%s is deleted\n", what)
	}
	return err
}
