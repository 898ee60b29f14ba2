package conn

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"time"

	"godwit/protocol/proxyproto"
	"godwit/server/monitor"
)

// proxyWait is how long a connection may take to show whether a proxy's header comes first.
const proxyWait = 5 * time.Second

// readProxy reads the header of a proxy, if the connection begins with one, and takes over the address in it. upgrade
// says that a TLS handshake may follow. It reports false if the connection ends.
func (c *Conn) readProxy(upgrade bool) bool {
	c.nc.SetReadDeadline(time.Now().Add(proxyWait))
	client, first, err := proxyproto.Read(c.nc)
	if c.Gone.Load() {
		return false
	}
	c.nc.SetReadDeadline(time.Time{})
	c.proxied = false
	switch {
	case errors.Is(err, proxyproto.ErrHeader):
		c.env.Log.Warnf("%v - %v", c, err)
		c.closing(monitor.ReasonProtocolViolation)
		return false
	case err != nil:
		c.readFailed(err)
		return false
	}
	if client.IsValid() {
		c.setPeer(client)
		c.mu.Lock()
		c.mu.origin = nil
		c.mu.Unlock()
	}
	switch {
	case len(first) == 0:
	case upgrade:
		c.head = &sniffed{c.nc, bufio.NewReaderSize(io.MultiReader(bytes.NewReader(first), c.nc), 512)}
	default:
		c.in.moveTo(c.in.size)
		c.in.got = copy(c.in.buf.B, first)
	}
	return true
}
