package options

import "time"

// Operator is a trusted operator, decoded from its JWT, whose signature was checked.
type Operator struct {
	JWT                 string
	Subject             string // public operator key
	Name                string
	SigningKeys         []string // public operator keys
	SystemAccount       string   // public account key; empty if it names none
	StrictSigning       bool     // only SigningKeys sign accounts
	AccountServerURL    string
	AssertServerVersion string
	Version             int // of the JWT
}

// ResolverKind says where account JWTs come from.
type ResolverKind int

const (
	ResolverMemory ResolverKind = iota // Options.ResolverPreload
	ResolverURL
	ResolverFull  // a directory with all of them, kept equal among servers
	ResolverCache // a directory of those recently asked for
)

// Resolver finds account JWTs.
type Resolver struct {
	Kind        ResolverKind
	URL         string
	Dir         string
	AllowDelete bool
	HardDelete  bool
	Interval    time.Duration // between synchronisations; 0 is the default
	TTL         time.Duration // of a cache entry; 0 is none
	Limit       int64         // entries; 0 is the default
	Timeout     time.Duration // of a fetch; 0 is the default
}
