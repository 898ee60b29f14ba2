package tester

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"time"
)

// serverInfo is the part of the INFO message that readiness checks look at.
type serverInfo struct {
	Version     string   `json:"version"`
	ConnectURLs []string `json:"connect_urls"`
}

// readInfo dials a client port and reads the server's first message.
func readInfo(port int, mtls *managedTLS) (*serverInfo, error) {
	conn, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), time.Second)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(2 * time.Second))
	if mtls != nil && mtls.opts.HandshakeFirst {
		conn = tls.Client(conn, mtls.dial)
	}
	line, err := bufio.NewReaderSize(conn, 64<<10).ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	body, ok := bytes.CutPrefix(line, []byte("INFO "))
	if !ok {
		return nil, fmt.Errorf("no INFO but %q", line)
	}
	info := &serverInfo{}
	return info, json.Unmarshal(body, info)
}

// waitReady returns once the server greets clients on port and accepts
// connections on the extra ports.
func (p *process) waitReady(name string, port int, extra []int, mtls *managedTLS, limit time.Duration) error {
	var lastErr error
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if !p.Alive() {
			return fmt.Errorf("%s ended while starting: %s\n%s", name, p.State(), p.logTail(15))
		}
		if _, lastErr = readInfo(port, mtls); lastErr != nil {
			continue
		}
		if lastErr = dialAll(extra); lastErr == nil {
			return nil
		}
	}
	return fmt.Errorf("%s not ready after %v: %v\n%s", name, limit, lastErr, p.logTail(15))
}

func dialAll(ports []int) error {
	for _, port := range ports {
		conn, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), time.Second)
		if err != nil {
			return err
		}
		conn.Close()
	}
	return nil
}
