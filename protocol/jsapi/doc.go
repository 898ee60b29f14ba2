// Package jsapi holds the JSON of the JetStream API: requests, responses, errors and the rules for names.
// It does no I/O and knows no streams; which keys are present in an answer is part of the contract.
package jsapi

// Level is the API level of this server; a request may demand one in the header HeaderRequiredLevel.
const Level = 5

// TypePrefix opens every response's type.
const TypePrefix = "io.nats.jetstream.api.v1."

// Prefix opens the subject of every request.
const Prefix = "$JS.API."

// HeaderRequiredLevel names the header by which a client demands an API level.
const HeaderRequiredLevel = "Nats-Required-Api-Level"

// Page sizes of list answers.
const (
	NamesPage    = 1024
	ListPage     = 256
	SubjectsPage = 100_000
)
