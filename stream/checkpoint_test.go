package stream

import "testing"

func TestCheckpointsFollowTheSizeOfSegments(t *testing.T) {
	for _, tt := range []struct {
		segment    int64
		last, want int
	}{
		{0, 1 << 30, checkpointSize},
		{256 << 20, 0, checkpointSize},
		{16 << 20, 0, checkpointSize},
		{16 << 10, 0, 64 << 10},
		{16 << 10, 1 << 20, 1 << 20},
		{16 << 10, 1 << 30, checkpointSize},
	} {
		k := checkpointing{size: tt.last}
		if got := k.limit(tt.segment); got != tt.want {
			t.Errorf("segments of %d bytes, state of %d: %d, want %d", tt.segment, tt.last, got, tt.want)
		}
	}
}
