package consumer

import (
	"time"

	"godwit/protocol/jsapi"
)

// Info describes the consumer. Config is shared: the caller replaces it rather than change it.
func (c *Consumer) Info(now int64) *jsapi.ConsumerInfo {
	c.follow()
	c.enter()
	defer c.leave()
	if c.wait.n > 0 {
		c.dropUninterested() // only those that somebody waits for are counted
	}
	info := &jsapi.ConsumerInfo{
		Stream:         c.Stream,
		Name:           c.Name,
		Created:        c.Created,
		Config:         c.cfg,
		Delivered:      jsapi.SequenceInfo{Consumer: c.delivered.Consumer, Stream: c.Numbers.Global(c.delivered.Stream), Last: stamp(c.lastTime)},
		AckFloor:       jsapi.SequenceInfo{Consumer: c.floor.Consumer, Stream: c.Numbers.Global(c.floor.Stream), Last: stamp(c.ackTime)},
		NumAckPending:  c.pend.len(),
		NumRedelivered: c.pend.repeat,
		NumWaiting:     c.wait.n,
		NumPending:     c.Pending(),
		PushBound:      c.bound(),
		Time:           time.Unix(0, now).UTC(),
		PriorityGroups: c.groups(),
	}
	if c.cfg.MaxDeliver == 1 {
		info.NumRedelivered = 0
	}
	if c.paused(now) {
		info.Paused = true
		info.PauseRemaining = time.Duration(jsapi.Nanos(*c.cfg.PauseUntil) - now)
	}
	return info
}

func stamp(ns int64) *time.Time {
	if ns == 0 {
		return nil
	}
	t := time.Unix(0, ns).UTC()
	return &t
}
