package monitor

import (
	"errors"
	"fmt"
)

// Errors of requests. Over HTTP they are answered with status 400 and their text, over NATS with code 500.
var (
	ErrSortByStop    = errors.New("sort by stop only valid on closed connections")
	ErrSortByReason  = errors.New("sort by reason only valid on closed connections")
	ErrFilterSubject = errors.New("filter by subject only valid with account filtering")
	ErrNotLeader     = errors.New("filtered response: not leader")
	//lint:ignore ST1005 the answer's exact text
	ErrNoRaft = errors.New("No Raft nodes registered") // HTTP 404
	//lint:ignore ST1005 the answer's exact text
	ErrNoRaftMatched = errors.New("No Raft nodes returned, check supplied filters") // HTTP 404
)

// SortError is the answer to an unknown sort option.
type SortError struct{ Sort string }

func (e *SortError) Error() string { return "invalid sorting option: " + e.Sort }

// TestSubjectError is the answer to a test subject that could not be published to.
type TestSubjectError struct{ Subject string }

func (e *TestSubjectError) Error() string {
	return "invalid test subject, must be valid publish subject: " + e.Subject
}

// AccountError is the answer to the name of an account that doesn't exist.
type AccountError struct{ Account string }

func (e *AccountError) Error() string { return fmt.Sprintf("Account %s does not exist", e.Account) }

// ErrNoJetStream answers for an account when JetStream is off.
var ErrNoJetStream = errors.New("jetstream not enabled")

// JSAccountError answers for an account that doesn't exist, or doesn't use JetStream.
type JSAccountError struct {
	Account string
	Exists  bool
}

func (e *JSAccountError) Error() string {
	if e.Exists {
		return fmt.Sprintf("account %q not jetstream enabled", e.Account)
	}
	return fmt.Sprintf("account %q not found", e.Account)
}
