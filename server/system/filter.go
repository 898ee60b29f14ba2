package system

import (
	"slices"
	"strings"
)

// filter says which servers are to answer; fields that are empty do not matter. It is part of a request's body.
type filter struct {
	Name    string   `json:"server_name"` // part of the name, or all of it with Exact
	Cluster string   `json:"cluster"`     // likewise
	Host    string   `json:"host"`        // likewise
	Exact   bool     `json:"exact_match"`
	Tags    []string `json:"tags"` // the server must have all, in upper or lower case
	Domain  string   `json:"domain"`
}

// admits reports whether the server that i describes is to answer.
func (f *filter) admits(i *Identity) bool {
	return f.fits(i.Name, f.Name) && f.fits(i.Cluster, f.Cluster) && f.fits(i.Host, f.Host) &&
		(f.Domain == "" || f.Domain == i.Domain) && hasTags(i.Tags, f.Tags)
}

func (f *filter) fits(is, wanted string) bool {
	if f.Exact && wanted != "" {
		return is == wanted
	}
	return strings.Contains(is, wanted)
}

func hasTags(has, wanted []string) bool {
	for _, w := range wanted {
		if !slices.ContainsFunc(has, func(t string) bool { return strings.EqualFold(t, w) }) {
			return false
		}
	}
	return true
}
