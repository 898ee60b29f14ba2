package conf

import (
	"maps"
	"slices"
)

// suggest returns words that name the known key nearest to an unknown one, or nothing if none is near.
func (b *Block[T]) suggest(key string) string {
	best, bestDistance := "", tolerance(key)
	for _, k := range slices.Sorted(maps.Keys(b.index)) {
		if n := distance(key, k, bestDistance); n < bestDistance {
			best, bestDistance = k, n
		}
	}
	if best == "" {
		return ""
	}
	return ` (did you mean "` + best + `"?)`
}

// tolerance is the distance at which a word is not near any more.
func tolerance(key string) int { return max(1, len(key)/3) + 1 }

// Distance returns how far two keys are from each other, and whether that is near: a likely slip of the pen.
func Distance(key, known string) (n int, near bool) {
	limit := tolerance(key)
	n = distance(key, known, limit)
	return n, n < limit
}

// distance counts the insertions, deletions, replacements and swaps of neighbours that make b of a. Words
// whose lengths differ by limit or more are not compared.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	two, one, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range one {
		one[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(one[j]+1, row[j-1]+1, one[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], two[j-2]+1)
			}
		}
		two, one, row = one, row, two
	}
	return one[len(b)]
}
