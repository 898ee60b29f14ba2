package monitor

import (
	"fmt"
	"net/http"
)

// HealthErrorType says what a problem concerns.
type HealthErrorType string

// The types.
const (
	HealthConnection HealthErrorType = "CONNECTION"
	HealthBadRequest HealthErrorType = "BAD_REQUEST"
	HealthJetStream  HealthErrorType = "JETSTREAM"
	HealthAccount    HealthErrorType = "ACCOUNT"
	HealthStream     HealthErrorType = "STREAM"
	HealthConsumer   HealthErrorType = "CONSUMER"
)

// JetStreamHealth says what state JetStream as a whole is in.
type JetStreamHealth struct {
	Configured bool   // the configuration asks for JetStream
	Enabled    bool   // it is running
	Meta       string // what is wrong with the metadata group, one of the Meta… texts; empty if nothing, or standalone
}

// What can be wrong with the metadata group.
const (
	MetaStopped    = "JetStream meta layer is not running"
	MetaRecovering = "JetStream is still recovering meta layer"
	MetaNoLeader   = "JetStream has not established contact with a meta leader"
	MetaNotCurrent = "JetStream is not current with the meta leader"
)

// MetaWriteError is the text for a metadata log that can't be written.
func MetaWriteError(err error) string { return "JetStream meta layer write error: " + err.Error() }

// MetaApplyError is the text for a metadata entry that can't be applied.
func MetaApplyError(err error) string { return "JetStream meta layer apply error: " + err.Error() }

// AssetSelector bounds a check of assets: all of them, or those of an account, or a stream, or a consumer.
type AssetSelector struct {
	Account, Stream, Consumer string
}

// HealthProblem is one finding of a health check and the HTTP status it is worth.
type HealthProblem struct {
	Code int
	HealthzError
}

// status is what HealthStatus.Status says of p.
func (p *HealthProblem) status() string {
	if p.Code == http.StatusBadRequest || p.Code == http.StatusInternalServerError {
		return healthError
	}
	return healthUnavailable
}

func badRequest(text string) HealthProblem {
	return HealthProblem{http.StatusBadRequest, HealthzError{Type: HealthBadRequest, Error: text}}
}

func problem(t HealthErrorType, text string) HealthProblem {
	return HealthProblem{http.StatusServiceUnavailable, HealthzError{Type: t, Error: text}}
}

// AccountMissing reports an account that was asked for and has no JetStream assets here.
func AccountMissing(account string) HealthProblem {
	return HealthProblem{http.StatusNotFound, HealthzError{Type: HealthAccount, Account: account,
		Error: fmt.Sprintf("JetStream account %q not found", account)}}
}

// StreamMissing reports a stream that was asked for and doesn't exist.
func StreamMissing(account, stream string) HealthProblem {
	return HealthProblem{http.StatusNotFound, HealthzError{Type: HealthStream, Account: account, Stream: stream,
		Error: fmt.Sprintf("JetStream stream %q not found on account %q", stream, account)}}
}

// ConsumerMissing reports a consumer that was asked for and doesn't exist.
func ConsumerMissing(account, stream, consumer string) HealthProblem {
	return HealthProblem{http.StatusNotFound, HealthzError{Type: HealthConsumer, Account: account, Stream: stream, Consumer: consumer,
		Error: fmt.Sprintf("JetStream consumer %q not found for stream %q on account %q", consumer, stream, account)}}
}

// AccountExpired reports, on a standalone server, an account that was asked for and has expired.
func AccountExpired(account string) HealthProblem {
	return accountProblem(account, fmt.Sprintf("JetStream account '%s' is expired", account))
}

// AccountUnresolved reports, on a standalone server, stored data of an account that isn't known.
func AccountUnresolved(account string) HealthProblem {
	return accountProblem(account, fmt.Sprintf("JetStream account '%s' could not be resolved", account))
}

// StreamUnrecovered reports, on a standalone server, stored data of a stream that wasn't loaded.
func StreamUnrecovered(account, stream string) HealthProblem {
	return streamProblem(account, stream, fmt.Sprintf("JetStream stream '%s > %s' could not be recovered", account, stream))
}

// StorageProblem reports what is wrong with the storage of all streams.
func StorageProblem(text string) HealthProblem {
	return problem(HealthJetStream, "JetStream storage: "+text)
}

// StreamWriteError reports, on a standalone server, a stream that can't be written.
func StreamWriteError(account, stream string, err error) HealthProblem {
	return streamProblem(account, stream, fmt.Sprintf("JetStream stream '%s > %s' write error: %v", account, stream, err))
}

// ClusterAccountExpired reports, in a cluster, an account that was asked for and has expired.
func ClusterAccountExpired(account string) HealthProblem {
	return accountProblem(account, fmt.Sprintf("JetStream account %q is expired", account))
}

// ClusterAccountLookup reports, in a cluster, an account that can't be looked up.
func ClusterAccountLookup(account string, err error) HealthProblem {
	return accountProblem(account, fmt.Sprintf("JetStream can not lookup account %q: %v", account, err))
}

// StreamNotCurrent reports, in a cluster, a replica of a stream that isn't current. The causes are listed in the
// monitoring specification, "stream catching up" among them.
func StreamNotCurrent(account, stream, cause string) HealthProblem {
	return streamProblem(account, stream, fmt.Sprintf("JetStream stream '%s > %s' is not current: %s", account, stream, cause))
}

// ConsumerNotCurrent reports, in a cluster, a replica of a consumer that isn't current.
func ConsumerNotCurrent(account, stream, consumer, cause string) HealthProblem {
	p := streamProblem(account, stream,
		fmt.Sprintf("JetStream consumer '%s > %s > %s' is not current: %s", account, stream, consumer, cause))
	p.Type, p.Consumer = HealthConsumer, consumer
	return p
}

func accountProblem(account, text string) HealthProblem {
	p := problem(HealthAccount, text)
	p.Account = account
	return p
}

func streamProblem(account, stream, text string) HealthProblem {
	p := problem(HealthStream, text)
	p.Account, p.Stream = account, stream
	return p
}
