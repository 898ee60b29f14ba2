package stream

import (
	"encoding/json"
	"sync"
	"time"

	"godwit/protocol/jsapi"
	"godwit/stream/consumer"
)

// share returns what the parts of a consumer share.
func (s *Set) share(c *consumer.Consumer) *consumer.Shared {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.shared[c.Name]
	if k == nil {
		k = consumer.NewShared(len(s.parts), s.homeOf(c.Name))
		s.shared[c.Name] = k
	}
	return k
}

// unshare forgets a consumer of which nothing is left.
func (s *Set) unshare(name string) {
	s.mu.Lock()
	delete(s.shared, name)
	s.mu.Unlock()
}

// dropIdle deletes a consumer that nobody has used for long.
func (s *Set) dropIdle(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending || s.idle[name] {
		return
	}
	s.idle[name] = true
	s.idling.Go(func() {
		_ = s.DeleteConsumer(name) // somebody else may have done so
		s.mu.Lock()
		delete(s.idle, name)
		s.mu.Unlock()
	})
}

// checkSpanning refuses what a consumer cannot be that has parts in several partitions.
func (p *Partition) checkSpanning(cfg *jsapi.ConsumerConfig) *jsapi.Error {
	if !p.opts.numbers.Several() {
		return nil
	}
	no := func(what string) *jsapi.Error {
		return jsapi.Err(jsapi.ErrConsumerCreate, "err", what+" is not possible on a stream with several partitions")
	}
	switch {
	case cfg.AckPolicy == jsapi.AckFlowControl, cfg.Direct, cfg.Sourcing:
		return no("acknowledgement by flow control")
	case cfg.PriorityPolicy == jsapi.PriorityPinnedClient:
		return no("priority policy pinned_client")
	case cfg.AckPolicy == jsapi.AckNone && cfg.DeliverPolicy == jsapi.DeliverByStartSequence && cfg.OptStartSeq > 1:
		return no("a start sequence without acknowledgements, as of an ordered consumer that goes on,")
	}
	return nil
}

// configText is the partition's configuration as the log has it. Nobody else uses the partition yet.
func (p *Partition) configText() ([]byte, *jsapi.Error) {
	text, err := json.Marshal(&p.given)
	if err != nil {
		return nil, jsapi.Wrap(jsapi.ErrStreamUpdate, err)
	}
	return text, nil
}

// sameConsumer compares the configurations of two parts of a consumer.
func sameConsumer(a, b *jsapi.ConsumerConfig) bool {
	return consumer.SameConfig(a, b) && pauseOf(a).Equal(pauseOf(b))
}

// takeConsumer makes or changes a consumer's part to be like that in the first partition.
func (p *Partition) takeConsumer(name string, cfg *jsapi.ConsumerConfig) *jsapi.Error {
	return p.request(name, func(done func(*jsapi.Error)) {
		cfg := *cfg
		if m := p.members.byName[name]; m != nil {
			p.updateConsumer(m, &cfg, done)
			return
		}
		text, err := json.Marshal(&cfg)
		if err != nil {
			done(jsapi.Wrap(jsapi.ErrConsumerCreate, err))
			return
		}
		p.consumerCommand(name, &command{op: opConsumerCreate, name: name, text: text}, done)
	})
}

// CreateConsumer creates or changes a consumer and returns it as it was right after.
func (s *Set) CreateConsumer(r ConsumerRequest) (*jsapi.ConsumerInfo, *jsapi.Error) {
	first := s.parts[0]
	if len(s.parts) == 1 {
		return first.CreateConsumer(r)
	}
	s.admin.Lock()
	defer s.admin.Unlock()
	_, missing := first.ConsumerInfo(r.Name)
	create := func(p *Partition) *jsapi.Error {
		_, err := p.CreateConsumer(r)
		return err
	}
	if missing == nil {
		if err := s.each(false, create); err != nil {
			return nil, err
		}
		return s.ConsumerInfo(r.Name)
	}
	if err := s.each(true, create); err != nil {
		s.deleteParts(r.Name)
		return nil, err
	}
	return s.ConsumerInfo(r.Name)
}

// deleteParts deletes what there is of a consumer outside the first partition.
func (s *Set) deleteParts(name string) {
	var wg sync.WaitGroup
	for _, p := range s.parts[1:] {
		wg.Go(func() { _ = p.DeleteConsumer(name) }) // it may not have come so far
	}
	wg.Wait()
	s.unshare(name)
}

