package ws

import (
	"bytes"
	"testing"
)

func TestHeaderForms(t *testing.T) {
	tests := []struct {
		name string
		h    Header
		want []byte
	}{
		{"empty binary", Header{Op: OpBinary, Final: true}, []byte{0x82, 0}},
		{"125 bytes", Header{Op: OpBinary, Final: true, Length: 125}, []byte{0x82, 125}},
		{"126 bytes", Header{Op: OpBinary, Final: true, Length: 126}, []byte{0x82, 126, 0, 126}},
		{"65535 bytes", Header{Op: OpBinary, Length: 65535}, []byte{0x02, 126, 0xff, 0xff}},
		{"65536 bytes", Header{Op: OpBinary, Final: true, Length: 65536}, []byte{0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0}},
		{"longest", Header{Op: OpContinuation, Length: 1<<63 - 1}, []byte{0, 127, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}},
		{"masked", Header{Op: OpText, Final: true, Masked: true, Key: 0x04030201, Length: 5}, []byte{0x81, 0x85, 1, 2, 3, 4}},
		{"masked, 16 bits", Header{Op: OpBinary, Final: true, Masked: true, Key: 0x04030201, Length: 300}, []byte{0x82, 0xfe, 1, 44, 1, 2, 3, 4}},
		{"compressed", Header{Op: OpBinary, Compressed: true, Length: 1}, []byte{0x42, 1}},
		{"ping", Header{Op: OpPing, Final: true}, []byte{0x89, 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.h.Append([]byte("x"))[1:]
			if !bytes.Equal(got, tt.want) {
				t.Fatalf("got % x, want % x", got, tt.want)
			}
			for cut := range got {
				if _, n, err := ParseHeader(got[:cut]); n != 0 || err != nil {
					t.Fatalf("cut at %d: got %d, %v", cut, n, err)
				}
			}
			h, n, err := ParseHeader(append(got, "more"...))
			if h != tt.h || n != len(tt.want) || err != nil {
				t.Fatalf("parsed %+v, %d, %v; want %+v, %d", h, n, err, tt.h, len(tt.want))
			}
		})
	}
}

func TestHeaderErrors(t *testing.T) {
	tests := []struct {
		name, in, want string
	}{
		{"RSV2", "\xa2\x00", "reserved bits RSV2 and RSV3 are set"},
		{"RSV3", "\x92\x00", "reserved bits RSV2 and RSV3 are set"},
		{"opcode 3", "\x83\x00", "unknown opcode 3"},
		{"opcode 7", "\x87\x00", "unknown opcode 7"},
		{"opcode 11", "\x8b\x00", "unknown opcode 11"},
		{"opcode 15", "\x8f\x00", "unknown opcode 15"},
		{"negative length", "\x82\x7f\x80\x00\x00\x00\x00\x00\x00\x01", "frame length does not fit 63 bits"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := ParseHeader([]byte(tt.in))
			v := IsViolation(err)
			if v == nil || v.Code != CloseProtocol || v.Text != tt.want {
				t.Fatalf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestLengthsMayBeLongerThanNeeded(t *testing.T) {
	for _, in := range []string{"\x82\x7e\x00\x06", "\x82\x7f\x00\x00\x00\x00\x00\x00\x00\x06"} {
		h, n, err := ParseHeader([]byte(in))
		if h.Length != 6 || n != len(in) || err != nil {
			t.Errorf("% x: got %+v, %d, %v", in, h, n, err)
		}
	}
}
