package consumer

import (
	"maps"
	"reflect"

	"godwit/protocol/jsapi"
)

// CheckUpdate says whether a running consumer's configuration may become next. bound says that somebody listens on
// the deliver subject it has now.
func CheckUpdate(old, next *jsapi.ConsumerConfig, bound bool) *jsapi.Error {
	no := func(text string) *jsapi.Error { return jsapi.Err(jsapi.ErrConsumerCreate, "err", text) }
	switch {
	case old.DeliverPolicy != next.DeliverPolicy:
		return no("deliver policy can not be updated")
	case old.OptStartSeq != next.OptStartSeq:
		return no("start sequence can not be updated")
	case (old.OptStartTime == nil) != (next.OptStartTime == nil),
		old.OptStartTime != nil && !old.OptStartTime.Equal(*next.OptStartTime):
		return no("start time can not be updated")
	case old.AckPolicy != next.AckPolicy:
		return no("ack policy can not be updated")
	case old.ReplayPolicy != next.ReplayPolicy:
		return no("replay policy can not be updated")
	case old.Heartbeat != next.Heartbeat:
		return no("heart beats can not be updated")
	case old.FlowControl != next.FlowControl:
		return no("flow control can not be updated")
	case old.MemoryStorage != next.MemoryStorage:
		return no("storage type can not be updated")
	case old.Direct != next.Direct:
		return no("direct can not be updated")
	case old.Sourcing != next.Sourcing:
		return no("sourcing can not be updated")
	}
	if old.DeliverSubject != next.DeliverSubject {
		switch {
		case old.DeliverSubject == "":
			return no("can not update pull consumer to push based")
		case next.DeliverSubject == "":
			return no("can not update push consumer to pull based")
		case bound:
			return jsapi.Err(jsapi.ErrConsumerNameExist)
		}
	}
	if old.MaxWaiting != next.MaxWaiting {
		return no("max waiting can not be updated")
	}
	return nil
}

// SameConfig compares two configurations with their defaults filled in, without what the server itself writes.
func SameConfig(a, b *jsapi.ConsumerConfig) bool {
	x, y := *a, *b
	if !maps.Equal(jsapi.StripMetadata(x.Metadata), jsapi.StripMetadata(y.Metadata)) {
		return false
	}
	x.Metadata, y.Metadata = nil, nil
	if (x.OptStartTime == nil) != (y.OptStartTime == nil) ||
		x.OptStartTime != nil && !x.OptStartTime.Equal(*y.OptStartTime) {
		return false
	}
	x.OptStartTime, y.OptStartTime = nil, nil
	x.PauseUntil, y.PauseUntil = nil, nil // changed by its own request only
	return reflect.DeepEqual(x, y)
}
