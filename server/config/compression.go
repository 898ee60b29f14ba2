package config

import (
	"strings"
	"time"

	"godwit/conf"
	"godwit/server/options"
)

// compressionBlock declares a compression map.
func compressionBlock(on options.CompressionMode) *conf.Block[options.Compression] {
	type C = options.Compression
	return conf.NewBlock(conf.Block[C]{Name: "compression", Doc: "How the traffic of peer connections is compressed: a mode, a boolean, or a map."},
		conf.Field[C]{Key: "mode", Type: "string", Reload: conf.Live, Doc: "`off` (`disabled`), `not_supported`, `accept` (as the other side wants), `on` (`enabled`), `s2_fast`, `s2_better`, `s2_best`, or `s2_auto`, which chooses by the round trip time. `on` is `s2_fast` for routes and `s2_auto` for leaf nodes.", Set: func(d *conf.Decoder, _ string, v *conf.Value, c *C) {
			if s, ok := d.String(v); ok {
				c.Mode = compressionMode(s, on)
			}
		}},
		conf.Field[C]{Key: "rtt_thresholds", Aliases: []string{"thresholds", "rtts", "rtt"}, Type: "list of durations", Default: "[10ms, 50ms, 100ms]", Bounds: "one to four, ascending", Reload: conf.Live, Doc: "For `s2_auto`: up to the first round trip time nothing is compressed, then fast, better and best. `0s` leaves a step out.", Set: func(d *conf.Decoder, _ string, v *conf.Value, c *C) {
			list, ok := d.List(v)
			if !ok {
				return
			}
			for _, e := range list {
				s, ok := d.String(e)
				if !ok {
					continue
				}
				t, err := time.ParseDuration(s)
				if err != nil {
					d.Errorf(v, "%v", err)
					continue
				}
				c.RTTThresholds = append(c.RTTThresholds, t)
			}
		}},
	)
}

// compressionMode returns the mode of a word; an unknown word stays, for the checks at the start to name.
func compressionMode(s string, on options.CompressionMode) options.CompressionMode {
	switch strings.ToLower(s) {
	case "":
		return options.CompressionUnset
	case "not_supported", "not supported":
		return options.CompressionNotSupported
	case "off", "disabled", "false":
		return options.CompressionOff
	case "accept":
		return options.CompressionAccept
	case "on", "enabled", "true":
		return on
	case "auto", "s2_auto":
		return options.CompressionAuto
	case "fast", "s2_fast":
		return options.CompressionFast
	case "better", "s2_better":
		return options.CompressionBetter
	case "best", "s2_best":
		return options.CompressionBest
	}
	return options.CompressionMode(s)
}

// compression sets how a kind of peer connection is compressed; on is what the word on means for it.
func compression[T any](on options.CompressionMode, at func(*T) *options.Compression) conf.Setter[T] {
	return func(d *conf.Decoder, key string, v *conf.Value, into *T) {
		c := options.Compression{}
		switch v.Kind {
		case conf.Bool:
			if c.Mode = options.CompressionOff; v.Flag {
				c.Mode = on
			}
		case conf.String:
			c.Mode = compressionMode(v.Text, on)
		case conf.MapKind:
			compressionBlock(on).Decode(d, v, &c)
		default:
			d.Errorf(v, "field %q should be a boolean or a structure, got %s", key, v.GoType())
			return
		}
		if c.Mode == options.CompressionAuto && len(c.RTTThresholds) == 0 {
			c.RTTThresholds = options.DefaultRTTThresholds()
		}
		*at(into) = c
	}
}
