package segment

import (
	"errors"
	"fmt"
	"time"

	"godwit/stream/vfs"
)

// SyncPolicy says when what was flushed becomes durable.
type SyncPolicy uint8

const (
	// SyncAlways syncs every flush; nothing is reported safe before.
	SyncAlways SyncPolicy = iota
	// SyncInterval syncs at most Options.SyncEvery after a write; a power cut loses what came since.
	SyncInterval
	// SyncOS leaves it to the operating system, but for checkpoints and full segments.
	SyncOS
)

func (p SyncPolicy) String() string {
	switch p {
	case SyncAlways:
		return "always"
	case SyncInterval:
		return "interval"
	case SyncOS:
		return "os"
	}
	return fmt.Sprintf("SyncPolicy(%d)", uint8(p))
}

const (
	maxSegmentBytes = 2 << 30 // positions are stored as u32
	maxBodyBytes    = 1 << 30
	maxUnwritten    = 32 << 20 // bytes appended that wait to be written, beside one batch that may be larger
)

// Options configures a Log. Zero values mean the default written at the field.
type Options struct {
	Dir string   // required
	FS  vfs.FS   // default: the operating system
	Key [32]byte // keys every hash, so that a block from another partition never passes; the same at every Open

	SegmentBytes  int64         // a segment is sealed when the next batch would pass this; 4 KiB to 2 GiB; default 256 MiB
	MaxBatchBytes int           // bound of a batch's body, up to 1 GiB; default 16 MiB
	Sync          SyncPolicy    // default SyncAlways
	SyncEvery     time.Duration // longest unsynced time under SyncInterval; default 100 ms
	Scheduler     *Scheduler    // shared by all logs of a process; default: one of the log's own
	Cache         *Cache        // shared by all logs of a process; default: one of the log's own, of 4 MiB
	Tails         *Tails        // shared by all logs of a process; default: one of the log's own, of 8 MiB
	Pace          *Pace         // of rewriting, shared by all logs of a process; default: one of the log's own, of 64 MiB/s
	TailBytes     int64         // most memory of it for this log's tail blocks that are written already; default 8 MiB

	// Restore and Replay give back the state at Open; both run on its goroutine, in this order.
	//
	// Restore gets the newest valid checkpoint whose state is wholly within the log; it is not called if there is none.
	// state is given. If it returns an error, the checkpoint before that is tried and Restore called again, then the
	// state starts from nothing: Restore must begin anew each time.
	Restore func(index uint64, state []byte) error
	// Replay gets every batch after the checkpoint. body is lent. An error ends Open.
	Replay func(h Head, body []byte) error

	// OnDurable is called after everything up to index became durable, by the sync goroutine or inside Flush, never by
	// two goroutines at once. It must not block, nor call Flush or Close.
	OnDurable func(index uint64)
	// OnFailure is called once, when a write or sync failed and the log takes no more batches. It must not block.
	OnFailure func(err error)
	// OnIdle is called when the log has got no batch for a while, so that its owner gives back memory too. It must not
	// block.
	OnIdle func()

	shortMost int // largest batch with a short head; default shortMost. Tests want both forms among small batches.
}

// withDefaults returns a filled copy, and one error that names every bad field.
func (o Options) withDefaults() (Options, error) {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if o.Dir == "" {
		bad("Dir is required")
	}
	if o.FS == nil {
		o.FS = vfs.OS()
	}
	if o.Cache == nil {
		o.Cache = NewCache(defaultCacheBytes)
	}
	if o.SegmentBytes == 0 {
		o.SegmentBytes = 256 << 20
	}
	if o.SegmentBytes < 4<<10 || o.SegmentBytes > maxSegmentBytes {
		bad("SegmentBytes is %d, want 4 KiB to 2 GiB", o.SegmentBytes)
	}
	if o.shortMost == 0 {
		o.shortMost = shortMost
	}
	if o.MaxBatchBytes == 0 {
		o.MaxBatchBytes = 16 << 20
	}
	if o.MaxBatchBytes < 1 || o.MaxBatchBytes > maxBodyBytes {
		bad("MaxBatchBytes is %d, want 1 to 1 GiB", o.MaxBatchBytes)
	}
	if o.Sync > SyncOS {
		bad("Sync is %v", o.Sync)
	}
	if o.SyncEvery == 0 {
		o.SyncEvery = 100 * time.Millisecond
	}
	if o.SyncEvery < 0 {
		bad("SyncEvery is %v", o.SyncEvery)
	}
	if o.Tails == nil {
		o.Tails = NewTails(defaultTailsBytes)
	}
	if o.Pace == nil {
		o.Pace = NewPace(0)
	}
	if o.TailBytes == 0 {
		o.TailBytes = 8 << 20
	}
	if o.TailBytes < 0 {
		bad("TailBytes is %d", o.TailBytes)
	}
	if o.Restore == nil {
		o.Restore = func(uint64, []byte) error { return nil }
	}
	if o.Replay == nil {
		o.Replay = func(Head, []byte) error { return nil }
	}
	if o.OnDurable == nil {
		o.OnDurable = func(uint64) {}
	}
	if o.OnFailure == nil {
		o.OnFailure = func(error) {}
	}
	if o.OnIdle == nil {
		o.OnIdle = func() {}
	}
	if len(errs) > 0 {
		return o, fmt.Errorf("segment options: %w", errors.Join(errs...))
	}
	return o, nil
}
