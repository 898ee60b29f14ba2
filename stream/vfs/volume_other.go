//go:build !linux

package vfs

func openVolume(string) (Volume, error) { return nil, ErrNoVolume }

func isVolume(string) bool { return false }
