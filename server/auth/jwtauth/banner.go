package jwtauth

import (
	"fmt"
	"time"

	"github.com/nats-io/jwt/v2"

	"godwit/server/options"
)

// Banner is what the log says at the start about operators and where accounts are kept; nothing without operators.
func Banner(o *options.Options) []string {
	if len(o.Operators) == 0 {
		return nil
	}
	lines := []string{"Trusted Operators"}
	for _, op := range o.Operators {
		c, err := OperatorClaims(op)
		if err != nil {
			lines = append(lines, fmt.Sprintf("  Operator: %q", op.Name))
			continue
		}
		expires := "Never"
		if c.Expires != 0 {
			expires = bannerTime(c.Expires)
		}
		lines = append(lines, fmt.Sprintf("  System  : %q", c.Audience), fmt.Sprintf("  Operator: %q", c.Name),
			"  Issued  : "+bannerTime(c.IssuedAt), "  Expires : "+expires)
	}
	if r := ResolverOf(o); r != nil {
		switch r.Kind {
		case options.ResolverFull:
			lines = append(lines, "Managing all jwt in exclusive directory "+r.Dir)
		case options.ResolverCache:
			lines = append(lines, "Managing some jwt in exclusive directory "+r.Dir)
		}
	}
	return lines
}

func bannerTime(seconds int64) string { return time.Unix(seconds, 0).UTC().String() }

// OperatorClaims reads the JWT of an operator, for monitoring.
func OperatorClaims(o *options.Operator) (c *jwt.OperatorClaims, err error) {
	err = guard(func() error {
		c, err = jwt.DecodeOperatorClaims(o.JWT)
		return err
	})
	return c, err
}
