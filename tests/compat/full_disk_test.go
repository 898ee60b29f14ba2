//go:build linux

package compat

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"godwit/tests/harness"
)

// TestFullDisk fills a small file system: by publishing, then by a file of somebody else's to the last byte. Publishes are
// refused, what is stored is served, and when there is room again all goes on without a restart. It needs the right to
// mount.
func TestFullDisk(t *testing.T) {
	if harness.OnPeer() {
		t.Skip("nats-server switches JetStream off when the disk is full")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=40m"); err != nil {
		t.Skipf("cannot mount a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	s := harness.Start(t, harness.Options{Config: fmt.Sprintf("jetstream {store_dir: %q, max_file_store: 10G}", filepath.Join(dir, "data"))})
	js, err := jetstream.New(s.Connect(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	st, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}})
	if err != nil {
		t.Fatal(err)
	}
	value := []byte(strings.Repeat("x", 32<<10))
	publish := func() error {
		_, err := js.Publish(ctx, "s.x", value, jetstream.WithRetryAttempts(0))
		return err
	}
	refused := func(err error) bool {
		var api *jetstream.APIError
		return errors.As(err, &api) && api.ErrorCode == 10023
	}
	stored := uint64(0)
	for err = publish(); err == nil; err = publish() {
		if stored++; stored*uint64(len(value)) > 40<<20 {
			t.Fatal("stores more than there is room for")
		}
	}
	if !refused(err) || stored < 600 {
		t.Fatalf("after %d messages: %v", stored, err)
	}
	check := func(first, last uint64) {
		t.Helper()
		info, err := st.Info(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if info.State.FirstSeq != first || info.State.LastSeq != last {
			t.Errorf("the stream holds %d to %d, want %d to %d", info.State.FirstSeq, info.State.LastSeq, first, last)
		}
		for _, seq := range []uint64{first, last} {
			if m, err := st.GetMsg(ctx, seq); err != nil || len(m.Data) != len(value) {
				t.Errorf("message %d: %v", seq, err)
			}
		}
	}
	check(1, stored)
	if code, body := s.Answer(t, "/healthz"); code != http.StatusServiceUnavailable || !strings.Contains(string(body), "is full") {
		t.Errorf("health of a full disk: %d %s", code, body)
	}
	_, err = js.CreateStream(ctx, jetstream.StreamConfig{Name: "T", Subjects: []string{"t"}})
	if api := (*jetstream.APIError)(nil); !errors.As(err, &api) || api.ErrorCode != 10047 {
		t.Errorf("another stream on a full disk: %v", err)
	}
	// A purge makes room: it needs some itself, which the reserve has.
	if err := st.Purge(ctx, jetstream.WithPurgeKeep(10)); err != nil {
		t.Fatal(err)
	}
	check(stored-9, stored)

	// Not even the reserve is left.
	filler, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = filler.Write(value)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	harness.Eventually(t, func() error {
		if err := publish(); !refused(err) {
			return fmt.Errorf("publish on a disk that is full to the last byte: %w", err)
		}
		return nil
	})
	check(stored-9, stored)
	if err := filler.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filler.Name()); err != nil {
		t.Fatal(err)
	}
	// The room of the file is not enough; a purge of everything makes some.
	if err := st.Purge(ctx); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, publish)
	check(stored+1, stored+1)
	harness.Eventually(t, func() error {
		if code, body := s.Answer(t, "/healthz"); code != http.StatusOK {
			return fmt.Errorf("health: %d %s", code, body)
		}
		return nil
	})
	s.Kill()
	s.Start()
	if js, err = jetstream.New(s.Connect(t)); err != nil {
		t.Fatal(err)
	}
	if st, err = js.Stream(ctx, "S"); err != nil {
		t.Fatal(err)
	}
	check(stored+1, stored+1)
}
