package stream

import (
	"bytes"
	"maps"
	"strconv"
	"strings"

	"godwit/protocol/jsapi"
	"godwit/protocol/subject"
	"godwit/stream/sequence"
)

// Bounds of what a partition key may be.
const (
	keyTokensMax = 16  // tokens of the subject
	keyTokenLast = 128 // the last one that may be chosen
)

// key says what of a message decides to which partition it goes.
type key struct {
	tokens []int  // of the subject, from 0; nil for the whole of it
	header string // the value of this header, if there is one; empty: it does not matter
}

// parseKey reads a partition_key: empty or "subject"; "tokens:" and numbers from 1, with commas between them; "header:" and
// a name.
func parseKey(text string) (k key, ok bool) {
	kind, arg, _ := strings.Cut(text, ":")
	switch kind {
	case "", "subject":
		return k, text == kind
	case "tokens":
		for n := range strings.SplitSeq(arg, ",") {
			at, err := strconv.Atoi(strings.TrimSpace(n))
			if err != nil || at < 1 || at > keyTokenLast || len(k.tokens) == keyTokensMax {
				return k, false
			}
			k.tokens = append(k.tokens, at-1)
		}
		return k, true
	case "header":
		k.header = arg
		return k, validHeaderName(arg)
	}
	return k, false
}

// validHeaderName says whether messages can have a header of that name.
func validHeaderName(name string) bool {
	return name != "" && len(name) <= 256 && strings.IndexFunc(name, func(r rune) bool { return r <= ' ' || r == ':' || r > '~' }) < 0
}

// partition returns the partition among n that a message goes to: the key's hash, which is that of the function partition of
// subject transforms, modulo n. Tokens are taken one behind the other without dots. What the key does not find leaves the whole
// subject.
func (k *key) partition(subj, header []byte, n uint32) int {
	if k.header != "" {
		if value, ok := findHeader(header, k.header); ok {
			return int(subject.Partition(value, n))
		}
		return int(subject.Partition(subj, n))
	}
	if k.tokens == nil {
		return int(subject.Partition(subj, n))
	}
	var scratch [128]byte
	chosen := scratch[:0]
	for _, at := range k.tokens {
		token, ok := tokenAt(subj, at)
		if !ok {
			return int(subject.Partition(subj, n))
		}
		chosen = append(chosen, token...)
	}
	return int(subject.Partition(chosen, n))
}

// partitionOf returns the partition that all messages on a subject are in, which may be a pattern; ok is false if they
// may be in several.
func (k *key) partitionOf(subj []byte, n uint32) (partition int, ok bool) {
	switch {
	case k.header != "":
		return 0, false
	case !subject.HasWildcard(subj):
		return k.partition(subj, nil, n), true
	case k.tokens == nil:
		return 0, false
	}
	for _, at := range k.tokens {
		token, ok := tokenAt(subj, at)
		if !ok || string(token) == "*" || string(token) == ">" {
			return 0, false
		}
	}
	if i := bytes.IndexByte(subj, '>'); i >= 0 && i == len(subj)-1 {
		last := bytes.Count(subj, []byte("."))
		for _, at := range k.tokens {
			if at >= last {
				return 0, false
			}
		}
	}
	return k.partition(subj, nil, n), true
}

// tokenAt returns the token at a place, from 0.
func tokenAt(subj []byte, at int) (token []byte, ok bool) {
	for ; at > 0; at-- {
		i := bytes.IndexByte(subj, '.')
		if i < 0 {
			return nil, false
		}
		subj = subj[i+1:]
	}
	token, _, _ = bytes.Cut(subj, []byte("."))
	return token, true
}

// findHeader returns the value of a header, which is part of the block. Names are compared as they are.
func findHeader(header []byte, name string) (value []byte, ok bool) {
	for len(header) > 0 {
		line, rest, _ := bytes.Cut(header, []byte("\r\n"))
		if len(line) > len(name) && line[len(name)] == ':' && string(line[:len(name)]) == name {
			return bytes.TrimSpace(line[len(name)+1:]), true
		}
		header = rest
	}
	return nil, false
}

