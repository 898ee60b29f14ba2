package monitor

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// listLimit is how many entries a page of a list has if the request doesn't say.
const listLimit = 1024

// ConnState selects connections by whether they are open.
type ConnState int

// The states. Other values select nothing.
const (
	ConnOpen ConnState = iota
	ConnClosed
	ConnAll
)

// ConnzOptions are the options of /connz; the JSON form is the body of its NATS twin.
type ConnzOptions struct {
	Sort                SortOpt   `json:"sort"`
	Username            bool      `json:"auth"` // show who the connections authenticated as
	Subscriptions       bool      `json:"subscriptions"`
	SubscriptionsDetail bool      `json:"subscriptions_detail"`
	Offset              int       `json:"offset"` // negative counts as 0
	Limit               int       `json:"limit"`  // below 1 counts as 1024
	CID                 uint64    `json:"cid"`    // 0 is no filter
	MQTTClient          string    `json:"mqtt_client"`
	State               ConnState `json:"state"`
	User                string    `json:"user"`
	Account             string    `json:"acc"`
	// FilterSubject keeps open connections with a subscription that can match a subject it matches.
	FilterSubject string `json:"filter_subject"`
}

// Connz is the answer of /connz.
type Connz struct {
	ID       string      `json:"server_id"`
	Now      time.Time   `json:"now"`
	NumConns int         `json:"num_connections"` // in this answer
	Total    int         `json:"total"`           // in the asked state and account, before other filters and paging
	Offset   int         `json:"offset"`
	Limit    int         `json:"limit"`
	Conns    []*ConnInfo `json:"connections"`
}

// Connz lists connections. Errors: *SortError, ErrSortByStop, ErrSortByReason, ErrFilterSubject.
func (m *Monitor) Connz(o ConnzOptions) (*Connz, error) {
	order, err := o.Sort.order(o.State)
	if err != nil {
		return nil, err
	}
	if o.FilterSubject != "" && o.Account == "" {
		return nil, ErrFilterSubject
	}
	now := m.now()
	z := &Connz{Now: now.UTC(), Offset: max(o.Offset, 0), Limit: o.Limit}
	if z.Limit <= 0 {
		z.Limit = listLimit
	}
	if o.CID > 0 {
		z.Limit = 1
	}
	if o.Account != "" && !m.src.HasAccount(o.Account) {
		return z, nil // server_id empty and connections null: that is how an unknown account shows
	}
	z.ID = m.src.Identity().ID
	p := &page{offset: z.Offset, limit: z.Limit, order: order, now: now}
	if o.State == ConnOpen || o.State == ConnAll {
		z.Total += m.addOpen(p, &o)
	}
	if o.State == ConnClosed || o.State == ConnAll {
		m.src.ClosedConns().Each(func(c *Conn) bool {
			if o.Account == "" || c.Account == o.Account {
				z.Total++
				if o.selects(c) {
					p.add(c)
				}
			}
			return true
		})
	}
	conns := p.conns()
	z.NumConns = len(conns)
	z.Conns = make([]*ConnInfo, len(conns))
	for i := range conns {
		z.Conns[i] = m.connInfo(&conns[i], now, &o)
	}
	return z, nil
}

// addOpen adds the open connections that o selects, and returns how many o's account has.
func (m *Monitor) addOpen(p *page, o *ConnzOptions) (total int) {
	bySubject := o.FilterSubject != "" && o.FilterSubject != ">"
	var candidates []Conn // their subscriptions are asked for afterwards, when the source is not in EachConn
	m.src.EachConn(func(c *Conn) bool {
		if o.Account == "" || c.Account == o.Account {
			total++
			switch {
			case !o.selects(c):
			case bySubject:
				candidates = append(candidates, *c)
			default:
				p.add(c)
			}
		}
		return true
	})
	for i := range candidates {
		if m.hasInterest(&candidates[i], o.FilterSubject) {
			p.add(&candidates[i])
		}
	}
	return total
}

// selects says whether c passes the filters other than state, account and subject.
func (o *ConnzOptions) selects(c *Conn) bool {
	return (o.CID == 0 || c.CID == o.CID) &&
		(o.User == "" || c.User == o.User) &&
		(o.MQTTClient == "" || c.MQTTClient == o.MQTTClient)
}

// hasInterest says whether an open connection has a subscription that overlaps filter.
func (m *Monitor) hasInterest(c *Conn, filter string) bool {
	return slices.ContainsFunc(m.src.ConnSubs(c.CID), func(s SubDetail) bool { return overlap(s.Subject, filter) })
}

// page keeps the connections that can be on one page of a sorted list. It holds at most about twice as many
// as come up to the end of the page, however many it is given.
type page struct {
	offset, limit int
	order         func(a, b *Conn, now time.Time) int
	now           time.Time
	kept          []Conn
}

// end is the position after the page, or one no list reaches.
func (p *page) end() int {
	const far = math.MaxInt / 8
	return min(p.offset, far) + min(p.limit, far)
}

// add copies c if it can be on the page.
func (p *page) add(c *Conn) {
	p.kept = append(p.kept, *c)
	if end := p.end(); len(p.kept) >= 2*end+64 {
		p.sort()
		clear(p.kept[end:])
		p.kept = p.kept[:end]
	}
}

// sort orders what is kept; equals by ascending cid.
func (p *page) sort() {
	slices.SortFunc(p.kept, func(a, b Conn) int {
		return cmp.Or(p.order(&a, &b, p.now), cmp.Compare(a.CID, b.CID))
	})
}

// conns returns the page.
func (p *page) conns() []Conn {
	p.sort()
	from := min(p.offset, len(p.kept))
	to := min(p.end(), len(p.kept))
	return p.kept[from:to]
}
