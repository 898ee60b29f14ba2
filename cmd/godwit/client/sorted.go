package client

import "slices"

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}
