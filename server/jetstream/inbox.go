package jetstream

import (
	"sync"

	"godwit/server/router"
)

// inboxBytes bounds the messages of one origin that wait to be stored. Flow control keeps them well below.
const inboxBytes = 64 << 20

// inbox gathers messages for a goroutine. It implements router.Receiver.
type inbox struct {
	wake chan struct{}

	mu      sync.Mutex // guards what follows
	list    []router.Message
	bytes   int
	flooded bool
}

func (b *inbox) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list, b.bytes, b.flooded = nil, 0, false
	select {
	case <-b.wake:
	default:
	}
}

// take returns what has come, and whether there was more than can be held.
func (b *inbox) take() (list []router.Message, flooded bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	list, b.list, b.bytes = b.list, nil, 0
	return list, b.flooded
}

// NewBatch implements router.Receiver.
func (b *inbox) NewBatch() router.Batch { return &inboxBatch{to: b} }

type inboxBatch struct {
	to    *inbox
	list  []router.Message
	bytes int
}

// Add implements router.Batch.
func (b *inboxBatch) Add(m *router.Message) {
	all := make([]byte, 0, len(m.Subject)+len(m.Reply)+len(m.Header)+len(m.Payload))
	keep := func(p []byte) []byte {
		from := len(all)
		all = append(all, p...)
		return all[from:len(all):len(all)]
	}
	b.list = append(b.list, router.Message{Subject: keep(m.Subject), Reply: keep(m.Reply), Header: keep(m.Header), Payload: keep(m.Payload)})
	b.bytes += cap(all)
}

// Flush implements router.Batch.
func (b *inboxBatch) Flush() {
	if len(b.list) == 0 {
		return
	}
	to := b.to
	to.mu.Lock()
	if to.bytes+b.bytes > inboxBytes {
		to.flooded = true
	} else {
		to.list = append(to.list, b.list...)
		to.bytes += b.bytes
	}
	to.mu.Unlock()
	clear(b.list)
	b.list, b.bytes = b.list[:0], 0
	select {
	case to.wake <- struct{}{}:
	default:
	}
}
