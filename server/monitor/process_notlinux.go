//go:build !linux

package monitor

func residentBytes() int64 { return runtimeBytes() }
