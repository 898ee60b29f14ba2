package auth

import (
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"slices"
	"testing"
)

func TestParseDN(t *testing.T) {
	one := func(kind, value string) distinguishedName { return distinguishedName{{{kind, value}}} }
	tests := []struct {
		in   string
		want distinguishedName // nil: none
	}{
		{"CN=bob", one("CN", "bob")},
		{"cn=bob", one("CN", "bob")},
		{" CN = bob ", one("CN", "bob")},
		{"2.5.4.3=bob", one("CN", "bob")},
		{"1.2.3=x", one("1.2.3", "x")},
		{"CN=", one("CN", "")},
		{"CN=a=b", one("CN", "a=b")},
		{`CN=a\,b`, one("CN", "a,b")},
		{`CN=a\2Cb`, one("CN", "a,b")},
		{`CN=\C3\A9`, one("CN", "é")},
		{`CN=\ a\ `, one("CN", " a ")},
		{`CN=a  b  `, one("CN", "a  b")},
		{`CN=\#a`, one("CN", "#a")},
		{"CN=#0c03626f62", one("CN", "bob")},
		{"CN=a,O=b", distinguishedName{{{"CN", "a"}}, {{"O", "b"}}}},
		{"UID=3+CN=a,O=b", distinguishedName{{{"CN", "a"}, {"UID", "3"}}, {{"O", "b"}}}},
		{"", nil},
		{"bob", nil},
		{"bob@x.y", nil},
		{"=bob", nil},
		{"CN=bob,", nil},
		{"CN=bob+", nil},
		{",CN=bob", nil},
		{"CN=bob,x", nil},
		{`CN=bob\`, nil},
		{`CN=bob\z1`, nil},
		{`CN=bob\2`, nil},
		{`CN="bob"`, nil},
		{"CN=a;O=b", nil},
		{"CN=a<b", nil},
		{"CN=#zz", nil},
		{"CN=#0203010203", nil}, // not a text
		{"C N=bob", nil},
	}
	for _, tt := range tests {
		got, ok := parseDN(tt.in)
		if ok != (tt.want != nil) || !got.equal(tt.want) {
			t.Errorf("parseDN(%q) = %v, %v", tt.in, got, ok)
		}
	}
}

func TestSubjectDN(t *testing.T) {
	multi := pkix.RelativeDistinguishedNameSET{{Type: oidUnit, Value: "u"}, {Type: oidCommon, Value: "bob"}}
	got, ok := subjectDN(der(t, rdn(oidCountry, "US"), multi))
	if want := (distinguishedName{{{"CN", "bob"}, {"OU", "u"}}, {{"C", "US"}}}); !ok || !got.equal(want) {
		t.Errorf("%v, %v", got, ok)
	}
	for name, raw := range map[string][]byte{
		"empty":    der(t),
		"no DER":   []byte("x"),
		"nothing":  nil,
		"trailing": append(der(t, rdn(oidCommon, "a")), 0),
		"number":   der(t, rdn(oidCommon, 7)),
	} {
		if dn, ok := subjectDN(raw); ok {
			t.Errorf("%s: %v", name, dn)
		}
	}
}

func FuzzParseDN(f *testing.F) {
	for _, s := range []string{"CN=bob,O=x", `CN=a\,b+OU=\20c`, "CN=#0c03626f62", "", "=", "a=,", `a=\`, "1.2=#", "a=#00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		dn, ok := parseDN(s)
		if !ok {
			if dn != nil {
				t.Fatalf("%q: %v without success", s, dn)
			}
			return
		}
		again := ""
		for i, rdn := range dn {
			for j, a := range rdn {
				if j > 0 {
					again += "+"
				} else if i > 0 {
					again += ","
				}
				again += a.kind + "="
				for k := range len(a.value) {
					again += fmt.Sprintf("\\%02x", a.value[k])
				}
			}
		}
		if dn2, ok := parseDN(again); !ok || !dn2.equal(dn) {
			t.Fatalf("%q gives %v, but %q gives %v", s, dn, again, dn2)
		}
		reversed := slices.Clone(dn)
		slices.Reverse(reversed)
		if !dn.equalInAnyOrder(reversed) || dn.equalInAnyOrder(dn[1:]) {
			t.Fatalf("%v is not itself in another order", dn)
		}
	})
}

func FuzzSubjectDN(f *testing.F) {
	f.Add(der(f, rdn(oidCommon, "bob"), rdn(oidDC, "x")))
	f.Add([]byte{0x30, 0})
	f.Fuzz(func(t *testing.T, raw []byte) {
		dn, ok := subjectDN(raw)
		if ok != (len(dn) > 0) {
			t.Fatalf("%v, %v", dn, ok)
		}
		var seq pkix.RDNSequence
		if _, err := asn1.Unmarshal(raw, &seq); err != nil && ok {
			t.Fatalf("%v of what is no DER", dn)
		}
	})
}
