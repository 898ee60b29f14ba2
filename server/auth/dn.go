package auth

import (
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"slices"
	"strings"
)

// distinguishedName is a sequence of relative distinguished names, written as RFC 4514 writes them: the
// last one of a certificate's sequence comes first.
type distinguishedName []relativeName

// relativeName is a set of attributes, sorted.
type relativeName []attribute

type attribute struct {
	kind  string // canonical: an upper-case short name where there is one, else a dotted OID
	value string
}

// attributeKinds are the short names by OID.
var attributeKinds = map[string]string{
	"2.5.4.3":                    "CN",
	"2.5.4.5":                    "SERIALNUMBER",
	"2.5.4.6":                    "C",
	"2.5.4.7":                    "L",
	"2.5.4.8":                    "ST",
	"2.5.4.9":                    "STREET",
	"2.5.4.10":                   "O",
	"2.5.4.11":                   "OU",
	"2.5.4.17":                   "POSTALCODE",
	"0.9.2342.19200300.100.1.1":  "UID",
	"0.9.2342.19200300.100.1.25": "DC",
	"1.2.840.113549.1.9.1":       "EMAILADDRESS",
}

// domainComponent is the kind of domain components, which Go's text of a subject leaves out.
const domainComponent = "DC"

func canonicalKind(kind string) string {
	if short, ok := attributeKinds[kind]; ok {
		return short
	}
	return strings.ToUpper(kind)
}

// equal reports whether two names have the same relative names in the same order.
func (d distinguishedName) equal(other distinguishedName) bool {
	return slices.EqualFunc(d, other, slices.Equal[relativeName])
}

// equalInAnyOrder reports whether two names have the same relative names, each as often.
func (d distinguishedName) equalInAnyOrder(other distinguishedName) bool {
	if len(d) != len(other) {
		return false
	}
	used := make([]bool, len(other))
next:
	for _, rdn := range d {
		for i, o := range other {
			if !used[i] && slices.Equal(rdn, o) {
				used[i] = true
				continue next
			}
		}
		return false
	}
	return true
}

func (r relativeName) sorted() relativeName {
	slices.SortFunc(r, func(a, b attribute) int {
		if c := strings.Compare(a.kind, b.kind); c != 0 {
			return c
		}
		return strings.Compare(a.value, b.value)
	})
	return r
}

// subjectDN reads the subject of a certificate from its DER, with the attributes that pkix.Name has no field for.
func subjectDN(der []byte) (distinguishedName, bool) {
	var seq pkix.RDNSequence
	if rest, err := asn1.Unmarshal(der, &seq); err != nil || len(rest) > 0 {
		return nil, false
	}
	dn := make(distinguishedName, 0, len(seq))
	for _, set := range slices.Backward(seq) {
		var rdn relativeName
		for _, a := range set {
			value, ok := a.Value.(string)
			if !ok {
				return nil, false
			}
			rdn = append(rdn, attribute{canonicalKind(a.Type.String()), value})
		}
		dn = append(dn, rdn.sorted())
	}
	return dn, len(dn) > 0
}

// parseDN reads the string form of RFC 4514, with blanks around separators tolerated. Text that is not of that
// form is no error but simply no distinguished name.
func parseDN(s string) (distinguishedName, bool) {
	var dn distinguishedName
	var rdn relativeName
	for {
		kind, rest, ok := strings.Cut(s, "=")
		kind = strings.TrimSpace(kind)
		if !ok || !validKind(kind) {
			return nil, false
		}
		value, rest, ok := cutValue(rest)
		if !ok {
			return nil, false
		}
		rdn = append(rdn, attribute{canonicalKind(kind), value})
		if rest == "" || rest[0] == ',' {
			dn = append(dn, rdn.sorted())
			rdn = nil
		}
		if rest == "" {
			return dn, true
		}
		s = rest[1:]
	}
}

func validKind(kind string) bool {
	for i := range len(kind) {
		c := kind[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || isDigit(c) || c == '-' || c == '.') {
			return false
		}
	}
	return kind != ""
}

// cutValue reads a value up to a separator that is not escaped; rest begins with it. A value may also be the
// hex form of its DER after a "#".
func cutValue(s string) (value, rest string, ok bool) {
	s = strings.TrimLeft(s, " ")
	var b strings.Builder
	keep := 0 // length that trailing blanks are not cut from, because of an escape
	i := 0
	for ; i < len(s) && s[i] != ',' && s[i] != '+'; i++ {
		c := s[i]
		if c == '\\' {
			if i+1 == len(s) {
				return "", "", false
			}
			if strings.IndexByte(` "#+,;<=>\`, s[i+1]) >= 0 {
				c = s[i+1]
				i++
			} else if i+2 < len(s) {
				h, err := hex.DecodeString(s[i+1 : i+3])
				if err != nil {
					return "", "", false
				}
				c = h[0]
				i += 2
			} else {
				return "", "", false
			}
			b.WriteByte(c)
			keep = b.Len()
			continue
		}
		if c == '"' || c == ';' || c == '<' || c == '>' || c == 0 {
			return "", "", false
		}
		b.WriteByte(c)
	}
	value = b.String()
	value = value[:keep] + strings.TrimRight(value[keep:], " ")
	if strings.HasPrefix(s, "#") {
		if value, ok = hexValue(value[1:]); !ok {
			return "", "", false
		}
	}
	return value, s[i:], true
}

func hexValue(s string) (string, bool) {
	der, err := hex.DecodeString(s)
	if err != nil {
		return "", false
	}
	var v any
	rest, err := asn1.Unmarshal(der, &v)
	text, ok := v.(string)
	return text, ok && err == nil && len(rest) == 0
}
