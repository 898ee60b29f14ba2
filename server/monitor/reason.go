package monitor

import "fmt"

// Reason says why a connection was closed. Its text is what /connz, the disconnect event and the log show.
type Reason uint8

// The reasons. The zero value is that of a connection that is open.
const (
	ReasonNone Reason = iota
	ReasonClientClosed
	ReasonAuthenticationTimeout
	ReasonAuthenticationViolation
	ReasonTLSHandshakeError
	ReasonSlowConsumerPendingBytes
	ReasonSlowConsumerWriteDeadline
	ReasonWriteError
	ReasonReadError
	ReasonParseError
	ReasonStaleConnection
	ReasonProtocolViolation
	ReasonBadClientProtocolVersion
	ReasonWrongPort
	ReasonMaxConnectionsExceeded
	ReasonMaxAccountConnectionsExceeded
	ReasonMaxPayloadExceeded
	ReasonMaxControlLineExceeded
	ReasonMaxSubscriptionsExceeded
	ReasonDuplicateRoute
	ReasonRouteRemoved
	ReasonServerShutdown
	ReasonAuthenticationExpired
	ReasonWrongGateway
	ReasonMissingAccount
	ReasonRevocation
	ReasonInternalClient
	ReasonMsgHeaderViolation
	ReasonNoRespondersRequiresHeaders
	ReasonClusterNameConflict
	ReasonDuplicateRemoteLeafnode
	ReasonDuplicateClientID
	ReasonDuplicateServerName
	ReasonMinimumVersionRequired
	ReasonClusterNamesIdentical
	ReasonKicked
	ReasonProxyNotTrusted
	ReasonProxyRequired
	reasonEnd
)

var reasonTexts = [reasonEnd]string{
	ReasonNone:                          "",
	ReasonClientClosed:                  "Client Closed",
	ReasonAuthenticationTimeout:         "Authentication Timeout",
	ReasonAuthenticationViolation:       "Authentication Failure",
	ReasonTLSHandshakeError:             "TLS Handshake Failure",
	ReasonSlowConsumerPendingBytes:      "Slow Consumer (Pending Bytes)",
	ReasonSlowConsumerWriteDeadline:     "Slow Consumer (Write Deadline)",
	ReasonWriteError:                    "Write Error",
	ReasonReadError:                     "Read Error",
	ReasonParseError:                    "Parse Error",
	ReasonStaleConnection:               "Stale Connection",
	ReasonProtocolViolation:             "Protocol Violation",
	ReasonBadClientProtocolVersion:      "Bad Client Protocol Version",
	ReasonWrongPort:                     "Incorrect Port",
	ReasonMaxConnectionsExceeded:        "Maximum Connections Exceeded",
	ReasonMaxAccountConnectionsExceeded: "Maximum Account Connections Exceeded",
	ReasonMaxPayloadExceeded:            "Maximum Message Payload Exceeded",
	ReasonMaxControlLineExceeded:        "Maximum Control Line Exceeded",
	ReasonMaxSubscriptionsExceeded:      "Maximum Subscriptions Exceeded",
	ReasonDuplicateRoute:                "Duplicate Route",
	ReasonRouteRemoved:                  "Route Removed",
	ReasonServerShutdown:                "Server Shutdown",
	ReasonAuthenticationExpired:         "Authentication Expired",
	ReasonWrongGateway:                  "Wrong Gateway",
	ReasonMissingAccount:                "Missing Account",
	ReasonRevocation:                    "Credentials Revoked",
	ReasonInternalClient:                "Internal Client",
	ReasonMsgHeaderViolation:            "Message Header Violation",
	ReasonNoRespondersRequiresHeaders:   "No Responders Requires Headers",
	ReasonClusterNameConflict:           "Cluster Name Conflict",
	ReasonDuplicateRemoteLeafnode:       "Duplicate Remote LeafNode Connection",
	ReasonDuplicateClientID:             "Duplicate Client ID",
	ReasonDuplicateServerName:           "Duplicate Server Name",
	ReasonMinimumVersionRequired:        "Minimum Version Required",
	ReasonClusterNamesIdentical:         "Cluster Names Identical",
	ReasonKicked:                        "Kicked",
	ReasonProxyNotTrusted:               "Proxy Not Trusted",
	ReasonProxyRequired:                 "Proxy Required",
}

// String returns the reason's text.
func (r Reason) String() string {
	if r < reasonEnd {
		return reasonTexts[r]
	}
	return "Unknown State"
}

// GoString names an unknown value in test failures.
func (r Reason) GoString() string { return fmt.Sprintf("Reason(%d: %s)", uint8(r), r.String()) }
