package jetstream

import (
	"sync/atomic"

	"godwit/stream/consumer"
)

// Of the violations that audits find, the log shows the first violationsShown and then one in violationsEvery.
const (
	violationsShown = 100
	violationsEvery = 1000
)

// audits counts what partitions find when they check parts of themselves.
type audits struct {
	consumers  atomic.Uint64 // checked
	violations atomic.Uint64 // of the standing invariant
}

// Audited implements stream.Auditor.
func (h *hooks) Audited(consumers int) {
	h.s.account.service.audits.consumers.Add(uint64(consumers))
}

// Violated implements stream.Auditor.
func (h *hooks) Violated(c *consumer.Consumer, text string) {
	s := h.s.account.service
	n := s.audits.violations.Add(1)
	if n > violationsShown && n%violationsEvery != 0 {
		return
	}
	name := ""
	if c != nil {
		name = c.Name
	}
	s.opts.Warnf("JetStream: account %q stream %q consumer %q: invariant violated (%d in all): %s", h.s.account.name, h.s.name, name, n, text)
}
