package segment

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"godwit/stream/vfs"
)

// closedLog makes a log of several segments, index files, two checkpoints and a mark, and returns what is in it.
func closedLog(t testing.TB, o Options) ([]message, digest) {
	t.Helper()
	w, _ := openWriter(t, o)
	for i := range 50 {
		if i%7 == 3 {
			must(t, w.command(text(i, 20)))
		} else {
			must(t, w.append(text(i, 300), text(i, i), text(i, 900)))
		}
		w.flush(t, true)
		if i == 20 || i == 35 {
			c := o
			c.FS = copyFS(t, o.FS)
			state := stateOf(t, c)
			must(t, w.log.SaveCheckpoint(w.index, state.encode()))
		}
	}
	must(t, w.log.Close())
	l, report, err := Open(o)
	must(t, err)
	if report.Checkpoint != 36 || report.Replayed != 14 || len(report.Damage) > 0 {
		t.Fatalf("%+v", report)
	}
	must(t, l.Close())
	return w.messages, stateOf(t, o)
}

// stateOf returns the digest of all batches, without use of checkpoints.
func stateOf(t testing.TB, o Options) digest {
	t.Helper()
	fsys := copyFS(t, o.FS)
	entries, err := fsys.ReadDir(o.Dir)
	must(t, err)
	for _, e := range entries {
		if strings.HasSuffix(e.Name, extCheckpoint) {
			must(t, fsys.Remove(filepath.Join(o.Dir, e.Name)))
		}
	}
	var state digest
	o.FS = fsys
	o.Replay = func(h Head, body []byte) error { state.add(&h, body); return nil }
	l, _, err := Open(o)
	must(t, err)
	must(t, l.Close())
	return state
}

// copyFS returns a copy of everything, synced.
func copyFS(t testing.TB, fsys vfs.FS) *vfs.Mem {
	t.Helper()
	to := vfs.NewMem()
	var walk func(dir string)
	walk = func(dir string) {
		must(t, to.MkdirAll(dir))
		entries, err := fsys.ReadDir(dir)
		must(t, err)
		for _, e := range entries {
			path := filepath.Join(dir, e.Name)
			if e.Dir {
				walk(path)
				continue
			}
			b, err := vfs.ReadFile(fsys, path, math.MaxInt32)
			if errors.Is(err, fs.ErrNotExist) {
				continue // renamed meanwhile by a log at work
			}
			must(t, err)
			must(t, vfs.WriteFileSync(to, path, b))
		}
	}
	walk("/")
	return to
}

// change edits a file in place.
func change(t testing.TB, fsys vfs.FS, path string, edit func(b []byte) []byte) {
	t.Helper()
	b, err := vfs.ReadFile(fsys, path, math.MaxInt32)
	must(t, err)
	must(t, vfs.WriteFileSync(fsys, path, edit(b)))
}

// readAround reads what can be read, skipping damage, and fails if anything is not what was written.
func readAround(l *Log, want []message) (found, damaged int, err error) {
	c := l.NewCursor(0)
	var r Record
	bySeq := map[uint64]*message{}
	for i := range want {
		bySeq[want[i].seq] = &want[i]
	}
	last := uint64(0)
	for {
		seq, time, ok, err := c.Next(math.MaxUint64, &r)
		var corrupt *CorruptError
		switch {
		case errors.As(err, &corrupt):
			damaged++
			if damaged > 1000 {
				return found, damaged, errors.New("skip does not get on")
			}
			c.Skip()
			continue
		case err != nil:
			return found, damaged, err
		case !ok:
			return found, damaged, nil
		}
		m := bySeq[seq]
		if m == nil || seq <= last {
			return found, damaged, fmt.Errorf("message %d after %d", seq, last)
		}
		if err := m.check(time, &r); err != nil {
			return found, damaged, err
		}
		last = seq
		found++
		if found%10 == 0 {
			if at := l.SeqAt(m.time); at > seq {
				return found, damaged, fmt.Errorf("sequence at time of %d is %d", seq, at)
			}
		}
	}
}

