package websocket

import (
	"godwit/protocol/ws"
	"godwit/server/monitor"
)

// closeCode is the status with which a connection is closed for a reason.
func closeCode(r monitor.Reason) ws.CloseCode {
	switch r {
	case monitor.ReasonClientClosed:
		return ws.CloseNormal
	case monitor.ReasonReadError, monitor.ReasonWriteError, monitor.ReasonStaleConnection, monitor.ReasonServerShutdown:
		return ws.CloseGoingAway
	case monitor.ReasonParseError, monitor.ReasonProtocolViolation, monitor.ReasonBadClientProtocolVersion:
		return ws.CloseProtocol
	case monitor.ReasonAuthenticationTimeout, monitor.ReasonAuthenticationViolation, monitor.ReasonAuthenticationExpired,
		monitor.ReasonRevocation, monitor.ReasonMissingAccount, monitor.ReasonProxyNotTrusted, monitor.ReasonProxyRequired,
		monitor.ReasonSlowConsumerPendingBytes, monitor.ReasonSlowConsumerWriteDeadline, monitor.ReasonMaxConnectionsExceeded,
		monitor.ReasonMaxAccountConnectionsExceeded, monitor.ReasonMaxControlLineExceeded, monitor.ReasonMaxSubscriptionsExceeded:
		return ws.ClosePolicy
	case monitor.ReasonMaxPayloadExceeded:
		return ws.CloseTooBig
	case monitor.ReasonTLSHandshakeError:
		return ws.CloseTLS
	}
	return ws.CloseInternalError
}
