package consumer

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// samplePercent reads a sample frequency that Check has accepted.
func samplePercent(text string) int {
	n, err := strconv.Atoi(strings.TrimSuffix(text, "%"))
	if err != nil {
		return 0
	}
	return n
}

// sampled reports how long an acknowledgement took, for as many of them as the configuration asks for. Of a message that
// was refused it is not known any more when it was delivered, so there is no report.
func (c *Consumer) sampled(a *Ack, now int64) {
	if c.sample < 100 && rand.IntN(100) >= c.sample {
		return
	}
	e, ok := c.pend.get(a.Stream, a.Consumer)
	if !ok || e.Due == 0 || e.State == Waiting {
		return
	}
	at := e.Due
	if c.pend.odd[a.Stream] != nil { // else Due is when it was delivered
		at -= c.ackWait(e.Deliveries)
	}
	c.Events.Sampled(c, e.Stream, a.Consumer, int(e.Deliveries), time.Duration(max(0, now-at)))
}
