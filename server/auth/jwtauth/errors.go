package jwtauth

import "errors"

// Errors of account lookups and updates. Their texts reach operators, in replies and in the log.
var (
	// ErrNoAccount is returned when a resolver has no JWT of an account.
	ErrNoAccount = errors.New("account missing")
	// ErrInvalidAccount is returned for an account JWT that must not come into force: it is not by a trusted
	// operator, it is not valid, or not at this time.
	ErrInvalidAccount = errors.New("account validation failed")
	// ErrSubject is returned when a JWT is of another account than the one it was sent for.
	ErrSubject = errors.New("subject does not match jwt content")
	// ErrSigningKey is returned when an operator with strict signing key usage has signed with its own key.
	ErrSigningKey = errors.New("operator requires issuer to be a signing key")
	// ErrStoreFull is returned when a directory holds as many JWTs as it may.
	ErrStoreFull = errors.New("jwt store is full")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("operator mode is shut down")
	// ErrBusy is returned when an account was not found in time.
	ErrBusy = errors.New("fetching jwt timed out")
)

// Errors of JWTs.
var (
	errNotAccount  = errors.New("not account claim")
	errNotUser     = errors.New("not user claim")
	errUnreadable  = errors.New("claims cannot be read")
	errNullExport  = errors.New("null export is not allowed")
	errTooManySubs = errors.New("template makes too many subjects")
)

// Errors of a configuration. All texts are nats-server's.
var (
	errSentinelOperators = errors.New("default sentinel requires operators and accounts")
	errSentinelInvalid   = errors.New("default sentinel JWT not valid")
	errSentinelBearer    = errors.New("default sentinel must be a bearer token")
	errNoResolver        = errors.New("operators require an account resolver to be configured")
	errAccounts          = errors.New("operators do not allow Accounts to be configured directly")
	errUsers             = errors.New("operators do not allow users to be configured directly")
	errCallout           = errors.New("operators do not allow authorization callouts to be configured directly")
	errTrustedBoth       = errors.New("conflicting options for 'TrustedKeys' and 'TrustedOperators'")
	errSystemDiffers     = errors.New("system_account in config and operator JWT must be identical")
	errSystemNeeded      = errors.New("using nats based account resolver - the system account needs to be specified in configuration or the operator jwt")
	errNoAuthUser        = errors.New("no_auth_user not compatible with Trusted Operator")
)

// Errors of requests.
var (
	errEmptyBody     = errors.New("request body is empty")
	errDeleteOff     = errors.New("delete must be enabled in server config")
	errNotSelfSigned = errors.New("not self signed")
	errNotTrusted    = errors.New("not trusted")
	errMalformed     = errors.New("malformed request")
	errDeleteSystem  = errors.New("not allowed to delete system account")
	errExpired       = errors.New("request is expired")
	errPack          = errors.New("not a key and a jwt")
)
