package subject

// FNV-1a, 32 bits.
const (
	fnvOffset = 2166136261
	fnvPrime  = 16777619
)

// Partition returns the partition of a key among n, from 0: the hash that the transform function of this
// name uses, modulo n. Without partitions it is 0.
func Partition[T Text](key T, n uint32) uint32 {
	return modulo(fnvAdd(fnvOffset, key), n)
}

func fnvAdd[T Text](h uint32, s T) uint32 {
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * fnvPrime
	}
	return h
}

func modulo(h, n uint32) uint32 {
	if n == 0 {
		return 0
	}
	return h % n
}
