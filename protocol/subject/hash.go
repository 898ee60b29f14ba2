package subject

import "crypto/sha256"

// Hash8 returns eight letters and digits that stand for a name in subjects and headers, as the protocol makes them.
func Hash8(name string) string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	sum := sha256.Sum256([]byte(name))
	b := sum[:8]
	for i, c := range b {
		b[i] = digits[c%62]
	}
	return string(b)
}
