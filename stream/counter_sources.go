package stream

import (
	"encoding/json"
	"math/big"

	"godwit/protocol/jsapi"
	"godwit/stream/segment"
)

// hdrCounterSources holds, in the last message of a counter that others add to, the totals of those as they were last seen:
// {"<stream>":{"<subject there>":"<total>"}}.
const hdrCounterSources = "Nats-Counter-Sources"

type counterSources map[string]map[string]string

// countCopied makes rec, which holds the total of a counter in another stream, hold that of this stream's counter, which it
// returns: what has been added there since it was last seen is added here.
func (p *Partition) countCopied(hash uint64, c *check, rec *segment.Record) (*big.Int, *jsapi.Error) {
	broken := jsapi.Err(jsapi.ErrMessageCounterBroken)
	if c.seen&seenIncr == 0 {
		return nil, jsapi.Err(jsapi.ErrMessageIncrMissing)
	}
	from, ok := readOrigin(rec.Header)
	theirs := decodeCounter(rec.Value)
	if !ok || theirs == nil {
		return nil, broken
	}
	before, text, err := p.counter(hash, rec.Subject)
	if err != nil {
		return nil, err
	}
	sources := counterSources{}
	if text != nil && json.Unmarshal(text, &sources) != nil {
		return nil, broken
	}
	added := theirs
	if seen, ok := sources[from.stream][from.subject]; ok {
		n := parseIncrement([]byte(seen))
		if n == nil {
			return nil, broken
		}
		added = new(big.Int).Sub(theirs, n)
	}
	if sources[from.stream] == nil {
		sources[from.stream] = map[string]string{}
	}
	sources[from.stream][from.subject] = theirs.String()
	value := new(big.Int).Add(before, added)
	next, _ := json.Marshal(sources) // strings cannot fail
	rec.Value = encodeCounter(value)
	rec.Header = setHeader(nil, rec.Header, hdrIncr, added.String())
	rec.Header = setHeader(nil, rec.Header, hdrCounterSources, string(next))
	c.changed = true
	return value, nil
}
