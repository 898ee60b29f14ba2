// Package stats holds what a measurement yields: latency histograms and the figures of a phase.
package stats

import (
	"math/bits"
	"time"
)

const (
	histBits = 7 // 128 buckets per power of two: under 1 % error
	histSub  = 1 << histBits
)

// Hist is a log-linear histogram of durations.
type Hist struct {
	counts [(64 - histBits + 1) * histSub]uint64
	n      uint64
	max    time.Duration
}

// Add records one duration.
func (h *Hist) Add(d time.Duration) {
	if d < 0 {
		d = 0
	}
	h.counts[histIndex(uint64(d))]++
	h.n++
	if d > h.max {
		h.max = d
	}
}

func histIndex(v uint64) int {
	if v < histSub {
		return int(v)
	}
	exp := bits.Len64(v) - histBits - 1
	return exp<<histBits + int(v>>exp)
}

func histValue(i int) uint64 {
	if i < 2*histSub {
		return uint64(i)
	}
	exp := i>>histBits - 1
	return uint64(i-exp<<histBits) << exp
}

// Merge adds the counts of another histogram.
func (h *Hist) Merge(o *Hist) {
	for i, c := range o.counts {
		h.counts[i] += c
	}
	h.n += o.n
	h.max = max(h.max, o.max)
}

// Quantile returns the duration below which the share q of all records lies.
func (h *Hist) Quantile(q float64) time.Duration {
	if h.n == 0 {
		return 0
	}
	rank := uint64(q * float64(h.n))
	if rank >= h.n {
		rank = h.n - 1
	}
	for i, c := range h.counts {
		if rank < c {
			return min(time.Duration(histValue(i)), h.max)
		}
		rank -= c
	}
	return h.max
}

// Max returns the longest duration recorded.
func (h *Hist) Max() time.Duration { return h.max }
