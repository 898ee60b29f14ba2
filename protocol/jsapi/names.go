package jsapi

import "strings"

// Bounds of configuration texts, in bytes.
const (
	NameMax        = 255
	DescriptionMax = 4096
	MetadataMax    = 128 << 10
)

// ValidName says whether s may name a stream or a consumer; its length is checked elsewhere, with a text of its own.
func ValidName(s string) bool {
	return s != "" && !strings.ContainsAny(s, " \t\r\n\f.*>\\/")
}

// HasPathSeparator says whether a name taken from a subject contains a slash or backslash, which has its own error.
func HasPathSeparator(s string) bool { return strings.ContainsAny(s, `\/`) }

// MetadataSize is the size that MetadataMax bounds.
func MetadataSize(m map[string]string) int {
	n := 0
	for k, v := range m {
		n += len(k) + len(v)
	}
	return n
}
