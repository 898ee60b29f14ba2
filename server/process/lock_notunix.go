//go:build !unix

package process

import "os"

// lock does nothing: who runs two servers on one directory is not kept from it.
func lock(*os.File) error { return nil }
