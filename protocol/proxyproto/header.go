// Package proxyproto reads the header of the PROXY protocol, versions 1 and 2, with which a load balancer says on whose
// behalf it has opened a connection (the specification is HAProxy's doc/proxy-protocol.txt).
package proxyproto

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strconv"
)

const (
	// First is how many bytes tell whether a connection begins with a header.
	First = 6

	lineMax = 107  // bytes of a version 1 header, with CRLF
	restMax = 4096 // bytes behind the fixed part of a version 2 header
)

var (
	lineStart = []byte("PROXY ")
	signature = []byte("\r\n\r\n\x00\r\nQUIT\n")
)

// ErrHeader is wrapped by every error about a header that is not as it should be.
var ErrHeader = errors.New("invalid PROXY protocol header")

// Read reads a header from r and not a byte more. The address is that of the client, invalid if the proxy speaks for
// itself or does not know. If the first bytes begin no header, they are returned and nothing else was read.
func Read(r io.Reader) (client netip.AddrPort, first []byte, err error) {
	var start [First]byte
	if _, err := io.ReadFull(r, start[:]); err != nil {
		return client, nil, err
	}
	switch {
	case bytes.Equal(start[:], lineStart):
		client, err = readLine(r)
	case bytes.Equal(start[:], signature[:First]):
		client, err = readBinary(r)
	default:
		return client, start[:], nil
	}
	return client, nil, err
}

// readLine reads what follows "PROXY " in version 1: protocol, source, destination and their ports.
func readLine(r io.Reader) (client netip.AddrPort, err error) {
	line := make([]byte, 0, lineMax)
	for !bytes.HasSuffix(line, []byte("\r\n")) {
		if len(line) >= lineMax-len(lineStart) {
			return client, fmt.Errorf("%w: line is longer than %d bytes", ErrHeader, lineMax)
		}
		line = line[:len(line)+1]
		if _, err := io.ReadFull(r, line[len(line)-1:]); err != nil {
			return client, err
		}
	}
	fields := bytes.Split(line[:len(line)-2], []byte(" "))
	if string(fields[0]) == "UNKNOWN" {
		return client, nil
	}
	four := string(fields[0]) == "TCP4"
	if !four && string(fields[0]) != "TCP6" || len(fields) != 5 {
		return client, fmt.Errorf("%w: %q", ErrHeader, line)
	}
	client, err = endpoint(fields[1], fields[3], four)
	if err == nil {
		_, err = endpoint(fields[2], fields[4], four)
	}
	return client, err
}

func endpoint(host, port []byte, four bool) (netip.AddrPort, error) {
	addr, err := netip.ParseAddr(string(host))
	if err != nil || addr.Is4() != four || addr.Zone() != "" {
		return netip.AddrPort{}, fmt.Errorf("%w: address %q", ErrHeader, host)
	}
	n, err := strconv.ParseUint(string(port), 10, 16)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("%w: port %q", ErrHeader, port)
	}
	return netip.AddrPortFrom(addr.Unmap(), uint16(n)), nil
}

// Commands and address families of version 2.
const (
	commandLocal = 0x0
	commandProxy = 0x1
	familyNone   = 0x0
	familyIPv4   = 0x1
	familyIPv6   = 0x2
	streams      = 0x1
)

// readBinary reads what follows the first bytes of the signature in version 2.
func readBinary(r io.Reader) (client netip.AddrPort, err error) {
	var fixed [16 - First]byte // the rest of the signature, version and command, family, length
	if _, err := io.ReadFull(r, fixed[:]); err != nil {
		return client, err
	}
	tail := len(signature) - First
	if !bytes.Equal(fixed[:tail], signature[First:]) {
		return client, fmt.Errorf("%w: signature", ErrHeader)
	}
	version, command := fixed[tail]>>4, fixed[tail]&0xf
	family, transport := fixed[tail+1]>>4, fixed[tail+1]&0xf
	n := int(binary.BigEndian.Uint16(fixed[tail+2:]))
	switch {
	case version != 2:
		return client, fmt.Errorf("%w: version %d", ErrHeader, version)
	case command != commandLocal && command != commandProxy:
		return client, fmt.Errorf("%w: command %d", ErrHeader, command)
	case n > restMax:
		return client, fmt.Errorf("%w: %d bytes of addresses", ErrHeader, n)
	}
	rest := make([]byte, n)
	if _, err := io.ReadFull(r, rest); err != nil {
		return client, err
	}
	if command == commandLocal || family == familyNone {
		return client, nil
	}
	if transport != streams {
		return client, fmt.Errorf("%w: transport %d", ErrHeader, transport)
	}
	size := 4
	switch family {
	case familyIPv4:
	case familyIPv6:
		size = 16
	default:
		return client, fmt.Errorf("%w: address family %d", ErrHeader, family)
	}
	if n < 2*size+4 {
		return client, fmt.Errorf("%w: addresses are cut off", ErrHeader)
	}
	addr, _ := netip.AddrFromSlice(rest[:size]) // the size is right
	return netip.AddrPortFrom(addr.Unmap(), binary.BigEndian.Uint16(rest[2*size:])), nil
}
