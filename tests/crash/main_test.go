// Package crash kills the server with SIGKILL while it works, starts it again, and compares what
// is there with what it had promised.
//
// GODWIT_CRASH_ROUNDS sets the number of rounds; every failure prints the seed of its random
// choices, which GODWIT_CRASH_SEED repeats as far as the timing of a kill allows.
package crash

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"godwit/tests/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// seeded returns the random choices of a test, which prints the seed. Tests differ by their number.
func seeded(t *testing.T, number uint64) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("GODWIT_CRASH_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("GODWIT_CRASH_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, number))
}
