//go:build !linux

package logging

// fdIsTerminal knows terminals on Linux only; elsewhere tags are not coloured.
func fdIsTerminal(uintptr) bool { return false }