// TestBitFlips flips single bits in every file of a closed log: what is not served is reported, and what is served is
// right.
func TestBitFlips(t *testing.T) {
	o := testOptions(vfs.NewMem())
	messages, state := closedLog(t, o)
	entries, err := o.FS.ReadDir(o.Dir)
	must(t, err)
	rng := rand.New(rand.NewPCG(1, 2))
	files := map[string]int{}
	for _, e := range entries {
		path := filepath.Join(o.Dir, e.Name)
		info, err := o.FS.Stat(path)
		must(t, err)
		// Heads are worth more than bodies.
		places := []int64{0, 9, 21, 33, 41, 49, 57, 65, 100, 130, 137, 141, 145, 161, 170, 187, 190, info.Size - 1}
		for range 30 {
			places = append(places, rng.Int64N(info.Size))
		}
		for _, at := range places {
			if at >= info.Size {
				continue
			}
			bit := rng.IntN(8)
			files[filepath.Ext(e.Name)]++
			if err := flipOne(t, o, path, at, bit, messages, state); err != nil {
				t.Fatalf("%s, byte %d bit %d: %v", e.Name, at, bit, err)
			}
		}
	}
	for _, ext := range []string{extLog, extIndex, extTime, extCheckpoint, ""} {
		if files[ext] == 0 {
			t.Errorf("no file %q in %v", ext, files)
		}
	}
}

func flipOne(t *testing.T, o Options, path string, at int64, bit int, messages []message, want digest) error {
	disk := copyFS(t, o.FS)
	change(t, disk, path, func(b []byte) []byte { b[at] ^= 1 << bit; return b })
	var state digest
	gap := false
	o.FS = disk
	o.Restore = state.decode
	o.Replay = func(h Head, body []byte) error {
		gap = gap || h.Index != state.index+1
		state.add(&h, body)
		return nil
	}
	l, report, err := Open(o)
	if err != nil {
		return err
	}
	defer l.Close()
	if report.Cut > 0 {
		return fmt.Errorf("cut: %+v", report)
	}
	if (gap || state != want) && len(report.Damage) == 0 {
		return fmt.Errorf("wrong state without damage: %+v", report)
	}
	found, damaged, err := readAround(l, messages)
	if err != nil {
		return err
	}
	if found < len(messages) && damaged+len(report.Damage) == 0 {
		return fmt.Errorf("found %d of %d messages and no damage", found, len(messages))
	}
	if found < len(messages)-3 && !strings.HasSuffix(path, extLog) {
		return fmt.Errorf("found %d of %d messages", found, len(messages))
	}
	if found < len(messages)-3 { // a batch has at most 3
		return fmt.Errorf("found %d of %d messages, more than a batch is gone", found, len(messages))
	}
	return nil
}

// TestTornTail cuts the last batches at every byte, and puts zeros or garbage behind the cut: batches before stay, the
// log goes on, and nothing is taken for damage.
func TestTornTail(t *testing.T) {
	o := testOptions(vfs.NewMem())
	w, _ := openWriter(t, o)
	must(t, w.append("one", "two"))
	must(t, w.append("three"))
	w.flush(t, true)
	kept := w.messages
	_, err := w.log.Flush(true)
	must(t, err)
	disk := copyFS(t, o.FS) // as if the process were killed
	must(t, w.append("four", "five"))
	must(t, w.append("six"))
	w.flush(t, true)
	whole, err := vfs.ReadFile(o.FS, w.log.active.logPath(), math.MaxInt32)
	must(t, err)
	end := w.log.active.size.Load()
	path := w.log.active.logPath()
	must(t, w.log.Close())
	before, err := vfs.ReadFile(disk, path, math.MaxInt32)
	must(t, err)
	start := len(before)
	for start > 0 && before[start-1] == 0 {
		start--
	}
	fourth := start
	var h batchHead
	h.get(whole[fourth:])
	fifth := fourth + h.length
	garbage := []byte("garbage that is no batch")
	for n := fourth; n < int(end); n++ {
		for _, behind := range [][]byte{nil, make([]byte, 100), garbage} {
			again := copyFS(t, disk)
			change(t, again, path, func([]byte) []byte { return append(whole[:n:n], behind...) })
			o.FS = again
			v, report := openWriter(t, o)
			want := kept
			if n >= fifth {
				want = w.messages[:len(w.messages)-1]
			}
			if len(report.Damage) > 0 {
				t.Fatalf("cut at %d: %+v", n, report)
			}
			checkAll(t, v.log, want)
			v.messages = append([]message(nil), want...)
			v.time = 1000
			must(t, v.append("seven"))
			must(t, v.log.Close())
			v2, report := openWriter(t, o)
			if len(report.Damage) > 0 || report.Cut > 0 {
				t.Fatalf("cut at %d, second time: %+v", n, report)
			}
			checkAll(t, v2.log, v.messages)
			must(t, v2.log.Close())
		}
	}
}

