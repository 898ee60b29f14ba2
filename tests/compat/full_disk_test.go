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
	dir := smallDisk(t, "40m")
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
	harness.Eventually(t, publish)
	stored++

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
		if code, body := s.Answer(t, "/healthz"); code != http.StatusServiceUnavailable {
			return fmt.Errorf("health: %d %s", code, body)
		}
		return nil
	})
	if err := publish(); !refused(err) {
		t.Errorf("publish on a disk that is full to the last byte: %v", err)
	}
	check(stored-10, stored)
	if err := filler.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filler.Name()); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, publish)
	check(stored-10, stored+1)
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
	check(stored-10, stored+1)
}

// smallDisk mounts a small file system.
func smallDisk(t *testing.T, size string) string {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("cannot mount a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestFullDiskWithoutReserve publishes into a stream that has a mirror until there is no byte left. Requests hear of it, the
// server can be stopped and killed, and what was acknowledged is there afterwards.
func TestFullDiskWithoutReserve(t *testing.T) {
	if harness.OnPeer() {
		t.Skip("nats-server switches JetStream off when the disk is full")
	}
	dir := smallDisk(t, "16m")
	s := harness.Start(t, harness.Options{Config: fmt.Sprintf("jetstream {store_dir: %q, max_file_store: 10G, disk_reserve: 0}", filepath.Join(dir, "data"))})
	ctx := t.Context()
	var js jetstream.JetStream
	connect := func() {
		t.Helper()
		var err error
		if js, err = jetstream.New(s.Connect(t)); err != nil {
			t.Fatal(err)
		}
	}
	connect()
	for _, cfg := range []jetstream.StreamConfig{{Name: "S", Subjects: []string{"s.>"}}, {Name: "M", Mirror: &jetstream.StreamSource{Name: "S"}}, {Name: "T", Subjects: []string{"t"}}, {Name: "V", Subjects: []string{"v"}}} {
		if _, err := js.CreateStream(ctx, cfg); err != nil {
			t.Fatal(err)
		}
	}
	for range 8 {
		if _, err := js.Publish(ctx, "v", make([]byte, 1<<19)); err != nil {
			t.Fatal(err)
		}
	}
	full := func() error {
		if code, body := s.Answer(t, "/healthz?account=$G&stream=S"); code != http.StatusServiceUnavailable || !strings.Contains(string(body), "no space left") {
			return fmt.Errorf("health of a stream that waits for room: %d %s", code, body)
		}
		return nil
	}
	value := []byte(strings.Repeat("x", 32<<10))
	acked := map[uint64]bool{}
	fill := func() {
		t.Helper()
		var waiting []jetstream.PubAckFuture
		for full() != nil {
			for range 50 {
				f, err := js.PublishAsync("s.x", value, jetstream.WithRetryAttempts(0))
				if err != nil {
					t.Fatal(err)
				}
				waiting = append(waiting, f)
			}
		}
		_, err := js.Publish(ctx, "s.x", value, jetstream.WithRetryAttempts(0))
		if api := (*jetstream.APIError)(nil); !errors.As(err, &api) || api.ErrorCode != 10023 {
			t.Errorf("publish on a full disk: %v", err)
		}
		st, err := js.Stream(ctx, "T")
		if err != nil {
			t.Fatal(err)
		}
		err = st.Purge(ctx) // which may be done later
		if api := (*jetstream.APIError)(nil); !errors.As(err, &api) || api.ErrorCode != 10023 {
			t.Errorf("purge on a full disk: %v", err)
		}
		for _, f := range waiting {
			select {
			case a := <-f.Ok():
				acked[a.Sequence] = true
			default: // refused, or it waits for room
			}
		}
	}
	check := func() {
		t.Helper()
		connect()
		st, err := js.Stream(ctx, "S")
		if err != nil {
			t.Fatal(err)
		}
		if n := st.CachedInfo().State.Msgs; n < uint64(len(acked)) || len(acked) == 0 {
			t.Errorf("%d messages were acknowledged, %d are there", len(acked), n)
		}
		for seq := range acked {
			if m, err := st.GetMsg(ctx, seq); err != nil || len(m.Data) != len(value) {
				t.Errorf("message %d: %v", seq, err)
			}
		}
	}
	fill()
	s.Stop()
	s.Start()
	check()
	fill()
	s.Kill()
	s.Start()
	check()
	fill()
	// What needs no room makes some.
	if err := js.DeleteStream(ctx, "V"); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, func() error {
		_, err := js.Publish(ctx, "t", []byte("room"), jetstream.WithRetryAttempts(0))
		return err
	})
	check()
}
