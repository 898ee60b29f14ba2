package system

import (
	"bytes"
	"encoding/json"
	"net/http"
)

// envelope is the form of most answers: who answers, and what or why not.
type envelope struct {
	Server *ServerInfo `json:"server"`
	Data   any         `json:"data,omitempty"`
	Error  *problem    `json:"error,omitempty"`
}

// problem says why there is no data.
type problem struct {
	Code        int    `json:"code"`
	Description string `json:"description"`
}

// null is the data of an answer that has an error in its place.
var null = json.RawMessage("null")

// answer wraps data.
func (s *Service) answer(data any) *envelope { return &envelope{Server: s.about(), Data: data} }

// failure answers that the request was understood and could not be served.
func (s *Service) failure(err error) *envelope {
	return &envelope{Server: s.about(), Data: null, Error: &problem{http.StatusInternalServerError, err.Error()}}
}

// outcome answers a request to do something.
func (s *Service) outcome(err error) *envelope {
	e := s.answer(nil)
	if err != nil {
		e.Error = &problem{http.StatusInternalServerError, err.Error()}
	}
	return e
}

// malformed answers that the request's body was not understood.
func (s *Service) malformed(err error) *envelope {
	return &envelope{Server: s.about(), Error: &problem{http.StatusBadRequest, err.Error()}}
}

// plain says whether the answer is never compressed.
func (e *envelope) plain() bool { return e.Error != nil || e.Data == nil }

// decode reads the body of a request into what is given, one after the other; an empty body says nothing.
func decode(body []byte, into ...any) error {
	if len(body) == 0 {
		return nil
	}
	for _, v := range into {
		if err := json.Unmarshal(body, v); err != nil {
			return err
		}
	}
	return nil
}

// encode is json.Marshal without a copy of the result.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
