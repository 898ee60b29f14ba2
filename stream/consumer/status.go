package consumer

import "strconv"

// The status lines of pull requests, heartbeats and flow control. Clients compare the texts.
const (
	statusLine       = "NATS/1.0 "
	statusBad        = "400 Bad Request - "
	statusNoMessages = "404 No Messages"
	statusTimeout    = "408 Request Timeout"
	statusPending    = "408 Requests Pending"
	statusInterest   = "408 Interest Expired"
	statusMaxBatch   = "409 Exceeded MaxRequestBatch of "
	statusMaxExpires = "409 Exceeded MaxRequestExpires of "
	statusMaxBytes   = "409 Exceeded MaxRequestMaxBytes of "
	statusMaxWaiting = "409 Exceeded MaxWaiting"
	statusTooLarge   = "409 Message Size Exceeds MaxBytes"
	statusBatchDone  = "409 Batch Completed"
	statusPush       = "409 Consumer is push based"
	statusDeleted    = "409 Consumer Deleted"
	statusShutdown   = "409 Server Shutdown"
	statusLevel      = "412 Required Api Level"
	statusHeartbeat  = "100 Idle Heartbeat"
	statusFlow       = "100 FlowControl Request"

	statusNotOverflow = statusBad + "Not a Overflow Priority consumer"
	statusNotPinned   = statusBad + "Not a Pinned Client Priority consumer"
	statusBadPriority = statusBad + "Priority must be between 0 and 9"
	statusNoGroup     = statusBad + "Priority Group missing"
	statusBadGroup    = statusBad + "Invalid Priority Group"
	statusPinMismatch = "423 Nats-Pin-Id mismatch"
	statusWrongPin    = "423 Nats-Wrong-Pin-Id"

	headerPendingMsgs  = "Nats-Pending-Messages: "
	headerPendingBytes = "Nats-Pending-Bytes: "
	headerLastConsumer = "Nats-Last-Consumer: "
	headerLastStream   = "Nats-Last-Stream: "
	headerStalled      = "Nats-Consumer-Stalled: "
	headerPin          = "Nats-Pin-Id: "
	headerMsgSize      = "Nats-Msg-Size: "
	crlf               = "\r\n"
)

// status sends a status without further headers.
func (c *Consumer) status(to []byte, text string) {
	b := append(c.head[:0], statusLine...)
	b = append(b, text...)
	b = append(b, crlf+crlf...)
	c.sendHead(to, nil, b)
}

// statusLeft sends a status that says what is left of a request.
func (c *Consumer) statusLeft(r *request, text string) {
	b := append(c.head[:0], statusLine...)
	b = append(b, text...)
	b = append(b, crlf+headerPendingMsgs...)
	b = strconv.AppendInt(b, int64(r.left), 10)
	b = append(b, crlf+headerPendingBytes...)
	b = strconv.AppendInt(b, int64(max(0, r.bytes)), 10)
	b = append(b, crlf+crlf...)
	c.sendHead(r.reply, nil, b)
}

// heartbeat sends the sign of life that says how far deliveries are; stalled is an unanswered flow control subject.
func (c *Consumer) heartbeat(to []byte, stalled []byte) int {
	b := append(c.head[:0], statusLine+statusHeartbeat+crlf+headerLastConsumer...)
	last := c.delivered
	if c.shared != nil {
		last = c.shared.last
	}
	b = strconv.AppendUint(b, last.Consumer, 10)
	b = append(b, crlf+headerLastStream...)
	b = strconv.AppendUint(b, last.Stream, 10)
	if len(stalled) > 0 {
		b = append(b, crlf+headerStalled...)
		b = append(b, stalled...)
	}
	b = append(b, crlf+crlf...)
	return c.sendHead(to, nil, b)
}

// sendHead sends a message that is only a header block, which lies in c.head.
func (c *Consumer) sendHead(to, reply, header []byte) int {
	c.head = header
	c.msg = Message{Subject: to, Reply: reply, Header: header}
	c.sending = true
	return c.out.Deliver(to, &c.msg)
}
