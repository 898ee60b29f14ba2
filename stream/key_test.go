package stream

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"godwit/protocol/jsapi"
	"godwit/protocol/subject"
)

func TestKeysAreRead(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "subject": true, "tokens:1": true, "tokens:2, 1": true, "tokens:128": true, "header:Godwit-Key": true,
		"subject:": false, "tokens": false, "tokens:": false, "tokens:0": false, "tokens:129": false, "tokens:a": false, "tokens:1,": false,
		"tokens:" + strings.Repeat("1,", 16) + "1": false, "header": false, "header:": false, "header:a b": false, "header:a:b": false,
		"key": false, "Subject": false,
	} {
		if _, ok := parseKey(text); ok != want {
			t.Errorf("%q: %v", text, ok)
		}
	}
}

func TestKeyDecidesPartition(t *testing.T) {
	const n = 64
	at := func(text, subj, header string) int {
		k, ok := parseKey(text)
		if !ok {
			t.Fatal(text)
		}
		return k.partition([]byte(subj), []byte(header), n)
	}
	hash := func(key string) int { return int(subject.Partition(key, n)) }
	for _, tt := range []struct {
		key, subject, header string
		want                 int
	}{
		{"", "a.b.c", "", hash("a.b.c")},
		{"tokens:2", "a.b.c", "", hash("b")},
		{"tokens:3,1", "a.b.c", "", hash("ca")},
		{"tokens:4", "a.b.c", "", hash("a.b.c")},
		{"header:Key", "a.b", "NATS/1.0\r\nKey:  k 1 \r\n\r\n", hash("k 1")},
		{"header:Key", "a.b", "NATS/1.0\r\nMyKey: x\r\nkey: y\r\nKey: z\r\n\r\n", hash("z")},
		{"header:Key", "a.b", "NATS/1.0\r\nKeys: x\r\n\r\n", hash("a.b")},
		{"header:Key", "a.b", "", hash("a.b")},
	} {
		if got := at(tt.key, tt.subject, tt.header); got != tt.want {
			t.Errorf("%+v: %d", tt, got)
		}
	}
	// The function partition of subject transforms puts a subject into the same one.
	tr, err := subject.NewTransform("a.*.*", "p.{{partition(64,1,2)}}")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		subj := fmt.Sprintf("a.x%d.y%d", i, i*7)
		to, ok := tr.Append(nil, subj)
		if want := fmt.Sprintf("p.%d", at("tokens:2,3", subj, "")); !ok || string(to) != want {
			t.Errorf("%s: %s, want %s", subj, to, want)
		}
	}
}

// If a pattern is said to be of one partition, all that it matches is there.
func TestPatternsOfOnePartition(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	word := func() string { return string('a' + rune(random.IntN(3))) }
	keys := []string{"", "tokens:1", "tokens:2", "tokens:3", "tokens:1,3", "tokens:5"}
	decided := 0
	for range 20_000 {
		k, _ := parseKey(keys[random.IntN(len(keys))])
		var pattern, subj []string
		for range 1 + random.IntN(4) {
			w := word()
			subj = append(subj, w)
			if random.IntN(3) == 0 {
				w = "*"
			}
			pattern = append(pattern, w)
		}
		if random.IntN(3) == 0 {
			pattern = append(pattern, ">")
			for range 1 + random.IntN(3) {
				subj = append(subj, word())
			}
		}
		p, s := strings.Join(pattern, "."), strings.Join(subj, ".")
		if !subject.Match(p, []byte(s)) {
			t.Fatalf("%s does not match %s", p, s)
		}
		if at, ok := k.partitionOf([]byte(p), 64); ok {
			decided++
			if got := k.partition([]byte(s), nil, 64); got != at {
				t.Fatalf("%+v: %s is in %d, but %s in %d", k, p, at, s, got)
			}
		}
	}
	if decided < 1000 {
		t.Errorf("only %d patterns were decided", decided)
	}
}

func TestConfigurationsWithPartitions(t *testing.T) {
	meta := func(kv ...string) map[string]string { return map[string]string{kv[0]: kv[1]} }
	for _, tt := range []struct {
		cfg  jsapi.StreamConfig
		want string // part of the error; empty for none
		n    int
	}{
		{jsapi.StreamConfig{Partitions: 8}, "", 8},
		{jsapi.StreamConfig{Partitions: 1}, "", 0},
		{jsapi.StreamConfig{Metadata: meta("godwit.partitions", "200")}, "", 200},
		{jsapi.StreamConfig{Metadata: meta("godwit.partitions", "4"), Partitions: 4, PartitionKey: "tokens:2"}, "", 4},
		{jsapi.StreamConfig{Metadata: meta("godwit.partitions", "x")}, `metadata godwit.partitions is "x"`, 0},
		{jsapi.StreamConfig{Metadata: meta("godwit.partitions", "4"), Partitions: 5}, "metadata godwit.partitions", 0},
		{jsapi.StreamConfig{Metadata: meta("godwit.partition_key", "tokens:1"), Partitions: 5, PartitionKey: "tokens:2"}, "godwit.partition_key", 0},
		{jsapi.StreamConfig{Partitions: -1}, "between 1 and 1024", 0},
		{jsapi.StreamConfig{Partitions: 1025}, "between 1 and 1024", 0},
		{jsapi.StreamConfig{Partitions: 2, PartitionKey: "x"}, "partition_key must be", 0},
		{jsapi.StreamConfig{PartitionKey: "tokens:1"}, "requires several partitions", 0},
		{jsapi.StreamConfig{Partitions: 8, MaxMsgs: 7}, "max_msgs must be", 0},
		{jsapi.StreamConfig{Partitions: 8, MaxBytes: 7}, "max_bytes must be", 0},
		{jsapi.StreamConfig{Partitions: 8, FirstSeq: 10}, "a first sequence", 0},
		{jsapi.StreamConfig{Partitions: 8, AllowMsgSchedules: true}, "message schedules", 0},
		{jsapi.StreamConfig{Partitions: 8, AllowBatchPublish: true}, "fast batches", 0},
		{jsapi.StreamConfig{Partitions: 8, Mirror: &jsapi.StreamSource{Name: "O"}}, "a mirror", 0},
		{jsapi.StreamConfig{Partitions: 8, Sources: []*jsapi.StreamSource{{Name: "O"}}}, "sources", 0},
		{jsapi.StreamConfig{Partitions: 8, PartitionKey: "header:K", MaxMsgsPerSubject: 1}, "max_msgs_per_subject if a header is the key", 0},
		{jsapi.StreamConfig{Partitions: 8, PartitionKey: "header:K", AllowMsgCounter: true}, "counters if a header is the key", 0},
		{jsapi.StreamConfig{Partitions: 8, PartitionKey: "header:K", AllowRollup: true}, "roll-ups if a header is the key", 0},
		{jsapi.StreamConfig{Partitions: 8, PartitionKey: "header:K"}, "", 8},
	} {
		cfg := tt.cfg
		cfg.Name = "S"
		err := CheckConfig(&cfg, Limits{}, false)
		switch {
		case tt.want == "" && err != nil, tt.want != "" && err == nil:
			t.Errorf("%+v: %v", tt.cfg, err)
		case err != nil && !strings.Contains(err.Description, tt.want):
			t.Errorf("%+v: %v, want %q", tt.cfg, err, tt.want)
		case err == nil && cfg.Partitions != tt.n:
			t.Errorf("%+v: %d partitions", tt.cfg, cfg.Partitions)
		}
	}
}
