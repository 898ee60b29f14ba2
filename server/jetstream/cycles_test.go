package jetstream

import (
	"encoding/json"
	"fmt"
	"testing"

	"godwit/protocol/jsapi"
)

func TestCheckOrigins(t *testing.T) {
	type list []string // configurations of the streams that are there
	for _, tt := range []struct {
		name  string
		there list
		cfg   string
		want  jsapi.Code // 0: allowed
	}{
		{"itself", nil, `{"name":"A","subjects":["a"],"sources":[{"name":"A"}]}`, jsapi.ErrStreamInvalidConfig},
		{"mirror of itself", nil, `{"name":"A","mirror":{"name":"A"}}`, jsapi.ErrStreamInvalidConfig},
		{"an unknown stream", nil, `{"name":"A","sources":[{"name":"B"}]}`, 0},
		{"each other", list{`{"name":"A","sources":[{"name":"B"}]}`}, `{"name":"B","sources":[{"name":"A"}]}`, jsapi.ErrStreamInvalidConfig},
		{"mirrors of each other", list{`{"name":"A","mirror":{"name":"B"}}`}, `{"name":"B","mirror":{"name":"A"}}`, jsapi.ErrStreamInvalidConfig},
		{"three", list{`{"name":"A","subjects":["a"],"sources":[{"name":"B"}]}`, `{"name":"B","subjects":["b"],"sources":[{"name":"C"}]}`},
			`{"name":"C","subjects":["c"],"sources":[{"name":"A"}]}`, jsapi.ErrStreamInvalidConfig},
		{"a filter for what is not there", list{`{"name":"A","subjects":["a"],"sources":[{"name":"B","filter_subject":"z"}]}`},
			`{"name":"B","subjects":["b"],"sources":[{"name":"A"}]}`, 0},
		{"a filter for what comes from the other", list{`{"name":"A","subjects":["z"],"sources":[{"name":"B","filter_subject":"z"}]}`},
			`{"name":"B","subjects":["b"],"sources":[{"name":"A"}]}`, jsapi.ErrStreamInvalidConfig},
		{"filters that exclude each other", list{`{"name":"A","subjects":["a","b"],"sources":[{"name":"B","filter_subject":"a"}]}`},
			`{"name":"B","sources":[{"name":"A","filter_subject":"b"}]}`, 0},
		{"a filter for what comes from a third", list{`{"name":"C","subjects":["z.>"]}`, `{"name":"A","subjects":["a"],"sources":[{"name":"B","filter_subject":"z.1"},{"name":"C"}]}`},
			`{"name":"B","subjects":["b"],"sources":[{"name":"A"}]}`, jsapi.ErrStreamInvalidConfig},
		{"transforms", list{`{"name":"A","subjects":["a"],"sources":[{"name":"B","subject_transforms":[{"src":"b","dest":"a"}]}]}`},
			`{"name":"B","subjects":["b"],"sources":[{"name":"A","subject_transforms":[{"src":"a","dest":"b"}]}]}`, jsapi.ErrStreamInvalidConfig},
		{"two ways", list{`{"name":"O","subjects":["o"]}`, `{"name":"A","sources":[{"name":"O"}]}`, `{"name":"B","sources":[{"name":"O"}]}`},
			`{"name":"C","sources":[{"name":"A"},{"name":"B"},{"name":"O"}]}`, 0},
		{"the same behind its origin", list{`{"name":"O","subjects":["o"]}`, `{"name":"A","mirror":{"name":"O"}}`, `{"name":"B","sources":[{"name":"A"}]}`},
			`{"name":"C","sources":[{"name":"O"},{"name":"B"}]}`, jsapi.ErrStreamInvalidConfig},
		{"others behind its origin", list{`{"name":"O","subjects":["o.*"]}`, `{"name":"A","sources":[{"name":"O","filter_subject":"o.1"}]}`},
			`{"name":"C","sources":[{"name":"O","filter_subject":"o.2"},{"name":"A"}]}`, 0},
		{"through a harmless cycle", list{`{"name":"X","subjects":["x"],"sources":[{"name":"Y","filter_subject":"none"},{"name":"T"}]}`, `{"name":"Y","sources":[{"name":"X"}]}`},
			`{"name":"T","subjects":["t"],"sources":[{"name":"Y"}]}`, jsapi.ErrStreamInvalidConfig},
		{"elsewhere", nil, `{"name":"A","sources":[{"name":"A","external":{"api":"x"}}]}`, 0},
		{"larger messages than a mirror takes", list{`{"name":"A","max_msg_size":10}`}, `{"name":"B","max_msg_size":9,"mirror":{"name":"A"}}`, jsapi.ErrMirrorMaxMessageSizeTooBig},
		{"larger messages than a stream takes", list{`{"name":"A","max_msg_size":10}`}, `{"name":"B","max_msg_size":9,"sources":[{"name":"A"}]}`, jsapi.ErrSourceMaxMessageSizeTooBig},
		{"as large", list{`{"name":"A","max_msg_size":9}`}, `{"name":"B","max_msg_size":9,"sources":[{"name":"A"}]}`, 0},
		{"of any size", list{`{"name":"A","max_msg_size":-1}`}, `{"name":"B","max_msg_size":9,"sources":[{"name":"A"}]}`, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := &Account{streams: map[string]*Stream{}}
			for _, text := range tt.there {
				cfg := decodeConfig(t, text)
				s := &Stream{name: cfg.Name}
				s.config.Store(cfg)
				a.put(s)
			}
			err := a.checkOrigins(decodeConfig(t, tt.cfg))
			switch {
			case tt.want == 0 && err != nil:
				t.Error(err)
			case tt.want != 0 && (err == nil || err.Code != tt.want):
				t.Errorf("got %v, want %d", err, tt.want)
			}
		})
	}
}

// However the streams hang together, the check comes to an end, and soon.
func TestCheckOriginsIsBounded(t *testing.T) {
	a := &Account{streams: map[string]*Stream{}}
	const n = 60
	for i := range n {
		cfg := &jsapi.StreamConfig{Name: fmt.Sprint("S", i)}
		for k := range i { // every stream takes from all before it
			cfg.Sources = append(cfg.Sources, &jsapi.StreamSource{Name: fmt.Sprint("S", k)})
		}
		s := &Stream{name: cfg.Name}
		s.config.Store(cfg)
		a.put(s)
	}
	if err := a.checkOrigins(&jsapi.StreamConfig{Name: "T", MaxMsgSize: -1, Sources: []*jsapi.StreamSource{{Name: fmt.Sprint("S", n-1)}}}); err != nil {
		t.Errorf("no cycle, but %v", err)
	}
}

func decodeConfig(t *testing.T, text string) *jsapi.StreamConfig {
	t.Helper()
	cfg := &jsapi.StreamConfig{}
	if err := json.Unmarshal([]byte(text), cfg); err != nil {
		t.Fatal(err)
	}
	if cfg.MaxMsgSize == 0 {
		cfg.MaxMsgSize = -1
	}
	return cfg
}
