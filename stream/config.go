package stream

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"godwit/protocol/jsapi"
	"godwit/protocol/subject"
)

// Defaults and bounds of the protocol.
const (
	defaultDuplicates = 2 * time.Minute
	minDuplicates     = 100 * time.Millisecond
	minAge            = 100 * time.Millisecond
	maxReplicas       = 5
)

// Limits bounds what a stream's configuration may ask for; 0 and below is no bound.
type Limits struct {
	Duplicates       time.Duration // longest window
	MaxBytesRequired bool
	MemoryBytes      int64 // largest max_bytes of a memory stream
	StoreBytes       int64 // and of a file stream
}

func invalid(format string, args ...any) *jsapi.Error {
	return jsapi.InvalidConfig(fmt.Sprintf(format, args...))
}

func pedanticErr(text string) *jsapi.Error { return jsapi.Err(jsapi.ErrPedantic, "err", text) }

// CheckConfig fills in the defaults of a configuration and validates it in the protocol's order. The first failure
// wins. pedantic turns silent corrections into errors.
func CheckConfig(cfg *jsapi.StreamConfig, limits Limits, pedantic bool) *jsapi.Error {
	for _, check := range []func() *jsapi.Error{
		func() *jsapi.Error { return checkTexts(cfg) },
		func() *jsapi.Error { return checkPartitions(cfg) },
		func() *jsapi.Error { return checkReplicas(cfg) },
		func() *jsapi.Error { return fillNumbers(cfg, pedantic) },
		func() *jsapi.Error { return checkAge(cfg) },
		func() *jsapi.Error { return checkDuplicates(cfg, limits, pedantic) },
		func() *jsapi.Error { return checkFeatures(cfg, pedantic) },
		func() *jsapi.Error { return checkMirror(cfg) },
		func() *jsapi.Error { return checkSources(cfg) },
		func() *jsapi.Error { return checkSubjects(cfg) },
		func() *jsapi.Error { return checkAccount(cfg, limits) },
		func() *jsapi.Error { return checkTransforms(cfg) },
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func checkTexts(cfg *jsapi.StreamConfig) *jsapi.Error {
	switch {
	case !jsapi.ValidName(cfg.Name):
		return invalid(`stream name is required and can not contain '.', '*', '>', '\', '/'`)
	case len(cfg.Name) > jsapi.NameMax:
		return invalid("stream name is too long, maximum allowed is %d", jsapi.NameMax)
	case len(cfg.Description) > jsapi.DescriptionMax:
		return invalid("stream description is too long, maximum allowed is %d", jsapi.DescriptionMax)
	case jsapi.MetadataSize(cfg.Metadata) > jsapi.MetadataMax:
		return invalid("stream metadata exceeds maximum size of %d bytes", jsapi.MetadataMax)
	}
	return nil
}

func checkReplicas(cfg *jsapi.StreamConfig) *jsapi.Error {
	switch {
	case cfg.Replicas > maxReplicas:
		return invalid("maximum replicas is %d", maxReplicas)
	case cfg.Replicas < 0:
		return jsapi.Err(jsapi.ErrReplicasCountCannotBeNegative)
	case cfg.Replicas == 0:
		cfg.Replicas = 1
	}
	if p := cfg.Placement; p != nil && p.Cluster == "" && len(p.Tags) == 0 && p.Preferred == "" {
		cfg.Placement = nil
	}
	return nil
}

// fillNumbers turns 0 and what is below -1 into -1: no limit.
func fillNumbers(cfg *jsapi.StreamConfig, pedantic bool) *jsapi.Error {
	var err *jsapi.Error
	fill := func(name string, low, zero bool, set func()) {
		if low && pedantic && err == nil {
			err = pedanticErr(name + " must be set to -1")
		}
		if low || zero {
			set()
		}
	}
	fill("max_msgs", cfg.MaxMsgs < -1, cfg.MaxMsgs == 0, func() { cfg.MaxMsgs = -1 })
	fill("max_msgs_per_subject", cfg.MaxMsgsPerSubject < -1, cfg.MaxMsgsPerSubject == 0, func() { cfg.MaxMsgsPerSubject = -1 })
	fill("max_bytes", cfg.MaxBytes < -1, cfg.MaxBytes == 0, func() { cfg.MaxBytes = -1 })
	fill("max_msg_size", cfg.MaxMsgSize < -1, cfg.MaxMsgSize == 0, func() { cfg.MaxMsgSize = -1 })
	fill("max_consumers", cfg.MaxConsumers < -1, cfg.MaxConsumers == 0, func() { cfg.MaxConsumers = -1 })
	return err
}

func checkAge(cfg *jsapi.StreamConfig) *jsapi.Error {
	switch {
	case cfg.MaxAge < 0:
		return invalid("max age can not be negative")
	case cfg.MaxAge != 0 && cfg.MaxAge < minAge:
		return invalid("max age needs to be >= 100ms")
	}
	return nil
}

func checkDuplicates(cfg *jsapi.StreamConfig, limits Limits, pedantic bool) *jsapi.Error {
	if cfg.Duplicates == 0 && cfg.Mirror == nil && len(cfg.Sources) == 0 {
		window := defaultDuplicates
		if limits.Duplicates > 0 && window > limits.Duplicates {
			if pedantic {
				return pedanticErr("duplicate window limits are higher than current limits")
			}
			window = limits.Duplicates
		}
		if cfg.MaxAge != 0 && cfg.MaxAge < window {
			if pedantic {
				return pedanticErr("duplicate window cannot be bigger than max age")
			}
			window = cfg.MaxAge
		}
		cfg.Duplicates = window
	}
	switch {
	case cfg.Duplicates < 0:
		return invalid("duplicates window can not be negative")
	case cfg.MaxAge > 0 && cfg.Duplicates > cfg.MaxAge:
		return invalid("duplicates window can not be larger then max age")
	case limits.Duplicates > 0 && cfg.Duplicates > limits.Duplicates:
		return invalid("duplicates window can not be larger then server limit of %v", limits.Duplicates)
	case cfg.Duplicates > 0 && cfg.Duplicates < minDuplicates:
		return invalid("duplicates window needs to be >= 100ms")
	}
	return nil
}

// checkFeatures checks settings that depend on each other, and turns on what others need.
func checkFeatures(cfg *jsapi.StreamConfig, pedantic bool) *jsapi.Error {
	if cfg.DenyPurge && cfg.AllowRollup {
		return invalid("roll-ups require the purge permission")
	}
	if cfg.AllowMsgCounter {
		switch {
		case cfg.Discard == jsapi.DiscardNew:
			return invalid("counter stream cannot use discard new")
		case cfg.AllowMsgTTL:
			return invalid("counter stream cannot use message TTLs")
		case cfg.AllowMsgSchedules:
			return invalid("counter stream cannot use message schedules")
		case cfg.Retention != jsapi.LimitsRetention:
			return invalid("counter stream can only use limits retention")
		}
	}
	if cfg.DiscardNewPerSubject {
		if cfg.Discard != jsapi.DiscardNew {
			return invalid("discard new per subject requires discard new policy to be set")
		}
		if cfg.MaxMsgsPerSubject <= 0 {
			return invalid("discard new per subject requires max msgs per subject > 0")
		}
	}
	if err := checkMarkers(cfg, pedantic); err != nil {
		return err
	}
	if cfg.AllowMsgSchedules {
		if cfg.Discard == jsapi.DiscardNew {
			return invalid("message scheduling cannot use discard new")
		}
		if pedantic && !cfg.AllowRollup {
			return invalid("message scheduling cannot be set if roll-ups are disabled")
		}
		cfg.AllowRollup, cfg.DenyPurge = true, false
	}
	if cfg.PersistMode == jsapi.AsyncPersist {
		switch {
		case cfg.Storage != jsapi.FileStorage:
			return invalid("async persist mode is only supported on file storage")
		case cfg.Replicas > 1:
			return invalid("async persist mode is not supported on replicated streams")
		case cfg.AllowAtomicPublish:
			return invalid("async persist mode is not supported with atomic batch publish")
		}
	}
	return nil
}

func checkMarkers(cfg *jsapi.StreamConfig, pedantic bool) *jsapi.Error {
	ttl := cfg.SubjectDeleteMarkerTTL
	switch {
	case ttl == 0:
		return nil
	case ttl > 0 && ttl < time.Second:
		return invalid("subject delete marker TTL must be at least 1 second")
	case ttl < 0:
		return invalid("subject delete marker TTL must not be negative")
	case pedantic && !cfg.AllowMsgTTL:
		return invalid("subject delete marker cannot be set if message TTLs are disabled")
	case pedantic && !cfg.AllowRollup:
		return invalid("subject delete marker cannot be set if roll-ups are disabled")
	}
	cfg.AllowMsgTTL, cfg.AllowRollup, cfg.DenyPurge = true, true, false
	return nil
}

// apiSubjects and systemSubjects may be captured only by streams that acknowledge nothing.
var (
	apiSubjects    = []string{"$JS.>", "$JSC.>", "$NRG.>"}
	systemSubjects = "$SYS.>"
)

func checkSubjects(cfg *jsapi.StreamConfig) *jsapi.Error {
	if len(cfg.Subjects) == 0 && cfg.Mirror == nil && len(cfg.Sources) == 0 {
		cfg.Subjects = []string{cfg.Name}
	}
	for i, s := range cfg.Subjects {
		if !subject.Valid(s) {
			return invalid("invalid subject")
		}
		if s == ">" {
			if !cfg.NoAck {
				return invalid("capturing all subjects requires no-ack to be true")
			}
			if cfg.Replicas > 1 {
				return invalid("capturing all subjects requires replicas of 1")
			}
		}
		if !cfg.NoAck && s != ">" {
			overlaps := func(other string) bool { return subject.Overlap(s, other) }
			if slices.ContainsFunc(apiSubjects, overlaps) && !subject.Subset(s, "$JS.EVENT.>") {
				return invalid("subjects that overlap with jetstream api require no-ack to be true")
			}
			if overlaps(systemSubjects) && !subject.Subset(s, "$SYS.ACCOUNT.>") {
				return invalid("subjects that overlap with system api require no-ack to be true")
			}
		}
		for _, earlier := range cfg.Subjects[:i] {
			if subject.Overlap(earlier, s) {
				return invalid("subject %q overlaps with %q", earlier, s)
			}
		}
	}
	return nil
}

func checkAccount(cfg *jsapi.StreamConfig, limits Limits) *jsapi.Error {
	if limits.MaxBytesRequired && cfg.MaxBytes <= 0 {
		return jsapi.Err(jsapi.ErrStreamMaxBytesRequired)
	}
	bound := limits.StoreBytes
	if cfg.Storage == jsapi.MemoryStorage {
		bound = limits.MemoryBytes
	}
	if bound > 0 && cfg.MaxBytes > bound {
		return jsapi.Err(jsapi.ErrStreamMaxStreamBytesExceeded)
	}
	return nil
}

// SameConfig compares two configurations with their defaults filled in, without what the server itself writes.
func SameConfig(a, b *jsapi.StreamConfig) bool {
	x, y := *a, *b
	x.Metadata, y.Metadata = jsapi.StripMetadata(x.Metadata), jsapi.StripMetadata(y.Metadata)
	return reflect.DeepEqual(x, y)
}
