package consumer

import (
	"slices"
	"time"

	"github.com/nats-io/nuid"

	"godwit/protocol/jsapi"
)

// defaultPriorityTimeout is how long a client stays pinned without asking for more.
const defaultPriorityTimeout = 2 * time.Minute

// Reasons why a client is not pinned any more.
const (
	unpinnedTimeout = "timeout"
	unpinnedAdmin   = "admin"
)

// rank is what a request says about its place among others. Requests that are no JSON have none: they say nothing.
type rank struct {
	group                     string
	minPending, minAckPending int64
	id                        string
	level                     int // 0 goes first
}

// pin is the client that alone gets the messages of a consumer with the policy pinned_client. It is part of the durable
// state.
type pin struct {
	id    string // empty: nobody
	group string
	at    int64 // when it was pinned
	due   int64 // when it is not any more unless it asks for more
}

// refuseRank returns the status that a request gets because of its rank, empty if that is fine.
func (c *Consumer) refuseRank(p *Pull) string {
	policy := c.cfg.PriorityPolicy
	switch {
	case policy != jsapi.PriorityOverflow && (p.MinPending != 0 || p.MinAckPending != 0):
		return statusNotOverflow
	case policy != jsapi.PriorityPinnedClient && p.ID != "":
		return statusNotPinned
	case p.Priority < 0 || p.Priority > 9:
		return statusBadPriority
	case policy == jsapi.PriorityNone || p.Plain:
		return ""
	case p.Group == "":
		return statusNoGroup
	case !slices.Contains(c.cfg.PriorityGroups, p.Group):
		return statusBadGroup
	case p.ID != "" && c.pin.id != "" && p.ID != c.pin.id:
		return statusPinMismatch
	}
	return ""
}

// rank notes the rank of a request that is queued next. A pinned client stays pinned by asking.
func (c *Consumer) rank(r *request, p *Pull, now int64) {
	if p.Plain {
		return
	}
	r.rank = &rank{p.Group, p.MinPending, p.MinAckPending, p.ID, p.Priority}
	if p.ID != "" && p.ID == c.pin.id {
		c.pin.due = later(now, int64(c.cfg.PriorityTimeout))
	}
}

func (r *request) level() int {
	if r.rank == nil {
		return 0
	}
	return r.rank.level
}

// pick puts the request that gets the next message to the front; false if none may have it.
func (c *Consumer) pick(now int64) bool {
	switch c.cfg.PriorityPolicy {
	case jsapi.PriorityOverflow:
		for i := range c.wait.n {
			if c.overflows(*c.wait.at(i)) {
				c.wait.lead(i)
				return true
			}
		}
		return false
	case jsapi.PriorityPinnedClient:
		return c.pickPinned(now)
	}
	return true // the queue is in order
}

// overflows says whether so much is waiting that a request helps out.
func (c *Consumer) overflows(r *request) bool {
	k := r.rank
	if k == nil || k.minPending <= 0 && k.minAckPending <= 0 {
		return true
	}
	return k.minPending > 0 && c.pendingAll() >= k.minPending || k.minAckPending > 0 && int64(c.unacked()) >= k.minAckPending
}

// pickPinned finds the request of the pinned client, and pins one if none is.
func (c *Consumer) pickPinned(now int64) bool {
	for i := 0; i < c.wait.n; {
		r := *c.wait.at(i)
		k := r.rank
		switch {
		case k == nil:
			i++
		case r.expires > 0 && now >= r.expires:
			c.statusLeft(r, statusTimeout)
			c.wait.drop(i)
		case k.id != "" && k.id == c.pin.id:
			c.wait.lead(i)
			return true
		case k.id != "": // of a client that was pinned
			c.statusLeft(r, statusWrongPin)
			c.wait.drop(i)
		case c.pin.id != "":
			i++
		case !c.out.Interest(r.reply):
			c.wait.drop(i)
		default:
			k.id = nuid.Next()
			c.pin = pin{k.id, k.group, now, later(now, int64(c.cfg.PriorityTimeout))}
			c.log.dirty = true
			c.Events.Pinned(c, k.group, k.id)
			c.wait.lead(i)
			return true
		}
	}
	return false
}

// unpin lets another client be pinned.
func (c *Consumer) unpin(reason string) {
	if c.pin.id == "" {
		return
	}
	group := c.pin.group
	c.pin = pin{}
	c.log.dirty = true
	c.Events.Unpinned(c, group, reason)
}

// Unpin lets another client than the one pinned have the messages, because somebody asked for that.
func (c *Consumer) Unpin(group string) *jsapi.Error {
	if c.cfg.PriorityPolicy == jsapi.PriorityNone || !slices.Contains(c.cfg.PriorityGroups, group) {
		return jsapi.Err(jsapi.ErrConsumerInvalidPriorityGroup)
	}
	c.unpin(unpinnedAdmin)
	return nil
}

// groups describes the group of clients; others than the first are not told apart.
func (c *Consumer) groups() []jsapi.PriorityGroupState {
	if c.cfg.PriorityPolicy == jsapi.PriorityNone {
		return nil
	}
	g := jsapi.PriorityGroupState{Group: c.cfg.PriorityGroups[0], PinnedClientID: c.pin.id}
	if c.pin.id != "" {
		g.Group, g.PinnedTime = c.pin.group, time.Unix(0, c.pin.at).UTC()
	}
	return []jsapi.PriorityGroupState{g}
}

// appendPin appends a header block with the id of the pinned client.
func appendPin(b, header []byte, id string) []byte {
	b = openHeader(b, header)
	b = append(b, headerPin...)
	b = append(b, id...)
	return append(b, crlf+crlf...)
}

// lead moves the i-th request to the front.
func (w *waiting) lead(i int) {
	r := *w.at(i)
	for ; i > 0; i-- {
		*w.at(i) = *w.at(i - 1)
	}
	*w.at(0) = r
}

// drop takes out the i-th request.
func (w *waiting) drop(i int) {
	w.lead(i)
	w.put(w.pop())
}

// rise moves the last request before those that are of less importance.
func (w *waiting) rise() {
	for i := w.n - 1; i > 0 && (*w.at(i - 1)).level() > (*w.at(i)).level(); i-- {
		a, b := w.at(i-1), w.at(i)
		*a, *b = *b, *a
	}
}

// sort orders all requests by importance.
func (w *waiting) sort() {
	list := make([]*request, w.n)
	for i := range list {
		list[i] = *w.at(i)
	}
	slices.SortStableFunc(list, func(a, b *request) int { return a.level() - b.level() })
	for i := range list {
		*w.at(i) = list[i]
	}
}
