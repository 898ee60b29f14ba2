package segment

import (
	"fmt"
	"time"
)

// Damage is a stretch of stored bytes that are not what was written although it had been durable. It is left as it is:
// a reader that meets it gets a CorruptError.
type Damage struct {
	Path     string
	Position int64
	Reason   string
}

func (d Damage) String() string { return fmt.Sprintf("%s at %d: %s", d.Path, d.Position, d.Reason) }

// Report says what Open found.
type Report struct {
	Segments   int
	Checkpoint uint64 // index of the one that was restored; 0 if none
	Replayed   int    // batches
	Cut        int64  // bytes of batches that were never durable and are gone
	Damage     []Damage
	Duration   time.Duration
}
