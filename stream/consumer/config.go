package consumer

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"godwit/protocol/jsapi"
	"godwit/protocol/subject"
)

// Defaults and bounds of the protocol.
const (
	defaultAckWait       = 30 * time.Second
	defaultMaxWaiting    = 512
	defaultMaxAckPending = 1000
	defaultInactive      = 5 * time.Second
	minHeartbeat         = 100 * time.Millisecond
	priorityGroupMax     = 16
	flowHeartbeat        = time.Second // of the ack policy flow_control
)

// Limits bounds what a consumer may ask for; 0 and below is no bound.
type Limits struct {
	MaxAckPending   int // of the account or server
	MaxRequestBatch int // of the server
}

// Check fills in the defaults of a new or changed configuration and validates it in the protocol's order. The first
// failure wins. pedantic turns silent corrections into errors.
func Check(cfg *jsapi.ConsumerConfig, stream *jsapi.StreamConfig, limits Limits, pedantic bool) *jsapi.Error {
	if err := fillIn(cfg, stream, limits, pedantic); err != nil {
		return err
	}
	for _, check := range []func(*jsapi.ConsumerConfig, *jsapi.StreamConfig) *jsapi.Error{
		checkNames, checkReplicas, checkAcks, checkDelivery,
	} {
		if err := check(cfg, stream); err != nil {
			return err
		}
	}
	if limit := limits.MaxRequestBatch; limit > 0 && !cfg.Push() && cfg.MaxRequestBatch > limit {
		return jsapi.Err(jsapi.ErrConsumerMaxRequestBatchExceeded, "limit", strconv.Itoa(limit))
	}
	if err := checkLimits(cfg, stream, limits); err != nil {
		return err
	}
	for _, check := range []func(*jsapi.ConsumerConfig) *jsapi.Error{
		checkFilters, checkStart, checkSampling, checkFlow, checkPriority,
	} {
		if err := check(cfg); err != nil {
			return err
		}
	}
	if len(cfg.Name) > jsapi.NameMax {
		return jsapi.Err(jsapi.ErrConsumerNameTooLong, "max", strconv.Itoa(jsapi.NameMax))
	}
	return nil
}

// fillIn sets defaults. Numbers below zero count as not given.
func fillIn(cfg *jsapi.ConsumerConfig, stream *jsapi.StreamConfig, limits Limits, pedantic bool) *jsapi.Error {
	if len(cfg.FilterSubjects) == 0 {
		cfg.FilterSubjects = nil
	}
	if len(cfg.BackOff) == 0 {
		cfg.BackOff = nil
	}
	if err := dropNegatives(cfg, pedantic); err != nil {
		return err
	}
	if cfg.MaxDeliver < -1 && pedantic {
		return pedanticErr("max_deliver must be set to -1")
	}
	if cfg.MaxDeliver == 0 || cfg.MaxDeliver < -1 {
		cfg.MaxDeliver = -1
	}
	if len(cfg.BackOff) > 0 {
		if pedantic && cfg.AckWait != 0 && cfg.AckWait != cfg.BackOff[0] {
			return pedanticErr("first backoff value has to equal batch AckWait")
		}
		cfg.AckWait = cfg.BackOff[0]
	}
	byFlow := cfg.AckPolicy == jsapi.AckFlowControl
	if byFlow && !pedantic {
		cfg.FlowControl, cfg.Heartbeat = true, flowHeartbeat
	}
	tracks := cfg.AckPolicy != jsapi.AckNone
	if tracks && !byFlow && cfg.AckWait == 0 {
		cfg.AckWait = defaultAckWait
	}
	if !cfg.Push() && cfg.MaxWaiting == 0 {
		cfg.MaxWaiting = defaultMaxWaiting
	}
	if cfg.MaxAckPending < -1 {
		if pedantic {
			return pedanticErr("max_ack_pending must be set to -1")
		}
		cfg.MaxAckPending = -1
	}
	if tracks && cfg.MaxAckPending == 0 {
		cfg.MaxAckPending = defaultMaxAckPending
		if l := stream.ConsumerLimits.MaxAckPending; l > 0 {
			if pedantic {
				return pedanticErr("max_ack_pending must be set if it's configured in stream limits")
			}
			cfg.MaxAckPending = l
		}
		if l := limits.MaxAckPending; l > 0 {
			cfg.MaxAckPending = min(cfg.MaxAckPending, l)
		}
	}
	if !cfg.Push() && cfg.MaxRequestBatch == 0 && limits.MaxRequestBatch > 0 {
		if pedantic {
			return pedanticErr("max_request_batch must be set if it's JetStream limits are set")
		}
		cfg.MaxRequestBatch = limits.MaxRequestBatch
	}
	if limit := stream.ConsumerLimits.InactiveThreshold; limit > 0 && cfg.InactiveThreshold == 0 {
		if pedantic {
			return pedanticErr("inactive_threshold must be set if it's configured in stream limits")
		}
		cfg.InactiveThreshold = limit
	}
	if cfg.PriorityPolicy == jsapi.PriorityPinnedClient && cfg.PriorityTimeout == 0 {
		cfg.PriorityTimeout = defaultPriorityTimeout
	}
	return nil
}

