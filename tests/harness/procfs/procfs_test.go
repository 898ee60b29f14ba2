package procfs

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestOwnProcess(t *testing.T) {
	pid := os.Getpid()
	now, peak := RSS(pid)
	if now < 1<<20 || peak < now/2 {
		t.Errorf("resident set %d, peak %d", now, peak)
	}
	before, err := CPU(pid)
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); ; {
		after, err := CPU(pid)
		if err != nil {
			t.Fatal(err)
		}
		if after > before && OwnCPU() >= before {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("CPU time stays at %v while this loop runs", after)
		}
	}
	if io := ReadIO(pid); io.Reads == 0 {
		t.Errorf("no reads counted: %+v", io)
	}
}

func TestProcessThatIsGone(t *testing.T) {
	const pid = 1 << 30 // above every limit of process ids
	if _, err := CPU(pid); err == nil {
		t.Error("CPU time of no process")
	}
	if now, peak := RSS(pid); now != 0 || peak != 0 {
		t.Errorf("resident set %d, %d of no process", now, peak)
	}
}

func TestDiskUsage(t *testing.T) {
	dir := t.TempDir()
	for name, size := range map[string]int{"a": 10, filepath.Join("sub", "b"): 20} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, make([]byte, size), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := DiskUsage(dir); got != 30 {
		t.Errorf("got %d", got)
	}
}
