package process

import (
	"bytes"
	"os"
	"testing"
)

func TestHideArgsLeavesOtherMemoryAlone(t *testing.T) {
	if _, err := os.Stat("/proc/self/mem"); err != nil {
		t.Skip("no /proc here: ", err)
	}
	before, err := os.ReadFile("/proc/self/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	if err := hideArgs("/proc/self", []string{"something else"}, []span{{0, 0, 9}}); err == nil {
		t.Error("arguments that aren't there were overwritten")
	}
	if after, err := os.ReadFile("/proc/self/cmdline"); err != nil || !bytes.Equal(before, after) {
		t.Errorf("%q, %v", after, err)
	}
	if err := hideArgs(t.TempDir(), nil, nil); err == nil {
		t.Error("no error without a process table")
	}
}
