package stream

import (
	"reflect"

	"godwit/protocol/jsapi"
)

// CheckUpdate says whether a stream's configuration may become next, which was checked by itself. Sealing changes next.
func CheckUpdate(old, next *jsapi.StreamConfig) *jsapi.Error {
	workqueue := func(c *jsapi.StreamConfig) bool { return c.Retention == jsapi.WorkQueueRetention }
	switch {
	case old.Storage != next.Storage:
		return invalid("stream configuration update can not change storage type")
	case workqueue(old) != workqueue(next):
		return invalid("stream configuration update can not change retention policy to/from workqueue")
	case old.Sealed && !next.Sealed:
		return invalid("stream configuration update can not unseal a sealed stream")
	case old.DenyDelete && !next.DenyDelete:
		return invalid("stream configuration update can not cancel deny message deletes")
	case old.DenyPurge && !next.DenyPurge:
		return invalid("stream configuration update can not cancel deny purge")
	case next.Mirror != nil && !reflect.DeepEqual(old.Mirror, next.Mirror):
		return jsapi.Err(jsapi.ErrStreamMirrorNotUpdatable)
	case old.AllowMsgTTL && !next.AllowMsgTTL:
		return invalid("message TTL status can not be disabled")
	case old.AllowMsgCounter != next.AllowMsgCounter:
		return invalid("stream configuration update can not change message counter setting")
	case old.AllowMsgSchedules && !next.AllowMsgSchedules:
		return invalid("message schedules can not be disabled")
	case old.Partitions != next.Partitions:
		return invalid("stream configuration update can not change the number of partitions")
	case old.PartitionKey != next.PartitionKey:
		return invalid("stream configuration update can not change the partition key")
	case old.PersistMode != next.PersistMode:
		return invalid("stream configuration update can not change persist mode")
	}
	if next.Sealed {
		seal(next)
	}
	return nil
}

// seal sets what a sealed stream has.
func seal(cfg *jsapi.StreamConfig) {
	cfg.MaxAge = 0
	cfg.Discard = jsapi.DiscardNew
	cfg.DenyDelete, cfg.DenyPurge, cfg.AllowRollup = true, true, false
}
