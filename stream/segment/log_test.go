package segment

import (
	"fmt"
	"testing"

	"godwit/stream/vfs"
)

func TestLogReopens(t *testing.T) {
	for _, policy := range []SyncPolicy{SyncAlways, SyncInterval, SyncOS} {
		for _, disk := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v, disk %v", policy, disk), func(t *testing.T) {
				o := testOptions(vfs.NewMem())
				if disk {
					o.FS, o.Dir = vfs.OS(), t.TempDir()+"/a/b"
				}
				o.Sync = policy
				var all []message
				for round := range 4 {
					w, report := openWriter(t, o)
					if len(report.Damage) > 0 || report.Cut > 0 {
						t.Fatalf("round %d: %+v", round, report)
					}
					checkAll(t, w.log, all)
					w.time = int64(round * 1000)
					for i := range 40 {
						must(t, w.append(text(i, 10), text(i, 700), text(i, 1)))
						if i%5 == 0 {
							must(t, w.command("command"))
						}
						if i%3 == 0 {
							w.flush(t, i%2 == 0)
						}
					}
					all = append(all, w.messages...)
					checkAll(t, w.log, all)
					must(t, w.log.Close())
				}
				w, report := openWriter(t, o)
				if report.Replayed != 4*48 || report.Segments < 5 {
					t.Fatalf("%+v", report)
				}
				checkAll(t, w.log, all)
				must(t, w.log.Close())
			})
		}
	}
}