// FillNew sets what a new consumer gets beyond the defaults of Check; comparisons with one that exists come before.
func FillNew(cfg *jsapi.ConsumerConfig) {
	if cfg.Durable == "" && cfg.InactiveThreshold == 0 {
		cfg.InactiveThreshold = defaultInactive
	}
}

func dropNegatives(cfg *jsapi.ConsumerConfig, pedantic bool) *jsapi.Error {
	var err *jsapi.Error
	drop := func(name string, negative bool, zero func()) {
		if negative && pedantic && err == nil {
			err = pedanticErr(name + " must not be negative")
		}
		if negative {
			zero()
		}
	}
	drop("max_waiting", cfg.MaxWaiting < 0, func() { cfg.MaxWaiting = 0 })
	drop("max_batch", cfg.MaxRequestBatch < 0, func() { cfg.MaxRequestBatch = 0 })
	drop("max_expires", cfg.MaxRequestExpires < 0, func() { cfg.MaxRequestExpires = 0 })
	drop("max_bytes", cfg.MaxRequestBytes < 0, func() { cfg.MaxRequestBytes = 0 })
	drop("idle_heartbeat", cfg.Heartbeat < 0, func() { cfg.Heartbeat = 0 })
	drop("inactive_threshold", cfg.InactiveThreshold < 0, func() { cfg.InactiveThreshold = 0 })
	drop("priority_timeout", cfg.PriorityTimeout < 0, func() { cfg.PriorityTimeout = 0 })
	return err
}

func pedanticErr(text string) *jsapi.Error { return jsapi.Err(jsapi.ErrPedantic, "err", text) }

func checkNames(cfg *jsapi.ConsumerConfig, _ *jsapi.StreamConfig) *jsapi.Error {
	if cfg.Durable != "" && !jsapi.ValidName(cfg.Durable) {
		return jsapi.InvalidConfig(`consumer durable name can not contain '.', '*', '>', '\', '/'`)
	}
	if cfg.Name != "" && !jsapi.ValidName(cfg.Name) {
		return jsapi.InvalidConfig(`consumer name can not contain '.', '*', '>', '\', '/'`)
	}
	if cfg.Name != "" && cfg.Durable != "" && cfg.Name != cfg.Durable {
		return jsapi.Err(jsapi.ErrConsumerCreateDurableAndNameMismatch)
	}
	return nil
}

func checkReplicas(cfg *jsapi.ConsumerConfig, stream *jsapi.StreamConfig) *jsapi.Error {
	switch {
	case cfg.Replicas < 0:
		return jsapi.Err(jsapi.ErrReplicasCountCannotBeNegative)
	case cfg.Replicas > stream.Replicas:
		return jsapi.Err(jsapi.ErrConsumerReplicasExceedsStream)
	case stream.Retention != jsapi.LimitsRetention && cfg.Replicas != 0 && cfg.Replicas != stream.Replicas:
		return jsapi.Err(jsapi.ErrConsumerReplicasShouldMatchStream)
	}
	return nil
}

