package vfs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"pgregory.net/rapid"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// implementations are the file systems that must behave alike, each with a directory to work in.
func implementations(t *testing.T) map[string]func() (FS, string) {
	return map[string]func() (FS, string){
		"os":       func() (FS, string) { return OS(), t.TempDir() },
		"memory":   func() (FS, string) { return NewMem(), "/" },
		"volatile": func() (FS, string) { return NewVolatile(), "/" },
		"injected": func() (FS, string) { return Inject(NewMem(), func(Op) *Fault { return nil }), "/" },
	}
}

func TestFilesAndDirectories(t *testing.T) {
	for name, make := range implementations(t) {
		t.Run(name, func(t *testing.T) {
			fsys, root := make()
			dir := filepath.Join(root, "a", "b")
			must(t, MkdirAllSync(fsys, dir))
			must(t, MkdirAllSync(fsys, dir))
			path := filepath.Join(dir, "file")
			if _, err := fsys.OpenFile(path, os.O_RDWR); !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("open of nothing: %v", err)
			}
			if _, err := fsys.Stat(path); !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("stat of nothing: %v", err)
			}
			if err := fsys.Remove(path); !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("remove of nothing: %v", err)
			}
			if err := fsys.Rename(path, path+"2"); !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("rename of nothing: %v", err)
			}
			must(t, fsys.RemoveAll(path))
			f, err := fsys.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL)
			must(t, err)
			if _, err := fsys.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL); !errors.Is(err, fs.ErrExist) {
				t.Fatalf("second exclusive creation: %v", err)
			}
			if f.Name() != path {
				t.Fatalf("name %q", f.Name())
			}
			if n, err := f.WriteAt([]byte("hello"), 3); n != 5 || err != nil {
				t.Fatalf("write: %d %v", n, err)
			}
			b := []byte("xxxxxxxxxx")
			if n, err := f.ReadAt(b, 0); n != 8 || err != io.EOF || string(b[:8]) != "\x00\x00\x00hello" {
				t.Fatalf("read: %d %v %q", n, err, b)
			}
			if n, err := f.ReadAt(b[:2], 3); n != 2 || err != nil || string(b[:2]) != "he" {
				t.Fatalf("read: %d %v %q", n, err, b[:2])
			}
			if n, err := f.ReadAt(b, 100); n != 0 || err != io.EOF {
				t.Fatalf("read behind the end: %d %v", n, err)
			}
			must(t, f.Truncate(5))
			must(t, f.Allocate(4, 6))
			if size, err := f.Size(); size != 10 || err != nil {
				t.Fatalf("size %d %v", size, err)
			}
			must(t, f.Allocate(0, 2))
			if n, err := f.ReadAt(b, 0); n != 10 || string(b) != "\x00\x00\x00he\x00\x00\x00\x00\x00" {
				t.Fatalf("read: %d %v %q", n, err, b)
			}
			must(t, f.Sync())
			must(t, f.Datasync())
			must(t, f.Close())
			if err := f.Close(); !errors.Is(err, fs.ErrClosed) {
				t.Fatalf("second close: %v", err)
			}
			if _, err := f.ReadAt(b, 0); !errors.Is(err, fs.ErrClosed) {
				t.Fatalf("read of a closed file: %v", err)
			}

			must(t, WriteFileSync(fsys, path, []byte("new"), nil, []byte(" content")))
			if b, err := ReadFile(fsys, path, 11); err != nil || string(b) != "new content" {
				t.Fatalf("%q %v", b, err)
			}
			if _, err := ReadFile(fsys, path, 10); err == nil {
				t.Fatal("a file above the limit is read")
			}
			f, err = fsys.OpenFile(path, os.O_RDONLY)
			must(t, err)
			if _, err := f.WriteAt([]byte("x"), 0); err == nil {
				t.Fatal("write to a file opened for reading")
			}
			must(t, fsys.Rename(path, path+"2"))
			must(t, WriteFileSync(fsys, path, []byte("other")))
			must(t, fsys.MkdirAll(filepath.Join(dir, "sub")))
			entries, err := fsys.ReadDir(dir)
			must(t, err)
			if got := fmt.Sprint(entries); got != "[{file false} {file2 false} {sub true}]" {
				t.Fatal(got)
			}
			must(t, fsys.Remove(path+"2"))
			if n, err := f.ReadAt(b[:3], 0); n != 3 || string(b[:3]) != "new" {
				t.Fatalf("read of a removed file that is open: %d %v %q", n, err, b[:3])
			}
			must(t, f.Close())
			if info, err := fsys.Stat(path); err != nil || info != (Info{Size: 5}) {
				t.Fatalf("%+v %v", info, err)
			}
			if info, err := fsys.Stat(dir); err != nil || info != (Info{Dir: true}) {
				t.Fatalf("%+v %v", info, err)
			}
			f, err = fsys.Create(path)
			must(t, err)
			if size, err := f.Size(); size != 0 || err != nil {
				t.Fatalf("size %d %v", size, err)
			}
			must(t, f.Close())
			if err := fsys.Remove(dir); err == nil {
				t.Fatal("a directory that is not empty was removed")
			}
			if err := fsys.MkdirAll(filepath.Join(path, "below")); err == nil {
				t.Fatal("a directory was made below a file")
			}
			if _, err := fsys.ReadDir(path); err == nil {
				t.Fatal("a file was listed")
			}
			if total, free, err := fsys.Space(root); err != nil || total <= 0 || free <= 0 || free > total {
				t.Fatalf("%d of %d free, %v", free, total, err)
			}
			must(t, fsys.RemoveAll(filepath.Join(root, "a")))
			if _, err := fsys.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("after removal: %v", err)
			}
		})
	}
}

