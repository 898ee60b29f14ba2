package compat

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats.go"

	"godwit/tests/harness"
)

// A store directory that is named relative to where the server was started is there, and nowhere else; also without any argument, as
// a newcomer starts it.
func TestRelativeStoreDirectory(t *testing.T) {
	for name, o := range map[string]harness.Options{
		"configured": {Config: "jetstream { store_dir: \"store\" }"},
		"nested":     {Config: "jetstream { store_dir: \"./a/../b/store\" }"},
	} {
		t.Run(name, func(t *testing.T) {
			s := harness.Start(t, o)
			fill := func(s *harness.Server, more int) {
				js, err := s.Connect(t).JetStream()
				if err != nil {
					t.Fatal(err)
				}
				for _, n := range []string{"A", "B"} {
					cfg := &nats.StreamConfig{Name: n, Subjects: []string{n + ".>"}}
					if n == "B" {
						cfg.Metadata = map[string]string{"godwit.partitions": "3"}
					}
					if _, err := js.AddStream(cfg); err != nil {
						t.Fatal(err)
					}
					if _, err := js.Publish(n+".x", []byte("kept")); err != nil {
						t.Fatal(err)
					}
					if info, err := js.StreamInfo(n); err != nil || info.State.Msgs != uint64(more) {
						t.Fatalf("%+v %v", info, err)
					}
				}
			}
			fill(s, 1)
			logs := 0
			filepath.WalkDir(s.Dir(), func(path string, d os.DirEntry, err error) error {
				if filepath.Ext(path) == ".log" {
					logs++
				}
				return nil
			})
			if logs < 2 {
				t.Errorf("%d segments below the directory where the server was started, want at least 2", logs)
			}
			s.Restart()
			fill(s, 2)
		})
	}
}
