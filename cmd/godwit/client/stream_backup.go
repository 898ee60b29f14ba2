package client

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/urfave/cli/v2"
)

// The files of a backup, as the nats tool has them.
const (
	backupMeta = "backup.json"
	backupData = "stream.arc.s2"
	earlier    = "stream.tar.s2" // what it was called before
	chunkBytes = 128 << 10
)

func token() string {
	var b [11]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

func (t *Tool) streamBackup() *cli.Command {
	return t.leaf(&cli.Command{Name: "backup", Usage: "write a stream to files, which the nats tool can restore, too", ArgsUsage: "NAME DIRECTORY", Flags: []cli.Flag{
		&cli.BoolFlag{Name: "no-consumers", Usage: "leave consumers out"}, &cli.BoolFlag{Name: "check", Usage: "verify checksums before"}}}, func(c *call) error {
		args := c.Args().Slice()
		if _, err := os.Stat(args[1]); err == nil {
			return usage("%s is there already", args[1])
		}
		inbox := nats.NewInbox()
		sub, err := c.nc.SubscribeSync(inbox + "." + token())
		if err != nil {
			return err
		}
		sub.SetPendingLimits(-1, 512<<20)
		if err := c.nc.FlushTimeout(c.Duration("timeout")); err != nil {
			return err
		}
		var whole json.RawMessage
		err = c.api("STREAM.SNAPSHOT."+args[0], map[string]any{"deliver_subject": sub.Subject, "no_consumers": c.Bool("no-consumers"), "jsck": c.Bool("check"), "chunk_size": chunkBytes}, &whole)
		if err != nil {
			return err
		}
		var d struct {
			Config json.RawMessage `json:"config"`
			State  json.RawMessage `json:"state"`
		}
		var st jetstream.StreamState
		if err := json.Unmarshal(whole, &d); err != nil {
			return err
		}
		if err := json.Unmarshal(d.State, &st); err != nil {
			return err
		}
		tmp := args[1] + ".part"
		if err := os.MkdirAll(tmp, 0o700); err != nil {
			return err
		}
		defer os.RemoveAll(tmp)
		n, err := c.receive(sub, filepath.Join(tmp, backupData), st.Bytes)
		if err != nil {
			return err
		}
		meta, err := json.MarshalIndent(map[string]any{"config": d.Config, "state": d.State}, "", "  ")
		if err == nil {
			err = os.WriteFile(filepath.Join(tmp, backupMeta), meta, 0o600)
		}
		if err == nil {
			err = os.Rename(tmp, args[1])
		}
		if err != nil {
			return err
		}
		c.t.printf("%s messages of %s are in %s, %s\n", count(st.Msgs), args[0], args[1], size(uint64(n)))
		return nil
	})
}

// receive writes the chunks of a backup to a file, and acknowledges them.
func (c *call) receive(sub *nats.Subscription, path string, total uint64) (n int64, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for {
		ctx, cancel := c.within()
		m, err := sub.NextMsgWithContext(ctx)
		cancel()
		if err != nil {
			return n, fmt.Errorf("the backup stopped after %s: %w", size(uint64(n)), err)
		}
		if len(m.Data) == 0 { // the end, with a status if something went wrong
			c.t.progress(fmt.Sprintf("received %s", size(uint64(n))), true)
			if code := m.Header.Get("Status"); code != "" && code != "204" {
				return n, fmt.Errorf("the backup failed: %s %s", code, m.Header.Get("Description"))
			}
			return n, f.Sync()
		}
		if _, err := f.Write(m.Data); err != nil {
			return n, err
		}
		n += int64(len(m.Data))
		if m.Reply != "" {
			if err := m.Respond(nil); err != nil {
				return n, err
			}
		}
		c.t.progress(fmt.Sprintf("received %s, for %s of messages", size(uint64(n)), size(total)), false)
	}
}

func (t *Tool) streamRestore() *cli.Command {
	return t.leaf(&cli.Command{Name: "restore", Usage: "make a stream from files of a backup", ArgsUsage: "DIRECTORY", Flags: []cli.Flag{jsonFlag(),
		&cli.StringFlag{Name: "config", Usage: "file with another configuration in JSON"}}}, func(c *call) error {
		args := c.Args().Slice()
		b, err := os.ReadFile(filepath.Join(args[0], backupMeta))
		if err != nil {
			return &hinted{err, "a backup is a directory made by stream backup"}
		}
		var d struct {
			Config json.RawMessage `json:"config"`
			State  json.RawMessage `json:"state"`
		}
		if err := json.Unmarshal(b, &d); err != nil {
			return fmt.Errorf("%s: %w", backupMeta, err)
		}
		if file := c.String("config"); file != "" {
			if d.Config, err = os.ReadFile(file); err != nil {
				return err
			}
		}
		var name struct{ Name string }
		if err := json.Unmarshal(d.Config, &name); err != nil || name.Name == "" {
			return fmt.Errorf("the configuration names no stream: %w", err)
		}
		f, err := os.Open(filepath.Join(args[0], backupData))
		if errors.Is(err, os.ErrNotExist) {
			f, err = os.Open(filepath.Join(args[0], earlier))
		}
		if err != nil {
			return err
		}
		defer f.Close()
		var to struct {
			Deliver string `json:"deliver_subject"`
		}
		if err := c.api("STREAM.RESTORE."+name.Name, map[string]any{"config": d.Config, "state": d.State}, &to); err != nil {
			return err
		}
		if err := c.sendChunks(f, to.Deliver); err != nil {
			return err
		}
		return c.showStream(name.Name)
	})
}

// sendChunks sends a file piece by piece, each acknowledged.
func (c *call) sendChunks(f *os.File, to string) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	buf := make([]byte, chunkBytes)
	for n := int64(0); ; {
		k, err := io.ReadFull(f, buf)
		last := errors.Is(err, io.EOF)
		if err != nil && !last && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		m, err := c.nc.Request(to, buf[:k], c.Duration("timeout"))
		if err != nil {
			return fmt.Errorf("the restore stopped after %s: %w", size(uint64(n)), err)
		}
		var answer struct {
			Error *jetstream.APIError `json:"error"`
		}
		if len(m.Data) > 0 && json.Unmarshal(m.Data, &answer) == nil && answer.Error != nil {
			return answer.Error
		}
		if n += int64(k); last {
			c.t.progress(fmt.Sprintf("sent %s", size(uint64(n))), true)
			return nil
		}
		c.t.progress(fmt.Sprintf("sent %s of %s", size(uint64(n)), size(uint64(st.Size()))), false)
	}
}
