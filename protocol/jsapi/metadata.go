package jsapi

import (
	"maps"
	"strconv"
)

// Keys that the server writes into the metadata of configurations. Only MetaRequiredLevel is stored; all of them
// are taken out of requests and left out of comparisons.
const (
	MetaRequiredLevel = "_nats.req.level"
	MetaLevel         = "_nats.level"
	MetaVersion       = "_nats.ver"
)

// StripMetadata returns m without the server's own keys; nil if nothing is left. m is not changed.
func StripMetadata(m map[string]string) map[string]string {
	out := maps.Clone(m)
	delete(out, MetaRequiredLevel)
	delete(out, MetaLevel)
	delete(out, MetaVersion)
	if len(out) == 0 {
		return nil
	}
	return out
}

// WithLevel returns m with the API level that a configuration needs, as it is stored and listed.
func WithLevel(m map[string]string, level int) map[string]string {
	out := StripMetadata(m)
	if out == nil {
		out = map[string]string{}
	}
	out[MetaRequiredLevel] = strconv.Itoa(level)
	return out
}

// Decorate returns m with all server keys, as single answers carry it.
func Decorate(m map[string]string, level int, version string) map[string]string {
	out := WithLevel(m, level)
	out[MetaLevel] = strconv.Itoa(Level)
	out[MetaVersion] = version
	return out
}

// RequiredLevel is the API level a stream's configuration needs.
func (c *StreamConfig) RequiredLevel() int {
	switch {
	case c.AllowBatchPublish:
		return 4
	case c.AllowMsgCounter, c.AllowAtomicPublish, c.AllowMsgSchedules, c.PersistMode == AsyncPersist:
		return 2
	case c.AllowMsgTTL, c.SubjectDeleteMarkerTTL > 0:
		return 1
	}
	return 0
}

// RequiredLevel is the API level a consumer's configuration needs.
func (c *ConsumerConfig) RequiredLevel() int {
	switch {
	case c.AckPolicy == AckFlowControl:
		return 4
	case c.PauseUntil != nil && !c.PauseUntil.IsZero(), c.PriorityPolicy != PriorityNone, len(c.PriorityGroups) > 0:
		return 1
	}
	return 0
}