// TestMemFileAgainstSlice compares the pages of a memory file with a plain slice.
func TestMemFileAgainstSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fsys := NewMem()
		f, err := fsys.Create("/f")
		if err != nil {
			t.Fatal(err)
		}
		var want []byte
		offset := rapid.OneOf(rapid.Int64Range(0, 300), rapid.Int64Range(pageBytes-10, pageBytes+10), rapid.Int64Range(0, 3*pageBytes))
		grow := func(n int64) {
			if n > int64(len(want)) {
				want = append(want, make([]byte, n-int64(len(want)))...)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"write": func(t *rapid.T) {
				off, n := offset.Draw(t, "off"), offset.Draw(t, "n")
				b := bytes.Repeat([]byte{byte(rapid.IntRange(1, 255).Draw(t, "byte"))}, int(n))
				if _, err := f.WriteAt(b, off); err != nil {
					t.Fatal(err)
				}
				if n > 0 {
					grow(off + n)
					copy(want[off:], b)
				}
			},
			"truncate": func(t *rapid.T) {
				n := offset.Draw(t, "size")
				if err := f.Truncate(n); err != nil {
					t.Fatal(err)
				}
				grow(n)
				want = want[:n:n]
			},
			"sync": func(t *rapid.T) {
				if err := errors.Join(f.Sync(), fsys.SyncDir("/")); err != nil {
					t.Fatal(err)
				}
				for seed := range uint64(3) { // what is synced survives as it is
					c := fsys.CrashClone(rand.New(rand.NewPCG(seed, 0)))
					if b, err := ReadFile(c, "/f", 1<<30); err != nil || !bytes.Equal(b, want) {
						t.Fatalf("after a crash %d bytes, want %d, %v", len(b), len(want), err)
					}
				}
			},
			"": func(t *rapid.T) {
				b, err := ReadFile(fsys, "/f", 1<<30)
				if err != nil || !bytes.Equal(b, want) {
					t.Fatalf("%d bytes, want %d, %v", len(b), len(want), err)
				}
			},
		})
	})
}

// outcomes counts what many crashes leave.
func outcomes(fsys *Mem, look func(c *Mem) string) map[string]int {
	got := map[string]int{}
	for seed := range uint64(400) {
		got[look(fsys.CrashClone(rand.New(rand.NewPCG(seed, 1))))]++
	}
	return got
}

func content(fsys FS, name string) string {
	b, err := ReadFile(fsys, name, 1<<20)
	if err != nil {
		return "none"
	}
	return string(b)
}

