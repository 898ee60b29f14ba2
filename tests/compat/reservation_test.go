package compat

import (
	"errors"
	"math"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"godwit/tests/harness"
)

// A max_bytes so large that sums with it could wrap around is as much too large as others.
func TestHugeReservationPassesTheLimit(t *testing.T) {
	s := harness.Start(t, harness.Options{Streams: true, StreamConfig: "max_file: 1GB"})
	js, err := jetstream.New(s.Connect(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "A", Subjects: []string{"a"}, MaxBytes: 500 << 20}); err != nil {
		t.Fatal(err)
	}
	var refused *jetstream.APIError
	for _, size := range []int64{600 << 20, math.MaxInt64} {
		_, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "B", Subjects: []string{"b"}, MaxBytes: size})
		if !errors.As(err, &refused) || refused.ErrorCode != 10047 {
			t.Errorf("%d: %v, want 10047", size, err)
		}
	}
}
