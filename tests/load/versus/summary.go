package versus

import (
	"slices"
	"sort"
)

// Summary is one phase over all rounds.
type Summary struct {
	Phase string           `json:"phase"`
	Stats map[string]*Stat `json:"stats"`
}

// Stat is one figure over all rounds.
type Stat struct {
	A     float64   `json:"a"` // median
	B     float64   `json:"b,omitempty"`
	Ratio float64   `json:"ratio_a_b,omitempty"` // median of the ratios round by round
	RunsA []float64 `json:"runs_a"`
	RunsB []float64 `json:"runs_b,omitempty"`
}

// summarize forms medians over the rounds and of the ratios pair by pair.
func summarize(runs []Run) []Summary {
	type key struct {
		round int
		phase string
		value string
	}
	sides := map[string]map[key]float64{"A": {}, "B": {}}
	var phases []string
	names := map[string]map[string]bool{}
	rounds := 0
	for _, r := range runs {
		rounds = max(rounds, r.Round)
		for _, p := range r.Phases {
			if !slices.Contains(phases, p.Name) {
				phases = append(phases, p.Name)
				names[p.Name] = map[string]bool{}
			}
			for name, v := range p.Values {
				names[p.Name][name] = true
				sides[r.Side][key{r.Round, p.Name, name}] = v
			}
		}
	}
	var out []Summary
	for _, phase := range phases {
		sum := Summary{Phase: phase, Stats: map[string]*Stat{}}
		for name := range names[phase] {
			st := &Stat{}
			var ratios []float64
			for round := 1; round <= rounds; round++ {
				a, okA := sides["A"][key{round, phase, name}]
				b, okB := sides["B"][key{round, phase, name}]
				if okA {
					st.RunsA = append(st.RunsA, a)
				}
				if okB {
					st.RunsB = append(st.RunsB, b)
				}
				if okA && okB && b != 0 {
					ratios = append(ratios, a/b)
				}
			}
			st.A, st.B, st.Ratio = median(st.RunsA), median(st.RunsB), median(ratios)
			sum.Stats[name] = st
		}
		out = append(out, sum)
	}
	return out
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	s := slices.Clone(v)
	sort.Float64s(s)
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}
