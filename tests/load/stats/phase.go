package stats

// Phase is the measured outcome of one phase of one run.
type Phase struct {
	Name   string             `json:"phase"`
	Values map[string]float64 `json:"values"`
}

// Latency adds the percentiles of a histogram, in microseconds; a nil or empty one adds nothing.
func (p *Phase) Latency(h *Hist) {
	if h == nil || h.n == 0 {
		return
	}
	us := func(q float64) float64 { return float64(h.Quantile(q)) / 1e3 }
	p.Values["p50_us"] = us(0.50)
	p.Values["p99_us"] = us(0.99)
	p.Values["p999_us"] = us(0.999)
	p.Values["max_us"] = float64(h.max) / 1e3
}
