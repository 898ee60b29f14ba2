package subject

import "testing"

// The value is that of a real server.
func TestHash8(t *testing.T) {
	if got := Hash8("$G"); got != "szMpdrwD" {
		t.Error(got)
	}
}