func checkAcks(cfg *jsapi.ConsumerConfig, _ *jsapi.StreamConfig) *jsapi.Error {
	if slices.ContainsFunc(cfg.BackOff, func(d time.Duration) bool { return d < 0 }) {
		return jsapi.Err(jsapi.ErrConsumerBackOffNegative)
	}
	if cfg.AckWait < 0 {
		return jsapi.Err(jsapi.ErrConsumerAckWaitNegative)
	}
	if cfg.AckPolicy == jsapi.AckFlowControl {
		switch {
		case !cfg.Push():
			return jsapi.Err(jsapi.ErrConsumerAckFCRequiresPush)
		case !cfg.FlowControl:
			return jsapi.Err(jsapi.ErrConsumerAckFCRequiresFC)
		case cfg.Heartbeat != flowHeartbeat:
			return jsapi.InvalidConfig("flow control ack policy heartbeat needs to be 1s")
		case cfg.MaxAckPending <= 0:
			return jsapi.Err(jsapi.ErrConsumerAckFCRequiresMaxAckPending)
		case cfg.AckWait != 0:
			return jsapi.Err(jsapi.ErrConsumerAckFCRequiresNoAckWait)
		case cfg.MaxDeliver > 0:
			return jsapi.Err(jsapi.ErrConsumerAckFCRequiresNoMaxDeliver)
		}
	}
	if cfg.MaxDeliver > 0 && len(cfg.BackOff) > cfg.MaxDeliver {
		return jsapi.Err(jsapi.ErrConsumerMaxDeliverBackoff)
	}
	if len(cfg.Description) > jsapi.DescriptionMax {
		return jsapi.Err(jsapi.ErrConsumerDescriptionTooLong, "max", strconv.Itoa(jsapi.DescriptionMax))
	}
	return nil
}

func checkDelivery(cfg *jsapi.ConsumerConfig, stream *jsapi.StreamConfig) *jsapi.Error {
	if cfg.Push() {
		return checkPush(cfg, stream)
	}
	switch {
	case stream.Retention == jsapi.WorkQueueRetention && cfg.AckPolicy == jsapi.AckNone:
		return jsapi.Err(jsapi.ErrConsumerPullRequiresAck)
	case cfg.RateLimit > 0:
		return jsapi.Err(jsapi.ErrConsumerPullWithRateLimit)
	case cfg.Heartbeat > 0:
		return jsapi.Err(jsapi.ErrConsumerHBRequiresPush)
	case cfg.FlowControl:
		return jsapi.Err(jsapi.ErrConsumerFCRequiresPush)
	case cfg.MaxRequestExpires != 0 && cfg.MaxRequestExpires < time.Millisecond:
		return jsapi.Err(jsapi.ErrConsumerMaxRequestExpiresTooSmall)
	}
	return nil
}

func checkPush(cfg *jsapi.ConsumerConfig, stream *jsapi.StreamConfig) *jsapi.Error {
	switch to := cfg.DeliverSubject; {
	case subject.HasWildcard(to):
		return jsapi.Err(jsapi.ErrConsumerDeliverToWildcards)
	case !subject.ValidName(to):
		return jsapi.Err(jsapi.ErrConsumerInvalidDeliverSubject)
	case slices.ContainsFunc(stream.Subjects, func(s string) bool { return subject.Match(s, to) }):
		return jsapi.Err(jsapi.ErrConsumerDeliverCycle)
	case cfg.MaxWaiting > 0:
		return jsapi.Err(jsapi.ErrConsumerPushMaxWaiting)
	case cfg.MaxAckPending > 0 && cfg.AckPolicy == jsapi.AckNone:
		return jsapi.Err(jsapi.ErrConsumerMaxPendingAckPolicyRequired)
	case cfg.Heartbeat > 0 && cfg.Heartbeat < minHeartbeat:
		return jsapi.Err(jsapi.ErrConsumerSmallHeartbeat)
	}
	return nil
}

func checkLimits(cfg *jsapi.ConsumerConfig, stream *jsapi.StreamConfig, limits Limits) *jsapi.Error {
	for _, l := range []int{limits.MaxAckPending, stream.ConsumerLimits.MaxAckPending} {
		if l > 0 && (cfg.MaxAckPending > l || cfg.MaxAckPending == -1 && cfg.AckPolicy != jsapi.AckNone) {
			return jsapi.Err(jsapi.ErrConsumerMaxPendingAckExcess, "limit", strconv.Itoa(l))
		}
	}
	if l := stream.ConsumerLimits.InactiveThreshold; l > 0 && cfg.InactiveThreshold > l {
		return jsapi.Err(jsapi.ErrConsumerInactiveThresholdExcess, "limit", l.String())
	}
	if cfg.Direct {
		if !cfg.Push() {
			return jsapi.Err(jsapi.ErrConsumerDirectRequiresPush)
		}
		if cfg.Durable != "" {
			return jsapi.Err(jsapi.ErrConsumerDirectRequiresEphemeral)
		}
	}
	return nil
}

