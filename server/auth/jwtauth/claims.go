package jwtauth

import (
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// decodeUser reads a user JWT and checks its signature by whoever it says has issued it.
func decodeUser(token string) (c *jwt.UserClaims, err error) {
	err = guard(func() error {
		any, err := jwt.Decode(token)
		if err != nil {
			return err
		}
		var ok bool
		if c, ok = any.(*jwt.UserClaims); !ok {
			return errNotUser
		}
		if !nkeys.IsValidPublicUserKey(c.Subject) {
			return fmt.Errorf("subject %q is not a public user nkey", c.Subject)
		}
		return nil
	})
	return c, err
}

// decodeAccount reads an account JWT and checks its signature by whoever it says has issued it.
func decodeAccount(token string) (c *jwt.AccountClaims, err error) {
	err = guard(func() error {
		any, err := jwt.Decode(token)
		if err != nil {
			return err
		}
		var ok bool
		if c, ok = any.(*jwt.AccountClaims); !ok {
			return errNotAccount
		}
		if !nkeys.IsValidPublicAccountKey(c.Subject) {
			return fmt.Errorf("subject %q is not a public account nkey", c.Subject)
		}
		for _, e := range c.Exports {
			if e == nil {
				return errNullExport // Validate does not survive it
			}
		}
		return nil
	})
	return c, err
}

// decodeGeneric reads any JWT and checks its signature by whoever it says has issued it.
func decodeGeneric(token string) (c *jwt.GenericClaims, err error) {
	err = guard(func() error {
		c, err = jwt.DecodeGeneric(token)
		return err
	})
	return c, err
}

// decodeActivation reads the token of an import.
func decodeActivation(token string) (c *jwt.ActivationClaims, err error) {
	err = guard(func() error {
		c, err = jwt.DecodeActivationClaims(token)
		return err
	})
	return c, err
}

// guard turns a panic of the JWT library into an error. The library trips over some well-signed claims with
// null in places where nobody puts it, and whoever may send a JWT could end the server with one.
func guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", errUnreadable, r)
		}
	}()
	return f()
}

// problems returns what makes the claims invalid apart from times, and what is wrong with their times.
func problems(c jwt.Claims) (content, times []string) {
	err := guard(func() error {
		var vr jwt.ValidationResults
		c.Validate(&vr)
		for _, i := range vr.Issues {
			switch {
			case i.Blocking:
				content = append(content, i.Description)
			case i.TimeCheck:
				times = append(times, i.Description)
			}
		}
		return nil
	})
	if err != nil {
		content = append(content, err.Error())
	}
	return content, times
}

// contentError is how replies name the problems of an account JWT.
func contentError(content []string) error {
	return fmt.Errorf("validation errors: [%s]", strings.Join(content, " "))
}

// unixTime is the time of a claim, where 0 is none.
func unixTime(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0)
}

// over reports whether the time t is set and has come.
func over(t, now time.Time) bool { return !t.IsZero() && !now.Before(t) }