// damageCase changes the files of a closed log of 50 batches.
type damageCase struct {
	name   string
	edit   func(t *testing.T, o Options, segments []string)
	reason string // in one of the damages reported
	lost   int    // messages that cannot be read, at most
}

func TestDamageIsReported(t *testing.T) {
	path := func(o Options, name string) string { return filepath.Join(o.Dir, name) }
	noCheckpoints := func(t *testing.T, o Options) {
		entries, err := o.FS.ReadDir(o.Dir)
		must(t, err)
		for _, e := range entries {
			if strings.HasSuffix(e.Name, extCheckpoint) {
				must(t, o.FS.Remove(path(o, e.Name)))
			}
		}
	}
	cases := []damageCase{
		{"sealed segment", func(t *testing.T, o Options, segments []string) {
			noCheckpoints(t, o)
			change(t, o.FS, path(o, segments[0]), func(b []byte) []byte { b[1000] ^= 1; return b })
		}, "hash of batch", 3},
		{"sealed segment", func(t *testing.T, o Options, segments []string) {
			noCheckpoints(t, o)
			change(t, o.FS, path(o, segments[0]), func(b []byte) []byte { b[1000] ^= 1; return b })
		}, "hash of a short batch", 3},
		{"last batch", func(t *testing.T, o Options, segments []string) {
			change(t, o.FS, path(o, segments[len(segments)-1]), func(b []byte) []byte { b[len(b)-1] ^= 1; return b })
		}, "hash of batch 50", 3},
		{"cut at a batch", func(t *testing.T, o Options, segments []string) {
			change(t, o.FS, path(o, segments[len(segments)-1]), func(b []byte) []byte { return b[:lastBatch(b)] })
		}, "log ends at index 49, but 50 had been durable", 3},
		{"cut within a batch", func(t *testing.T, o Options, segments []string) {
			change(t, o.FS, path(o, segments[len(segments)-1]), func(b []byte) []byte { return b[:len(b)-1] })
		}, "batch passes the end", 3},
		{"zeros in a segment", func(t *testing.T, o Options, segments []string) {
			noCheckpoints(t, o)
			change(t, o.FS, path(o, segments[1]), func(b []byte) []byte { clear(b[2000:2010]); return b })
		}, "hash of batch", 3},
		{"length in a head", func(t *testing.T, o Options, segments []string) {
			noCheckpoints(t, o)
			change(t, o.FS, path(o, segments[0]), func(b []byte) []byte { b[segmentHeadBytes+10] ^= 0x7f; return b })
		}, "checksum of a batch head", 3},
		{"length in a short head", func(t *testing.T, o Options, segments []string) {
			noCheckpoints(t, o)
			change(t, o.FS, path(o, segments[0]), func(b []byte) []byte { b[segmentHeadBytes+9] ^= 0x7f; return b })
		}, "short batch of", 3},
		{"segment head", func(t *testing.T, o Options, segments []string) {
			noCheckpoints(t, o)
			change(t, o.FS, path(o, segments[1]), func(b []byte) []byte { b[30] ^= 4; return b })
		}, "segment's head", 0},
		{"last segment's head", func(t *testing.T, o Options, segments []string) {
			change(t, o.FS, path(o, segments[len(segments)-1]), func(b []byte) []byte { b[30] ^= 4; return b })
		}, "segment's head", 0},
		{"head of the segment in which the checkpoint ends", func(t *testing.T, o Options, segments []string) {
			for i := range segments { // the one before the first whose first index is above
				b, err := vfs.ReadFile(o.FS, path(o, segments[i]), math.MaxInt32)
				must(t, err)
				var h segmentHead
				if ok, _ := h.decode(b, newHasher(o.Key)); ok && h.first > 36 {
					change(t, o.FS, path(o, segments[i-1]), func(b []byte) []byte { b[8] ^= 4; return b })
					return
				}
			}
			t.Fatal("no such segment")
		}, "segment's head", 0},
		{"segment missing", func(t *testing.T, o Options, segments []string) {
			noCheckpoints(t, o)
			must(t, o.FS.Remove(path(o, segments[1])))
		}, "are missing", 60},
		{"segment missing under a checkpoint", func(t *testing.T, o Options, segments []string) {
			must(t, o.FS.Remove(path(o, segments[0])))
		}, "segment is missing", 60},
		{"segment short under a checkpoint", func(t *testing.T, o Options, segments []string) {
			change(t, o.FS, path(o, segments[0]), func(b []byte) []byte { return b[:5000] })
		}, "file ends early", 40},
		{"last segment missing", func(t *testing.T, o Options, segments []string) {
			must(t, o.FS.Remove(path(o, segments[len(segments)-1])))
		}, "log ends at index", 40},
		{"segments swapped", func(t *testing.T, o Options, segments []string) {
			noCheckpoints(t, o)
			must(t, o.FS.Rename(path(o, segments[1]), path(o, "x")))
			must(t, o.FS.Rename(path(o, segments[2]), path(o, segments[1])))
			must(t, o.FS.Rename(path(o, "x"), path(o, segments[2])))
		}, "under another name", 150},
		{"newest checkpoint", func(t *testing.T, o Options, _ []string) {
			change(t, o.FS, path(o, checkpointFile{index: 36}.name()), func(b []byte) []byte { b[len(b)-1] ^= 1; return b })
		}, "hash of the checkpoint", 0},
		{"both checkpoints", func(t *testing.T, o Options, _ []string) {
			change(t, o.FS, path(o, checkpointFile{index: 36}.name()), func(b []byte) []byte { return b[:20] })
			change(t, o.FS, path(o, checkpointFile{index: 21}.name()), func(b []byte) []byte { return nil })
		}, "hash of the checkpoint", 0},
		{"checkpoint under another name", func(t *testing.T, o Options, _ []string) {
			must(t, o.FS.Rename(path(o, checkpointFile{index: 36}.name()), path(o, checkpointFile{index: 40}.name())))
		}, "under another name", 0},
		{"mark", func(t *testing.T, o Options, _ []string) {
			change(t, o.FS, path(o, markName), func(b []byte) []byte { b[20] ^= 1; return b })
		}, "hash of the mark", 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			o := testOptions(vfs.NewMem())
			if strings.Contains(c.reason, "short") {
				o.shortMost = shortMost
			}
			messages, want := closedLog(t, o)
			segments := segmentNames(t, o)
			if len(segments) < 4 {
				t.Fatalf("segments %v", segments)
			}
			c.edit(t, o, segments)
			var state digest
			o.Restore = state.decode
			o.Replay = func(h Head, body []byte) error { state.add(&h, body); return nil }
			w, report := openWriter(t, o)
			if !strings.Contains(fmt.Sprint(report.Damage), c.reason) || report.Cut > 0 {
				t.Fatalf("want %q, got %+v", c.reason, report)
			}
			found, damaged, err := readAround(w.log, messages)
			must(t, err)
			if found < len(messages)-c.lost || c.lost > 0 && found == len(messages) {
				t.Fatalf("found %d of %d messages, damage met %d times: %v", found, len(messages), damaged, report.Damage)
			}
			if c.lost == 0 && state != want {
				t.Fatalf("state %+v, want %+v", state, want)
			}
			// The log goes on behind the damage, with numbers never used before.
			if w.index != 50 || w.next < messages[len(messages)-1].seq+1 {
				t.Fatalf("goes on at index %d, sequence %d", w.index, w.next)
			}
			w.time = 1 << 40
			must(t, w.append("new"))
			w.flush(t, true)
			all := append(append([]message(nil), messages...), w.messages...)
			again, _, err := readAround(w.log, all)
			must(t, err)
			if again != found+1 {
				t.Fatalf("found %d messages after one more, before %d", again, found)
			}
			must(t, w.log.Close())
			w, report = openWriter(t, o)
			if w.index != 51 || report.Cut > 0 {
				t.Fatalf("reopened at index %d: %+v", w.index, report)
			}
			if again, _, err := readAround(w.log, all); err != nil || again != found+1 {
				t.Fatalf("reopened: found %d, %v", again, err)
			}
			must(t, w.log.Close())
		})
	}
}

