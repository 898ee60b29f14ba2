package compat

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"godwit/tests/harness"
)

// stored says how many bytes the segments below a directory have, and whether one of the files there holds a text.
func stored(t *testing.T, dir, text string) (size int64, found bool) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			return nil // it was given back meanwhile
		}
		if filepath.Ext(path) == ".log" {
			size += int64(len(b))
		}
		found = found || text != "" && bytes.Contains(b, []byte(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return size, found
}

// SecureDeleteMsg is answered when nothing of the message is left on disk; DeleteMsg leaves its bytes.
func TestSecureDeleteOverwrites(t *testing.T) {
	for _, compression := range []jetstream.StoreCompression{jetstream.NoCompression, jetstream.S2Compression} {
		s := harness.Start(t, harness.Options{Streams: true})
		js, err := jetstream.New(s.Connect(t))
		if err != nil {
			t.Fatal(err)
		}
		ctx := t.Context()
		st, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}, Compression: compression})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 200 {
			m := nats.NewMsg("s.a")
			m.Data = fmt.Appendf(nil, "<secret %d>", i+1)
			m.Header.Set("Token", fmt.Sprintf("<token %d>", i+1))
			if _, err := js.PublishMsg(ctx, m); err != nil {
				t.Fatal(err)
			}
		}
		if err := st.SecureDeleteMsg(ctx, 77); err != nil {
			t.Fatal(err)
		}
		if err := st.DeleteMsg(ctx, 78); err != nil {
			t.Fatal(err)
		}
		s.Kill()
		dir := filepath.Join(s.Dir(), "data")
		for text, want := range map[string]bool{"<secret 77>": false, "<token 77>": false, "<secret 78>": true, "<token 76>": true} {
			if _, found := stored(t, dir, text); found != want && compression == jetstream.NoCompression || found && !want {
				t.Errorf("%v: %s is in a file: %v", compression, text, found)
			}
		}
		if out, status := runCheck(t, dir); status != 0 || !strings.Contains(out, "198 messages") {
			t.Errorf("check: %d\n%s", status, out)
		}
		s.Start()
		if js, err = jetstream.New(s.Connect(t)); err == nil {
			st, err = js.Stream(ctx, "S")
		}
		if err != nil {
			t.Fatal(err)
		}
		for seq, want := range map[uint64]bool{76: true, 77: false, 78: false, 79: true} {
			if m, err := st.GetMsg(ctx, seq); (err == nil) != want || want && string(m.Data) != fmt.Sprintf("<secret %d>", seq) {
				t.Errorf("message %d: %v %v", seq, m, err)
			}
		}
		s.Stop()
	}
}

// A bucket with keys that stay and one that is written again and again takes a bounded amount of disk, with kills in between.
func TestDiskOfABucketStaysBounded(t *testing.T) {
	s := harness.Start(t, harness.Options{Streams: true, StreamConfig: "segment_size: 64K"})
	js, err := jetstream.New(s.Connect(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	kv, err := js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "B"})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(s.Dir(), "data")
	pad := strings.Repeat("x", 150)
	overwrite := func(name string) {
		t.Helper()
		var last jetstream.PubAckFuture
		for i := range 400 {
			if last, err = js.PublishAsync("$KV.B.hot", fmt.Append(nil, name, " ", i, pad)); err != nil {
				t.Fatal(err)
			}
		}
		select {
		case <-last.Ok():
		case err := <-last.Err():
			t.Fatal(err)
		}
	}
	cold := 0
	for round := range 3 {
		for range 20 {
			if _, err := kv.PutString(ctx, fmt.Sprintf("cold.%d", cold), fmt.Sprint(cold, pad)); err != nil {
				t.Fatal(err)
			}
			cold++
			overwrite(fmt.Sprint("round ", cold))
		}
		s.Kill()
		if out, status := runCheck(t, dir); status != 0 || !strings.Contains(out, fmt.Sprintf("%d messages", cold+1)) {
			t.Errorf("check: %d\n%s", status, out)
		}
		s.Start()
		if js, err = jetstream.New(s.Connect(t)); err == nil {
			kv, err = js.KeyValue(ctx, "B")
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range cold {
			if e, err := kv.Get(ctx, fmt.Sprintf("cold.%d", i)); err != nil || string(e.Value()) != fmt.Sprint(i, pad) {
				t.Fatalf("cold.%d: %v %v", i, e, err)
			}
		}
		if e, err := kv.Get(ctx, "hot"); err != nil || string(e.Value()) != fmt.Sprint("round ", cold, " 399", pad) {
			t.Fatalf("round %d: hot: %v %v", round, e, err)
		}
	}
	// Some 5 MB were written. What the kills left to be rewritten is caught up with.
	size, _ := stored(t, dir, "")
	for end := time.Now().Add(30 * time.Second); size > 1<<20; size, _ = stored(t, dir, "") {
		if time.Now().After(end) {
			t.Fatalf("%d bytes are left", size)
		}
		overwrite("more")
	}
	s.Stop()
}
