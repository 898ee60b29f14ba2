package process

import (
	"errors"
	"fmt"
	"os"
)

// ErrInUse: another process has the lock.
var ErrInUse = errors.New("is in use by another process")

// Lock is the right to a directory, held until Release or the end of the process.
type Lock struct{ f *os.File }

// LockFile takes the lock that a file stands for; it is created if it does not exist, and stays. The error wraps ErrInUse if
// somebody has it.
func LockFile(path string) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s %w", path, err)
	}
	return &Lock{f}, nil
}

// Release gives the lock back. A nil Lock has none.
func (l *Lock) Release() {
	if l != nil {
		l.f.Close()
	}
}
