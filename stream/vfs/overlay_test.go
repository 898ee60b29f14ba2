package vfs

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"testing"
)

// An overlay behaves as a file system of its own, and what lies below stays as it is.
func TestOverlayLeavesWhatIsBelow(t *testing.T) {
	base := NewMem()
	if err := base.MkdirAll("/d"); err != nil {
		t.Fatal(err)
	}
	content := bytes.Repeat([]byte("0123456789"), 2000)
	for _, name := range []string{"/d/a", "/d/b"} {
		if err := WriteFileSync(base, name, content); err != nil {
			t.Fatal(err)
		}
	}
	o := NewOverlay(base)
	f, err := o.OpenFile("/d/a", os.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	want := bytes.Clone(content)
	rng := rand.New(rand.NewPCG(1, 1))
	for range 500 {
		off := rng.IntN(len(want) + 100)
		switch rng.IntN(8) {
		case 0:
			n := rng.IntN(len(want) + 5000)
			if err := f.Truncate(int64(n)); err != nil {
				t.Fatal(err)
			}
			if n <= len(want) {
				want = want[:n:n]
			} else {
				want = append(want, make([]byte, n-len(want))...)
			}
		default:
			b := bytes.Repeat([]byte{byte(rng.Uint32())}, 1+rng.IntN(9000))
			if _, err := f.WriteAt(b, int64(off)); err != nil {
				t.Fatal(err)
			}
			if end := off + len(b); end > len(want) {
				want = append(want, make([]byte, end-len(want))...)
			}
			copy(want[off:], b)
		}
		got, err := ReadFile(o, "/d/a", 1<<30)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%d bytes, want %d; %v", len(got), len(want), err)
		}
	}
	if err := o.Rename("/d/a", "/d/c"); err != nil {
		t.Fatal(err)
	}
	if err := o.Remove("/d/b"); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Stat("/d/b"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if _, err := o.OpenFile("/d/a", os.O_RDWR); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if err := WriteFileSync(o, "/d/e", []byte("new")); err != nil {
		t.Fatal(err)
	}
	list, err := o.ReadDir("/d")
	if err != nil || len(list) != 2 || list[0].Name != "c" || list[1].Name != "e" {
		t.Errorf("%v %v", list, err)
	}
	if err := o.RemoveAll("/d"); err != nil {
		t.Fatal(err)
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"/d/a", "/d/b"} {
		if got, err := ReadFile(base, name, 1<<30); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s below has changed: %v", name, err)
		}
	}
	if list, err := base.ReadDir("/d"); err != nil || len(list) != 2 {
		t.Errorf("%v %v", list, err)
	}
}