// The metadata of a stream that stand for the fields, for clients that do not know those.
const (
	metaPartitions   = "godwit.partitions"
	metaPartitionKey = "godwit.partition_key"
)

// partitionsMax bounds the partitions of a stream.
const partitionsMax = 1024

// checkPartitions fills in what metadata say of partitions and checks what goes with several of them.
func checkPartitions(cfg *jsapi.StreamConfig) *jsapi.Error {
	if text, ok := cfg.Metadata[metaPartitions]; ok {
		n, err := strconv.Atoi(text)
		if err != nil || cfg.Partitions != 0 && cfg.Partitions != n {
			return invalid("metadata %s is %q, which is no number of partitions or not that of the field partitions", metaPartitions, text)
		}
		cfg.Partitions = n
	}
	if text, ok := cfg.Metadata[metaPartitionKey]; ok {
		if cfg.PartitionKey != "" && cfg.PartitionKey != text {
			return invalid("metadata %s is not what the field partition_key says", metaPartitionKey)
		}
		cfg.PartitionKey = text
	}
	if cfg.Partitions < 0 || cfg.Partitions > partitionsMax {
		return invalid("partitions must be between 1 and %d", partitionsMax)
	}
	k, ok := parseKey(cfg.PartitionKey)
	if !ok {
		return invalid(`partition_key must be "subject", "tokens:" with numbers from 1, or "header:" with a name`)
	}
	if cfg.Partitions == 1 {
		cfg.Partitions = 0 // which is a stream as any
	}
	if cfg.Partitions == 0 {
		if cfg.PartitionKey != "" {
			return invalid("partition_key requires several partitions")
		}
		return nil
	}
	if cfg.PartitionKey == "subject" {
		cfg.PartitionKey = ""
	}
	showPartitions(cfg)
	no := func(what string) *jsapi.Error {
		return invalid("a stream with several partitions can not have %s", what)
	}
	switch {
	case cfg.Mirror != nil:
		return no("a mirror")
	case len(cfg.Sources) > 0:
		return no("sources")
	case cfg.FirstSeq > 1:
		return no("a first sequence")
	case cfg.AllowMsgSchedules:
		return no("message schedules")
	case cfg.AllowBatchPublish:
		return no("fast batches")
	case cfg.MaxMsgs > 0 && cfg.MaxMsgs < int64(cfg.Partitions):
		return invalid("max_msgs must be at least the number of partitions")
	case cfg.MaxBytes > 0 && cfg.MaxBytes < int64(cfg.Partitions):
		return invalid("max_bytes must be at least the number of partitions")
	case k.header == "":
		return nil
	}
	// Messages of one subject may be in several partitions.
	switch {
	case cfg.MaxMsgsPerSubject > 0:
		return no("max_msgs_per_subject if a header is the key")
	case cfg.AllowMsgCounter:
		return no("counters if a header is the key")
	case cfg.AllowRollup:
		return no("roll-ups if a header is the key")
	}
	return nil
}

// showPartitions says in the metadata what the fields say: clients that know only those show them, and give them back when they
// change or restore the stream.
func showPartitions(cfg *jsapi.StreamConfig) {
	cfg.Metadata = maps.Clone(cfg.Metadata)
	if cfg.Metadata == nil {
		cfg.Metadata = map[string]string{}
	}
	cfg.Metadata[metaPartitions] = strconv.Itoa(cfg.Partitions)
	if cfg.PartitionKey != "" {
		cfg.Metadata[metaPartitionKey] = cfg.PartitionKey
	} else {
		delete(cfg.Metadata, metaPartitionKey)
	}
}

// shareOf returns the configuration of one partition: limits on the whole stream are divided.
func shareOf(cfg jsapi.StreamConfig, n sequence.Scheme) jsapi.StreamConfig {
	if n.Several() {
		if cfg.MaxMsgs > 0 {
			cfg.MaxMsgs /= int64(n.Partitions)
		}
		if cfg.MaxBytes > 0 {
			cfg.MaxBytes /= int64(n.Partitions)
		}
	}
	return cfg
}
