package system

import (
	"time"

	"godwit/server/auth"
)

const (
	userSubject = "$SYS.REQ.USER.INFO"
	userPrefix  = "$SYS.REQ.USER."
)

// UserInfo describes the user of a connection to itself.
type UserInfo struct {
	User        string        `json:"user"` // as shown in monitoring
	Account     string        `json:"account"`
	AccountName string        `json:"account_name,omitempty"` // to display
	UserName    string        `json:"user_name,omitempty"`    // to display
	Permissions *auth.Info    `json:"permissions,omitempty"`
	Expires     time.Duration `json:"expires,omitempty"` // from now on; 0 is never
}

// userInfo tells the client who it is, whatever is in the body. Only the server of its connection answers.
func (s *Service) userInfo(r *request) any {
	if r.from == nil {
		return nil
	}
	u, ok := s.host.UserInfo(r.from)
	if !ok {
		return nil
	}
	e := s.answer(&u)
	r.accept = encodingNone // this answer is never compressed
	return e
}