func segmentNames(t *testing.T, o Options) (names []string) {
	t.Helper()
	entries, err := o.FS.ReadDir(o.Dir)
	must(t, err)
	for _, e := range entries {
		if strings.HasSuffix(e.Name, extLog) {
			names = append(names, e.Name)
		}
	}
	return names
}

// lastBatch returns where the last batch of a segment file begins.
func lastBatch(b []byte) int {
	pos, last := segmentHeadBytes, 0
	var h batchHead
	for pos+headLeast <= len(b) {
		h.get(b[pos:])
		last, pos = pos, pos+h.length
	}
	return last
}

func TestWrongKeyTouchesNothing(t *testing.T) {
	o := testOptions(vfs.NewMem())
	messages, _ := closedLog(t, o)
	wrong := o
	wrong.Key[0]++
	if _, _, err := Open(wrong); !errors.Is(err, ErrWrongKey) {
		t.Fatalf("got %v", err)
	}
	l, _, err := Open(o)
	must(t, err)
	checkAll(t, l, messages)
	must(t, l.Close())

	// Without mark and checkpoint it cannot be told from a crash, but the data stays beside.
	must(t, o.FS.RemoveAll(o.Dir))
	w, _ := openWriter(t, o)
	must(t, w.append("one"))
	w.flush(t, true)
	o.FS = copyFS(t, o.FS)
	must(t, w.log.Close())
	wrong.FS = o.FS
	l, report, err := Open(wrong)
	must(t, err)
	if report.Cut == 0 || l.LastIndex() != 0 {
		t.Fatalf("%+v", report)
	}
	if _, err := o.FS.Stat(filepath.Join(o.Dir, segmentName(1, 0)+extVoid)); err != nil {
		t.Fatal(err)
	}
	must(t, l.Close())
}

