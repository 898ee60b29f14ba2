package system

import (
	"encoding/json"

	"godwit/server/account"
	"godwit/server/router"
)

// PublishTrace publishes in account a what was told of a message that a client of it has asked to be traced. It does not
// wait for anybody.
func (s *Service) PublishTrace(a *account.Account, t *router.Trace, events []any) {
	type request struct {
		Header map[string][]string `json:"header"`
		Size   int                 `json:"msgsize"`
	}
	body, err := json.Marshal(struct {
		Server  *ServerInfo `json:"server"`
		Request request     `json:"request"`
		Events  []any       `json:"events"`
	}{s.about(), request{t.Header, t.Size}, events})
	var header []byte
	if err == nil {
		header, body, err = accepted(t.Block).apply(body)
	}
	if err != nil {
		s.log.Errorf("Trace of a message: %v", err)
		return
	}
	o := newOutput(a)
	o.send(a, true, t.Dest, header, body)
	o.flush()
	o.sender.Close()
}
