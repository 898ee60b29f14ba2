package system

import (
	"container/list"
	"sync"
	"time"

	"godwit/server/account"
)

// connsHeartbeat is how long after the last event about an account's connections the next one comes, while it has
// any.
const connsHeartbeat = 30 * time.Second

// heartbeats knows when each account is due. As the interval is the same for all, the accounts are in a list, the one
// that is due first in front.
type heartbeats struct {
	// mu: nothing is locked under it.
	mu struct {
		sync.Mutex
		order *list.List // of *beat
		of    map[*account.Account]*list.Element
	}
}

type beat struct {
	account *account.Account
	due     time.Time
}

func (h *heartbeats) init() {
	h.mu.order, h.mu.of = list.New(), make(map[*account.Account]*list.Element)
}

// note starts the account's interval again, or ends it if there are no connections left.
func (h *heartbeats) note(a *account.Account, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n, _ := a.Conns() // under the lock: the last of several calls sees the last number
	el := h.mu.of[a]
	switch {
	case n <= 0 && el != nil:
		h.removeLocked(el)
	case n > 0 && el != nil:
		el.Value.(*beat).due = now.Add(connsHeartbeat)
		h.mu.order.MoveToBack(el)
	case n > 0:
		h.mu.of[a] = h.mu.order.PushBack(&beat{a, now.Add(connsHeartbeat)})
	}
}

func (h *heartbeats) removeLocked(el *list.Element) {
	delete(h.mu.of, el.Value.(*beat).account)
	h.mu.order.Remove(el)
}

// due returns the accounts whose interval has ended, and takes up the next one for those that have connections.
func (h *heartbeats) due(now time.Time) (accounts []*account.Account) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for el := h.mu.order.Front(); el != nil; el = h.mu.order.Front() {
		b := el.Value.(*beat)
		if b.due.After(now) {
			break
		}
		if n, _ := b.account.Conns(); n <= 0 {
			h.removeLocked(el)
			continue
		}
		b.due = now.Add(connsHeartbeat)
		h.mu.order.MoveToBack(el)
		accounts = append(accounts, b.account)
	}
	return accounts
}

// next returns when to look again: when the first interval ends. What is noted after now is not due before.
func (h *heartbeats) next(now time.Time) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	if el := h.mu.order.Front(); el != nil {
		return el.Value.(*beat).due
	}
	return now.Add(connsHeartbeat)
}