func TestNewerFormatIsRefused(t *testing.T) {
	o := testOptions(vfs.NewMem())
	closedLog(t, o)
	hash := newHasher(o.Key)
	path := func(name string) string { return filepath.Join(o.Dir, name) }
	edits := map[string]func(fsys vfs.FS){
		"batch": func(fsys vfs.FS) {
			segments := segmentNames(t, o)
			change(t, fsys, path(segments[len(segments)-1]), func(b []byte) []byte {
				batch := b[lastBatch(b):]
				batch[13]++
				hash.seal(batch)
				return b
			})
		},
		"short batch": func(fsys vfs.FS) {
			segments := segmentNames(t, o)
			change(t, fsys, path(segments[len(segments)-1]), func(b []byte) []byte {
				at := lastBatch(b)
				var h batchHead
				h.get(b[at:])
				batch := sealedBatch(hash, batchHead{Head: h.Head}, nil)
				batch[11] |= tagSpare
				hash.seal(batch)
				return append(b[:at], batch...)
			})
		},
		"unknown flags": func(fsys vfs.FS) {
			segments := segmentNames(t, o)
			change(t, fsys, path(segments[len(segments)-1]), func(b []byte) []byte {
				batch := b[lastBatch(b):]
				var h batchHead
				h.get(batch)
				long := sealedBatch(hash, batchHead{Head: h.Head, flags: 4}, make([]byte, shortMost))
				return append(b[:len(b)-len(batch)], long...)
			})
		},
		"segment": func(fsys vfs.FS) {
			segments := segmentNames(t, o)
			change(t, fsys, path(segments[len(segments)-1]), func(b []byte) []byte {
				b[16] = formatShort + 1
				hash.sealBlock(b[:segmentHeadBytes])
				return b
			})
		},
		"mark": func(fsys vfs.FS) {
			change(t, fsys, path(markName), func(b []byte) []byte { b[16]++; hash.sealBlock(b); return b })
		},
		"checkpoint": func(fsys vfs.FS) {
			change(t, fsys, path(checkpointFile{index: 36}.name()), func(b []byte) []byte {
				b[16]++
				hash.sealBlock(b[:len(b)-16])
				return b
			})
		},
	}
	for name, edit := range edits {
		t.Run(name, func(t *testing.T) {
			c := o
			c.FS = copyFS(t, o.FS)
			edit(c.FS)
			if _, _, err := Open(c); !errors.Is(err, ErrNewerFormat) {
				t.Fatalf("got %v", err)
			}
		})
	}
}

// TestRestoreRefuses falls back from a checkpoint that the owner does not take.
func TestRestoreRefuses(t *testing.T) {
	for refused := range 3 {
		o := testOptions(vfs.NewMem())
		messages, want := closedLog(t, o)
		var state digest
		var asked []uint64
		o.Restore = func(index uint64, b []byte) error {
			if asked = append(asked, index); len(asked) <= refused {
				return os.ErrInvalid
			}
			return state.decode(index, b)
		}
		o.Replay = func(h Head, body []byte) error { state.add(&h, body); return nil }
		l, report, err := Open(o)
		must(t, err)
		if state != want || len(report.Damage) != refused || report.Checkpoint != []uint64{36, 21, 0}[refused] {
			t.Fatalf("refused %d: %+v, state %+v, want %+v", refused, report, state, want)
		}
		checkAll(t, l, messages)
		must(t, l.Close())
	}
}
