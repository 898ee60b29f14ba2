package fleet

import (
	"os"
	"strings"
	"testing"
)

func TestConfigurations(t *testing.T) {
	for _, tt := range []struct {
		name       string
		opts       Options
		want, lack []string
	}{
		{"core", Options{Nodes: 1}, []string{"server_name: n1", `listen: "127.0.0.1:`}, []string{"jetstream", "cluster", "prof_port"}},
		{"streams", Options{Nodes: 1, JetStream: true, Sync: "default"}, []string{"jetstream {", "store_dir"}, []string{"sync_interval"}},
		{"synced", Options{Nodes: 1, JetStream: true, Sync: "always"}, []string{"sync_interval: always"}, nil},
		{"lazy", Options{Nodes: 1, JetStream: true, Sync: "lazy"}, []string{"sync_interval: 2m"}, nil},
		{"cluster", Options{Nodes: 3}, []string{"cluster {", "routes: [nats://127.0.0.1:"}, nil},
		{"more", Options{Nodes: 1, Profile: true, Extra: "max_payload: 8MB"}, []string{"prof_port: ", "max_payload: 8MB"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.opts.Dir = t.TempDir()
			c, err := New(tt.opts)
			if err != nil {
				t.Fatal(err)
			}
			if len(c.Servers) != tt.opts.Nodes || c.Named("n1") != c.Servers[0] || c.Named("n9") != nil {
				t.Errorf("servers %+v", c.Servers)
			}
			text, err := os.ReadFile(c.Servers[0].conf)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range tt.want {
				if !strings.Contains(string(text), want) {
					t.Errorf("no %q in\n%s", want, text)
				}
			}
			for _, lack := range tt.lack {
				if strings.Contains(string(text), lack) {
					t.Errorf("%q in\n%s", lack, text)
				}
			}
		})
	}
}

func TestSyncPolicies(t *testing.T) {
	for policy, allowed := range map[string]bool{
		"default": true, "always": true, "lazy": true, "10s": true, "0s": false, "-1s": false, "": false, "often": false,
	} {
		if SyncAllowed(policy) != allowed {
			t.Errorf("%q allowed: %v", policy, !allowed)
		}
	}
}

func TestInterruptedScratchStartsNothing(t *testing.T) {
	s, err := NewScratch(t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	c, remove, err := s.Cluster(Options{Nodes: 1, Bin: "/bin/false"})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if c.Alive() == nil {
		t.Error("the server still runs")
	}
	if _, err := os.Stat(s.dir); !os.IsNotExist(err) {
		t.Errorf("the directory is still there: %v", err)
	}
	if _, _, err := s.Cluster(Options{Nodes: 1}); err == nil {
		t.Error("a cluster after the end")
	}
	remove()
}
