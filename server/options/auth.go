package options

import "time"

// User is one entry of an authorization users list: either a name with a password, or a public nkey.
type User struct {
	Username        string
	Password        string // plain text or a bcrypt hash
	Nkey            string // public user nkey (U…); then Username and Password are empty
	Account         string // the account's name; empty means $G
	Permissions     *Permissions
	ConnectionTypes []string // allowed connection types, upper case; empty means all
	ProxyRequired   bool
	Quota           *Quota // nil: Quotas.User of the server
}

// Permissions say which subjects a user may publish and subscribe to. A nil part restricts nothing.
type Permissions struct {
	Publish   *SubjectPermission
	Subscribe *SubjectPermission
	Response  *ResponsePermission
}

// SubjectPermission is a pair of subject lists. Deny beats Allow; an empty Allow restricts nothing.
// Subscribe entries may have a queue name behind the subject, separated by a blank.
type SubjectPermission struct {
	Allow []string
	Deny  []string
}

// ResponsePermission allows publishing to the reply subjects of received messages.
type ResponsePermission struct {
	MaxMsgs int           // replies per received message; negative means unlimited, default 1
	Expires time.Duration // how long after the message; negative means for ever, default 2 min
}

// Authorization is an authorization block: of the server, or of a listener that overrides it.
type Authorization struct {
	Username, Password string // single user
	Token              string
	Timeout            time.Duration // from accept to an accepted CONNECT; 0 means the default
	Users              []*User
	Defaults           *Permissions // of users without own permissions
	Callout            *AuthCallout
	ProxyRequired      bool
}

// AuthCallout delegates authentication to a service.
type AuthCallout struct {
	Issuer          string
	Account         string
	AuthUsers       []string
	XKey            string
	AllowedAccounts []string
}
