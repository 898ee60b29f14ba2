// Package compat holds the server against what its clients see: bytes on a raw connection, the
// official Go client, and the nats command line tool. Every expectation was first taken from
// nats-server: with GODWIT_PEER=1 and GODWIT_BIN naming one, the tests pass against it too.
package compat

import (
	"os"
	"testing"

	"godwit/tests/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
