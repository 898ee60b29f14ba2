package segment

import (
	"errors"
	"fmt"
)

var (
	// ErrClosed: the log was closed.
	ErrClosed = errors.New("segment: log is closed")
	// ErrFailed: a write or sync failed earlier, so the log takes no more batches. The cause is wrapped.
	ErrFailed = errors.New("segment: log failed")
	// ErrBatchTooLarge: the body exceeds Options.MaxBatchBytes.
	ErrBatchTooLarge = errors.New("segment: batch too large")
	// ErrBadBatch: a batch given to Append contradicts itself: unknown kind, or records that do not match its count.
	ErrBadBatch = errors.New("segment: malformed batch")
	// ErrOutOfOrder: the index of a batch is not the last one plus 1, or its base lies below sequences given before.
	ErrOutOfOrder = errors.New("segment: batch out of order")
	// ErrNoSpace: the disk is full, and the log waits for room. The cause is wrapped.
	ErrNoSpace = errors.New("segment: no space left")
	// ErrNotFound: the log holds no message of that sequence.
	ErrNotFound = errors.New("segment: message not found")
	// ErrNotFlushed: a checkpoint was to be saved of an index that was not handed to Flush yet.
	ErrNotFlushed = errors.New("segment: index not flushed")
	// ErrBadRecord: bytes that are no record.
	ErrBadRecord = errors.New("segment: malformed record")
	// ErrNewerFormat: intact data of a format that only a later version knows.
	ErrNewerFormat = errors.New("segment: written by a newer version")
	// ErrWrongKey: nothing that lies in the directory verifies with Options.Key.
	ErrWrongKey = errors.New("segment: no file verifies with this key")
)

// CorruptError says that stored bytes are not what was written.
type CorruptError struct {
	Path     string // file
	Position int64  // where in it
	Reason   string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("segment: %s at %d: %s", e.Path, e.Position, e.Reason)
}
