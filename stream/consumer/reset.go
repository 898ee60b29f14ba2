package consumer

import (
	"godwit/protocol/jsapi"
)

// ResetTo returns the stream sequence that a reset goes to, which is what follows the ack floor if the client named none
// (0). begin is where a consumer that starts by time begins.
func (c *Consumer) ResetTo(seq, begin uint64) (uint64, *jsapi.Error) {
	no := func(text string) (uint64, *jsapi.Error) {
		return 0, jsapi.Err(jsapi.ErrConsumerInvalidReset, "err", text)
	}
	if seq == 0 {
		c.follow()
		return c.floor.Stream + 1, nil
	}
	switch c.cfg.DeliverPolicy {
	case jsapi.DeliverAll:
	case jsapi.DeliverByStartSequence:
		if seq < c.Numbers.From(c.cfg.OptStartSeq) {
			return no("below start seq")
		}
	case jsapi.DeliverByStartTime:
		if seq < begin {
			return no("below start time")
		}
	default:
		return no("not allowed")
	}
	return seq, nil
}

// Reset makes the consumer deliver from a stream sequence on as if it were new: its own sequence begins anew and nothing
// is waiting for an acknowledgement. Open requests stay. lasts are the last messages of their subjects from there on, of
// a consumer that has a list of them. The partition counts the backlog of a Counted consumer anew.
func (c *Consumer) Reset(seq uint64, lasts []uint64) {
	c.cand = candidate{}
	c.next = max(1, seq)
	c.delivered = Position{0, c.next - 1}
	c.floor = c.delivered
	c.lastTime, c.ackTime = 0, 0
	c.pend.reset()
	c.back = backlog{}
	c.witness = witness{}
	if l := &c.lasts; l.on {
		l.seqs, l.at = lasts, 0
		if len(lasts) > 0 {
			c.next = lasts[0]
		} else {
			c.next = max(c.next, l.resume+1)
		}
	}
	if c.reader != nil {
		c.reader.Seek(c.next)
	}
	c.enter()
	c.push.out, c.push.asked, c.push.ask = 0, 0, c.push.ask[:0]
	c.leave()
	c.pace.restart(c.cfg, c.Store.High())
	c.log.full, c.log.dirty = true, true
	c.follow()
}