func checkFilters(cfg *jsapi.ConsumerConfig) *jsapi.Error {
	if cfg.FilterSubject != "" && len(cfg.FilterSubjects) > 0 {
		return jsapi.Err(jsapi.ErrConsumerDuplicateFilterSubjects)
	}
	if cfg.FilterSubject != "" && !subject.Valid(cfg.FilterSubject) {
		return jsapi.InvalidConfig("invalid subject")
	}
	if slices.Contains(cfg.FilterSubjects, "") {
		return jsapi.Err(jsapi.ErrConsumerEmptyFilter)
	}
	for i, f := range cfg.FilterSubjects {
		if !subject.Valid(f) {
			return jsapi.InvalidConfig("invalid subject")
		}
		for _, g := range cfg.FilterSubjects[:i] {
			if subject.Overlap(f, g) {
				return jsapi.Err(jsapi.ErrConsumerOverlappingSubjectFilters)
			}
		}
	}
	return nil
}

func checkStart(cfg *jsapi.ConsumerConfig) *jsapi.Error {
	bad := func(text string) *jsapi.Error {
		return jsapi.Err(jsapi.ErrConsumerInvalidPolicy, "err", "consumer delivery policy is deliver "+text)
	}
	switch cfg.DeliverPolicy {
	case jsapi.DeliverByStartSequence:
		if cfg.OptStartSeq == 0 {
			return bad("by start sequence, but optional start sequence is not set")
		}
		if cfg.OptStartTime != nil {
			return bad("by start sequence, but optional start time is also set")
		}
		return nil
	case jsapi.DeliverByStartTime:
		if cfg.OptStartTime == nil {
			return bad("by start time, but optional start time is not set")
		}
		if cfg.OptStartSeq != 0 {
			return bad("by start time, but optional start start sequence is also set")
		}
		return nil
	}
	policy := strings.ReplaceAll(cfg.DeliverPolicy.String(), "_", " ")
	if cfg.OptStartSeq != 0 {
		return bad(policy + ", but optional start sequence is also set")
	}
	if cfg.OptStartTime != nil {
		return bad(policy + ", but optional start time is also set")
	}
	if cfg.DeliverPolicy == jsapi.DeliverLastPerSubject && len(cfg.Filters()) == 0 {
		return bad(policy + ", but optional filter subject is not set")
	}
	return nil
}

func checkSampling(cfg *jsapi.ConsumerConfig) *jsapi.Error {
	if cfg.SampleFrequency == "" {
		return nil
	}
	n, err := strconv.Atoi(strings.TrimSuffix(cfg.SampleFrequency, "%"))
	if err != nil {
		return jsapi.Err(jsapi.ErrConsumerInvalidSampling, "err", err.Error())
	}
	if n < 0 {
		return jsapi.Err(jsapi.ErrConsumerInvalidSampling, "err", "<nil>")
	}
	return nil
}

func checkFlow(cfg *jsapi.ConsumerConfig) *jsapi.Error {
	if cfg.FlowControl && cfg.Heartbeat == 0 {
		return jsapi.Err(jsapi.ErrConsumerWithFlowControlNeedsHeartbeats)
	}
	if jsapi.MetadataSize(cfg.Metadata) > jsapi.MetadataMax {
		return jsapi.Err(jsapi.ErrConsumerMetadataLength, "limit", "128KB")
	}
	return nil
}

func checkPriority(cfg *jsapi.ConsumerConfig) *jsapi.Error {
	if cfg.PriorityPolicy == jsapi.PriorityNone {
		if len(cfg.PriorityGroups) > 0 {
			return jsapi.Err(jsapi.ErrConsumerPriorityGroupWithPolicyNone)
		}
		if cfg.PriorityTimeout != 0 {
			return jsapi.Err(jsapi.ErrConsumerPinnedTTLWithoutPriorityPolicyNone)
		}
		return nil
	}
	if cfg.Push() {
		return jsapi.Err(jsapi.ErrConsumerPushWithPriorityGroup)
	}
	if len(cfg.PriorityGroups) == 0 {
		return jsapi.Err(jsapi.ErrConsumerPriorityPolicyWithoutGroup)
	}
	for _, g := range cfg.PriorityGroups {
		if g == "" {
			return jsapi.Err(jsapi.ErrConsumerEmptyGroupName)
		}
		if !ValidGroup(g) {
			return jsapi.Err(jsapi.ErrConsumerInvalidGroupName)
		}
	}
	return nil
}

// ValidGroup says whether g may name a priority group.
func ValidGroup(g string) bool {
	return len(g) <= priorityGroupMax && strings.Trim(g, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_=-") == ""
}
