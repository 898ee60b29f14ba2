// Package crash kills the server with SIGKILL while it works, starts it again, and compares what
// is there with what it had promised.
//
// GODWIT_CRASH_ROUNDS sets the number of rounds; every failure prints the seed of its random
// choices, which GODWIT_CRASH_SEED repeats as far as the timing of a kill allows.
package crash

import (
	"os"
	"testing"

	"godwit/tests/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