func TestCrashLosesUnsyncedNames(t *testing.T) {
	fsys := NewMem()
	must(t, fsys.MkdirAll("/d"))
	must(t, fsys.SyncDir("/"))
	f, err := fsys.Create("/d/f")
	must(t, err)
	_, err = f.WriteAt([]byte("synced"), 0)
	must(t, err)
	must(t, f.Sync())
	look := func(c *Mem) string { return content(c, "/d/f") }
	if got := outcomes(fsys, look); got["none"] == 0 || got["synced"] == 0 || len(got) != 2 {
		t.Fatalf("name not synced: %v", got)
	}
	must(t, fsys.SyncDir("/d"))
	if got := outcomes(fsys, look); got["synced"] != 400 {
		t.Fatalf("name synced: %v", got)
	}
	must(t, fsys.Remove("/d/f"))
	if got := outcomes(fsys, look); got["none"] == 0 || got["synced"] == 0 || len(got) != 2 {
		t.Fatalf("removal not synced: %v", got)
	}
	must(t, fsys.SyncDir("/d"))
	if got := outcomes(fsys, look); got["none"] != 400 {
		t.Fatalf("removal synced: %v", got)
	}
	must(t, WriteFileSync(fsys, "/d/g", []byte("old")))
	f, err = fsys.Create("/d/h")
	must(t, err)
	_, err = f.WriteAt([]byte("new"), 0)
	must(t, err)
	must(t, f.Sync())
	must(t, fsys.Rename("/d/h", "/d/g"))
	if got := outcomes(fsys, func(c *Mem) string { return content(c, "/d/g") }); got["old"] == 0 || got["new"] == 0 || len(got) != 2 {
		t.Fatalf("rename: %v", got)
	}
}

func TestCrashTearsUnsyncedWrites(t *testing.T) {
	fsys := NewMem()
	f, err := fsys.Create("/f")
	must(t, err)
	must(t, fsys.SyncDir("/"))
	a, b := bytes.Repeat([]byte("a"), 2048), bytes.Repeat([]byte("b"), 2048)
	_, err = f.WriteAt(a, 0)
	must(t, err)
	must(t, f.Datasync())
	_, err = f.WriteAt(b, 1000)
	must(t, err)
	kinds := outcomes(fsys, func(c *Mem) string {
		s := content(c, "/f")
		if len(s) < 2048 || len(s) > 3048 || s[:1000] != string(a[:1000]) {
			t.Fatalf("what was synced is gone: %d bytes", len(s))
		}
		got := s[1000:min(len(s), 2048)]
		switch {
		case s == string(a):
			return "nothing"
		case s == string(a[:1000])+string(b):
			return "everything"
		case bytes.Count([]byte(got), []byte("a"))+bytes.Count([]byte(got), []byte("b")) == len(got):
			return "mixed"
		}
		return "wrong"
	})
	if kinds["nothing"] == 0 || kinds["everything"] == 0 || kinds["mixed"] == 0 || kinds["wrong"] > 0 {
		t.Fatal(kinds)
	}
}

func TestCrashCloneIsRepeatable(t *testing.T) {
	fsys := NewMem()
	for i := range 20 {
		f, err := fsys.Create(fmt.Sprintf("/f%d", i))
		must(t, err)
		_, err = f.WriteAt(bytes.Repeat([]byte{byte(i)}, 3000), 0)
		must(t, err)
	}
	look := func(seed uint64) (all string) {
		c := fsys.CrashClone(rand.New(rand.NewPCG(seed, 0)))
		for i := range 20 {
			all += content(c, fmt.Sprintf("/f%d", i))
		}
		return all
	}
	for seed := range uint64(20) {
		if first, second := look(seed), look(seed); first != second {
			t.Fatalf("seed %d gives two outcomes", seed)
		}
	}
}

func TestLostSyncStaysLost(t *testing.T) {
	disk := NewMem()
	fail := false
	fsys := Inject(disk, func(op Op) *Fault {
		if fail && op.Kind == OpSync {
			return &Fault{Err: syscall.EIO, Lose: true}
		}
		return nil
	})
	f, err := fsys.Create("/f")
	must(t, err)
	must(t, fsys.SyncDir("/"))
	_, err = f.WriteAt([]byte("x"), 0)
	must(t, err)
	fail = true
	if err := f.Sync(); !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	fail = false
	must(t, f.Sync()) // says nothing of the page it dropped
	if content(fsys, "/f") != "x" {
		t.Fatal("not readable while the power lasts")
	}
	if got := outcomes(disk, func(c *Mem) string { return content(c, "/f") }); got[""] != 400 {
		t.Fatal(got)
	}
}

