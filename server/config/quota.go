package config

import (
	"strings"
	"time"

	"godwit/conf"
	"godwit/server/options"
)

// quotaBlock declares the rates of an account or a user.
func quotaBlock() *conf.Block[options.Quota] {
	type Q = options.Quota
	rate := func(key, unit, doc string, at func(*Q) *int64) conf.Field[Q] {
		return conf.Field[Q]{Key: key, Type: "size", Unit: unit + " per second", Default: "0", Bounds: "0 to 2^50", Reload: conf.Live, Doc: doc, Set: rateSetter(at)}
	}
	return conf.NewBlock(conf.Block[Q]{
		Name: "quota",
		Doc: "What clients of an account, or of a user, may publish, all their connections together. A connection that publishes more is slowed down: " +
			"the server reads more slowly from it. What would have to wait longer than `max_delay` is refused, as [errors.md](errors.md) says. 0 is no limit, and " +
			"an empty map lifts the limits that `quotas` gives. Not in nats-server.",
	},
		rate("messages", "messages", "Messages published, requests and acknowledgements included.", func(q *Q) *int64 { return &q.Messages }),
		rate("bytes", "bytes", "Header blocks and payloads of these messages.", func(q *Q) *int64 { return &q.Bytes }),
		rate("requests", "requests", "Requests to the JetStream API, pull requests and direct gets included.", func(q *Q) *int64 { return &q.Requests }),
		conf.Field[Q]{Key: "burst", Type: "duration", Default: "1s", Bounds: "1ms to 1h", Reload: conf.Live, Doc: "What was not used in this time can be used at once later.",
			Set: boundedSpan(options.QuotaBurstMin, options.QuotaBurstMax, func(q *Q) *time.Duration { return &q.Burst })},
		conf.Field[Q]{Key: "max_delay", Type: "duration", Default: "2s", Bounds: "0s to 30s", Reload: conf.Live, Doc: "How long messages may be held back before further ones are refused; `0s` refuses at once.",
			Set: boundedSpan(0, options.QuotaDelayMax, func(q *Q) *time.Duration { return &q.MaxDelay })},
	)
}

// rateSetter sets a number of 0 or more, also as a string such as "10MB".
func rateSetter(at func(*options.Quota) *int64) conf.Setter[options.Quota] {
	return func(d *conf.Decoder, key string, v *conf.Value, q *options.Quota) {
		size := *v
		if size.Kind == conf.String {
			size.Text = strings.TrimSuffix(strings.ToUpper(size.Text), "B")
		}
		n, err := storageSize(&size)
		if err != nil || n < 0 || n > options.QuotaRateMax || v.Kind == conf.String && v.Text == "" {
			d.Errorf(v, "Expected a rate of 0 or more for %q, got %v", key, v)
			return
		}
		*at(q) = n
	}
}

// boundedSpan sets a duration between two bounds.
func boundedSpan(least, most time.Duration, at func(*options.Quota) *time.Duration) conf.Setter[options.Quota] {
	return func(d *conf.Decoder, key string, v *conf.Value, q *options.Quota) {
		t, ok := d.Duration(v, key)
		if !ok {
			return
		}
		if t < least || t > most {
			d.Errorf(v, "%s is to be between %v and %v, got %v", key, least, most, t)
			return
		}
		*at(q) = t
	}
}

func setQuota[T any](at func(*T) **options.Quota) conf.Setter[T] {
	return func(d *conf.Decoder, _ string, v *conf.Value, into *T) {
		q := &options.Quota{Burst: options.DefaultQuotaBurst, MaxDelay: options.DefaultQuotaMaxDelay}
		if quotaBlock().Decode(d, v, q) {
			*at(into) = q
		}
	}
}

// quotasBlock declares the rates of those that have none of their own.
func quotasBlock() *conf.Block[options.Quotas] {
	type Q = options.Quotas
	return conf.NewBlock(conf.Block[Q]{Name: "quotas", Doc: "Rates of accounts and users without a `quota` of their own, in operator mode of all. The system account has none then. Not in nats-server."},
		conf.Field[Q]{Key: "account", Type: "map", Block: "quota", Reload: conf.Live, Doc: "Of each account, the global one included.", Set: setQuota(func(q *Q) **options.Quota { return &q.Account })},
		conf.Field[Q]{Key: "user", Type: "map", Block: "quota", Reload: conf.Live, Doc: "Of each user, as whom clients log in.", Set: setQuota(func(q *Q) **options.Quota { return &q.User })},
	)
}
