package vfs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestMounts(t *testing.T) {
	mounts := parseMounts("22 27 0:21 / /proc rw,relatime - proc proc rw\n" +
		"27 1 254:0 / / rw,noatime shared:1 - ext4 /dev/vda rw,discard\n" +
		"28 27 254:16 /sub /data\\040x rw master:2 - xfs /dev/vdb rw\n" +
		"29 27 254:32 / /data rw - ext4 /dev/vdc rw\n" +
		"30 27 254:32 / /over rw - ext4 /dev/vdc rw\n" +
		"31 27 254:0 /part /over rw - ext4 /dev/vda rw\n" +
		"broken\n32 - \n")
	for device, want := range map[string]string{"254:0": "ext4", "254:16": "xfs", "0:21": "proc", "1:1": "", "": ""} {
		if got := kindOf(mounts, device); got != want {
			t.Errorf("%q is %q, want %q", device, got, want)
		}
	}
	for dir, want := range map[string]bool{"/": true, "/data": true, "/data x": false, "/data/x": false, "/over": false, "/none": false} {
		if got := wholeAt(mounts, dir); got != want {
			t.Errorf("a whole file system is at %q: %v", dir, got)
		}
	}
	for text, want := range map[string]string{`a\040b\134c`: `a b\c`, `\`: `\`, `\9999`: `\9999`, `\04`: `\04`, "": ""} {
		if got := unescape(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	for release, want := range map[string]bool{"5.17.0": true, "5.16.19-x": false, "6.1.0-13-amd64": true, "4.19": false, "10.0": true, "": false, "x.y": false} {
		if got := atLeast(release, 5, 17); got != want {
			t.Errorf("%q is at least 5.17: %v", release, got)
		}
	}
}

func TestVolume(t *testing.T) {
	dir := t.TempDir()
	sub := filepath.Join(dir, "sub")
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	if !IsVolume("/proc") || IsVolume(sub) || IsVolume(filepath.Join(dir, "missing")) {
		t.Error("/proc is where a file system is mounted, a plain directory is not")
	}
	if _, err := OpenVolume("/proc"); !errors.Is(err, ErrNoVolume) {
		t.Errorf("/proc: %v", err)
	}
	v, err := OpenVolume(sub)
	if errors.Is(err, ErrNoVolume) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !v.Holds(dir) || v.Holds("/proc") || v.Holds(filepath.Join(dir, "missing")) {
		t.Error("a volume does not know what is on it")
	}
	if err := v.Sync(); err != nil {
		t.Error(err)
	}
	if err := v.Close(); err != nil {
		t.Error(err)
	}
	if err := v.Sync(); err == nil {
		t.Error("a closed volume was synced")
	}
}
