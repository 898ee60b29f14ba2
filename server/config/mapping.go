package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"godwit/conf"
	"godwit/protocol/subject"
	"godwit/server/options"
)

// destBuild is a destination of a mapping in the making.
type destBuild struct {
	options.MappingDest
	weighted bool
}

// mappingBlock declares a destination of a mapping.
func mappingBlock() *conf.Block[destBuild] {
	return conf.NewBlock(conf.Block[destBuild]{
		Name:    "mappings",
		Doc:     "A map from source subjects to where messages published to them go instead: a destination, a map, or a list of maps. Destinations may use `$1` and the functions of subject transforms. Keys of a map:",
		Unknown: func(key string) string { return fmt.Sprintf("Unknown field %q for mapping destination", key) },
		NotMap:  mustBeWords("Expected an entry for the mapping destination"),
	},
		conf.Field[destBuild]{Key: "destination", Aliases: []string{"dest"}, Type: "subject", Reload: conf.Live, Doc: "Where messages go.", Set: conf.Str(func(m *destBuild) *string { return &m.Subject })},
		conf.Field[destBuild]{Key: "weight", Type: "integer or percentage", Bounds: "0 to 100; together not more than 100", Reload: conf.Live, Doc: "Share of the messages; required.", Set: setWeight},
		conf.Field[destBuild]{Key: "cluster", Type: "string", Reload: conf.Live, Doc: "The destination is for servers of this cluster only.", Set: conf.Str(func(m *destBuild) *string { return &m.Cluster })},
	)
}

func setWeight(d *conf.Decoder, _ string, v *conf.Value, m *destBuild) {
	n := v.Num
	switch v.Kind {
	case conf.Int:
	case conf.String:
		parsed, err := strconv.Atoi(strings.TrimSuffix(v.Text, "%"))
		if err != nil {
			d.Errorf(v, "Invalid weight %q for mapping destination", v.Text)
			return
		}
		n = int64(parsed)
	default:
		d.Errorf(v, "Unknown entry type for weight of %v", v)
		return
	}
	if n < 0 || n > 100 {
		d.Errorf(v, "Invalid weight %d for mapping destination", n)
		return
	}
	m.Weight, m.weighted = uint8(n), true
}

// decodeMappings decodes a map of mappings.
func decodeMappings(d *conf.Decoder, v *conf.Value) (list []*options.Mapping) {
	m, ok := d.Map(v)
	if !ok {
		return nil
	}
	for _, member := range m.Members {
		source, to := member.Key, member.Value
		if !subject.Valid(source) {
			d.Errorf(v, "Subject %q is not a valid subject", source)
			continue
		}
		mapping := &options.Mapping{Source: source}
		switch to.Kind {
		case conf.String:
			if err := subject.ValidateMapping(source, to.Text); err != nil {
				d.Errorf(to, "Error adding mapping for %q to %q : %v", source, to.Text, err)
				continue
			}
			mapping.Dests = []options.MappingDest{{Subject: to.Text, Weight: 100}}
		case conf.MapKind:
			decodeDest(d, to, mapping)
		case conf.List:
			for _, e := range to.List {
				decodeDest(d, e, mapping)
			}
		default:
			d.Errorf(to, "Expected an entry for the mapping destination")
			continue
		}
		if to.Kind != conf.String {
			if err := checkDests(mapping); err != nil {
				d.Errorf(to, "Error adding mapping for %q : %v", source, err)
				continue
			}
		}
		list = append(list, mapping)
	}
	return list
}

// decodeDest adds one destination to a mapping. One without a subject is passed over.
func decodeDest(d *conf.Decoder, v *conf.Value, mapping *options.Mapping) {
	m := &destBuild{}
	before := d.Count()
	if !mappingBlock().Decode(d, v, m) || d.Count() > before {
		return
	}
	if !m.weighted {
		d.Errorf(v, "Missing weight for mapping destination %q", m.Subject)
		return
	}
	if m.Subject == "" {
		return
	}
	mapping.Dests = append(mapping.Dests, m.MappingDest)
}

// Errors about the destinations of one mapping.
var errTotalWeight = errors.New("total weight needs to be <= 100")

// checkDests checks the destinations of a mapping together. Each cluster has weights of its own.
func checkDests(m *options.Mapping) error {
	total := make(map[string]int)
	type key struct{ cluster, subject string }
	seen := make(map[key]bool)
	for _, dest := range m.Dests {
		k := key{dest.Cluster, dest.Subject}
		if seen[k] {
			return errors.New(`duplicate entry for "` + dest.Subject + `"`)
		}
		seen[k] = true
		if total[dest.Cluster] += int(dest.Weight); total[dest.Cluster] > 100 {
			return errTotalWeight
		}
		if err := subject.ValidateMapping(m.Source, dest.Subject); err != nil {
			return err
		}
	}
	return nil
}
