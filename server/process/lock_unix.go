//go:build unix

package process

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lock takes an advisory lock that ends with the file, and so with the process.
func lock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrInUse
	}
	return err
}