// TestInjectedFaults makes every operation fail in turn.
func TestInjectedFaults(t *testing.T) {
	var kind OpKind
	var on bool
	fault := Fault{Err: syscall.ENOSPC}
	disk := NewMem()
	fsys := Inject(disk, func(op Op) *Fault {
		if on && op.Kind == kind {
			return &fault
		}
		return nil
	})
	f, err := fsys.Create("/f")
	must(t, err)
	b := make([]byte, 4)
	do := map[OpKind]func() error{
		OpOpen:     func() error { _, err := fsys.OpenFile("/f", os.O_RDWR); return err },
		OpRemove:   func() error { return fsys.Remove("/f") },
		OpRename:   func() error { return fsys.Rename("/f", "/g") },
		OpMkdir:    func() error { return fsys.MkdirAll("/d") },
		OpReadDir:  func() error { _, err := fsys.ReadDir("/"); return err },
		OpStat:     func() error { _, err := fsys.Stat("/f"); return err },
		OpSyncDir:  func() error { return fsys.SyncDir("/") },
		OpRead:     func() error { _, err := f.ReadAt(b, 0); return err },
		OpWrite:    func() error { _, err := f.WriteAt([]byte("abcd"), 0); return err },
		OpSync:     func() error { return f.Datasync() },
		OpTruncate: func() error { return f.Truncate(0) },
		OpAllocate: func() error { return f.Allocate(0, 10) },
	}
	on = true
	for k, op := range do {
		kind = k
		if err := op(); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("kind %d: %v", k, err)
		}
	}
	if _, err := fsys.Create("/x"); kind == OpOpen && !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	kind, fault.Keep = OpWrite, 3
	if n, err := f.WriteAt([]byte("abcd"), 0); n != 3 || !errors.Is(err, syscall.ENOSPC) || content(disk, "/f") != "abc" {
		t.Errorf("short write: %d %v %q", n, err, content(disk, "/f"))
	}
	fault = Fault{Flip: 1 + 8}
	if n, err := f.WriteAt([]byte("aaaa"), 0); n != 4 || err != nil || content(disk, "/f") != "a`aa" {
		t.Errorf("flipped write: %d %v %q", n, err, content(disk, "/f"))
	}
	kind = OpRead
	if n, err := f.ReadAt(b, 0); n != 4 || err != nil || string(b) != "aaaa" {
		t.Errorf("flipped read: %d %v %q", n, err, b)
	}
}

func TestVolatileKeepsNothingTwice(t *testing.T) {
	fsys := NewVolatile()
	f, err := fsys.Create("/f")
	must(t, err)
	for i := range int64(100) {
		_, err := f.WriteAt([]byte("x"), i)
		must(t, err)
	}
	d := f.(*memFile).data
	must(t, f.Sync())
	if len(d.ops) > 0 || d.stable.size > 0 || len(fsys.root.ops) > 0 {
		t.Fatal("changes are tracked")
	}
}

func TestMemConcurrently(t *testing.T) {
	fsys := NewMem()
	f, err := fsys.Create("/f")
	must(t, err)
	var all sync.WaitGroup
	for i := range int64(4) {
		all.Go(func() {
			b := make([]byte, 100)
			for k := range int64(100) {
				f.WriteAt(b, i*5000+k*10)
				f.ReadAt(b, k)
				f.Datasync()
				name := fmt.Sprintf("/g%d", i)
				WriteFileSync(fsys, name, b)
				fsys.ReadDir("/")
			}
		})
	}
	all.Go(func() {
		for seed := range uint64(20) {
			fsys.CrashClone(rand.New(rand.NewPCG(seed, 0)))
		}
	})
	all.Wait()
}

// TestMkdirAllSyncAfterAKill makes every operation of it the last one, tries again, and cuts the power.
func TestMkdirAllSyncAfterAKill(t *testing.T) {
	for last := range 20 {
		disk, n := NewMem(), 0
		killed := Inject(disk, func(op Op) *Fault {
			if n++; n > last && op.Kind != OpStat {
				return &Fault{Err: syscall.EIO}
			}
			return nil
		})
		MkdirAllSync(killed, "/a/b/c")
		must(t, MkdirAllSync(disk, "/a/b/c"))
		if got := outcomes(disk, func(c *Mem) string { _, err := c.Stat("/a/b/c"); return fmt.Sprint(err) }); got["<nil>"] != 400 {
			t.Fatalf("killed after %d operations: %v", last, got)
		}
	}
}