// DeleteConsumer removes a consumer.
func (s *Set) DeleteConsumer(name string) *jsapi.Error {
	if len(s.parts) == 1 {
		return s.parts[0].DeleteConsumer(name)
	}
	s.admin.Lock()
	defer s.admin.Unlock()
	if err := s.parts[0].DeleteConsumer(name); err != nil {
		return err
	}
	s.deleteParts(name)
	return nil
}

// ConsumerInfo describes a consumer.
func (s *Set) ConsumerInfo(name string) (*jsapi.ConsumerInfo, *jsapi.Error) {
	sum, err := s.parts[0].ConsumerInfo(name)
	if err != nil || len(s.parts) == 1 {
		return sum, err
	}
	type place struct {
		info *jsapi.ConsumerInfo
		next uint64 // the number that would follow the ack floor
		more bool   // it, or a later one, is stored
	}
	places := make([]place, len(s.parts))
	for i, p := range s.parts {
		if p.do(func() {
			if m := p.members.byName[name]; m != nil {
				floor := m.c.AckFloor()
				places[i] = place{m.c.Info(p.now), p.opts.numbers.Global(floor + 1), floor < p.last}
			}
		}) != nil || places[i].info == nil {
			return nil, jsapi.Err(jsapi.ErrConsumerNotFound) // it is being deleted
		}
	}
	whole := *places[0].info
	whole.Delivered, whole.AckFloor = jsapi.SequenceInfo{}, jsapi.SequenceInfo{}
	whole.NumAckPending, whole.NumRedelivered, whole.NumPending, whole.NumWaiting = 0, 0, 0, 0
	open := uint64(0) // the lowest number that is not acknowledged
	for i, at := range places {
		info := at.info
		whole.Partitions = append(whole.Partitions, jsapi.ConsumerPartition{Partition: i, Delivered: info.Delivered.Stream,
			AckFloor: info.AckFloor.Stream, NumAckPending: info.NumAckPending, Lag: info.NumPending})
		addPosition(&whole.Delivered, &info.Delivered)
		addPosition(&whole.AckFloor, &info.AckFloor)
		if at.more && (open == 0 || at.next < open) {
			open = at.next
		}
		whole.NumAckPending += info.NumAckPending
		whole.NumRedelivered += info.NumRedelivered
		whole.NumPending += info.NumPending
		whole.NumWaiting = max(whole.NumWaiting, info.NumWaiting)
	}
	if open > 0 {
		whole.AckFloor.Stream = min(whole.AckFloor.Stream, open-1)
	}
	return &whole, nil
}

// addPosition adds the position of one part: deliveries add up, and of stream sequences the last counts.
func addPosition(sum, part *jsapi.SequenceInfo) {
	sum.Consumer += part.Consumer
	sum.Stream = max(sum.Stream, part.Stream)
	if part.Last != nil && (sum.Last == nil || part.Last.After(*sum.Last)) {
		sum.Last = part.Last
	}
}

// PauseConsumer suspends a consumer until a time; one that is not in the future resumes it.
func (s *Set) PauseConsumer(name string, until time.Time) *jsapi.Error {
	return s.change(func(p *Partition) *jsapi.Error { return p.PauseConsumer(name, until) })
}

// UnpinConsumer lets another client of a group be pinned.
func (s *Set) UnpinConsumer(name, group string) *jsapi.Error {
	return s.change(func(p *Partition) *jsapi.Error { return p.UnpinConsumer(name, group) })
}

// change changes a consumer in all partitions.
func (s *Set) change(f func(p *Partition) *jsapi.Error) *jsapi.Error {
	s.admin.Lock()
	defer s.admin.Unlock()
	return s.each(false, f)
}

// ResetConsumer makes a consumer deliver from a stream sequence on as if it were new; 0 is what follows its ack floor in each
// partition. It returns the consumer as it is then, and the sequence.
func (s *Set) ResetConsumer(name string, seq uint64) (info *jsapi.ConsumerInfo, at uint64, err *jsapi.Error) {
	if len(s.parts) == 1 {
		return s.parts[0].ResetConsumer(name, seq)
	}
	err = s.change(func(p *Partition) *jsapi.Error {
		_, _, err := p.ResetConsumer(name, seq)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	if info, err = s.ConsumerInfo(name); err == nil {
		at = max(seq, 1)
		if seq == 0 {
			at = info.AckFloor.Stream + 1
		}
	}
	return info, at, err
}
