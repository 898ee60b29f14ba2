// Package harness runs the server under test as users do: as a process, from a configuration
// file, watched through its log, its monitoring port and its clients. The black-box tests of this
// folder are built on it.
//
// The binary is the one that the environment variable GODWIT_BIN names, so that the same tests
// can be held against another server; else Main builds this module's. GODWIT_PEER=1 tells the
// tests that the binary is nats-server itself: what Godwit does differently on purpose is then
// skipped, and everything else must hold.
package harness
