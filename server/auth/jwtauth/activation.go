package jwtauth

import (
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/jwt/v2"

	"godwit/server/options"
)

// Reasons why an import may not use an export.
var (
	errNoActivation   = errors.New("activation token is missing")
	errNoExport       = errors.New("nothing that is exported covers the import")
	errActivationType = errors.New("activation token is for another kind of import")
	errActivationFor  = errors.New("activation token is for another account")
	errActivationBy   = errors.New("activation token is not by the exporter or one of its signing keys")
	errActivationSub  = errors.New("activation token does not cover the subject")
	errActivationEnd  = errors.New("activation token is expired")
	errActivationGone = errors.New("activation token is revoked")
)

// Authorize decides whether the importer's import of that index, in Settings.Imports, may use what the exporter exports.
// Public exports are free to all; for others the import needs an activation token. until is when the right ends, zero
// for never. Other rules of exports, like token positions, are not looked at.
func Authorize(importer, exporter *Account, index int) (until time.Time, err error) {
	i := importer.Settings.Imports[index]
	kind := jwt.ExportType(jwt.Stream)
	if i.Kind == options.ServiceExchange {
		kind = jwt.Service
	}
	export := exporter.exportFor(kind, i.Subject)
	switch {
	case export == nil:
		return time.Time{}, errNoExport
	case !export.TokenReq:
		return time.Time{}, nil
	}
	token := importer.Activations[index]
	if token == "" {
		return time.Time{}, errNoActivation
	}
	c, err := decodeActivation(token)
	if err != nil {
		return time.Time{}, fmt.Errorf("activation token: %w", err)
	}
	content, times := problems(c)
	ends := unixTime(c.Expires)
	switch {
	case len(content) > 0:
		return time.Time{}, fmt.Errorf("activation token: %w", contentError(content))
	case len(times) > 0 || over(ends, time.Now()):
		return time.Time{}, errActivationEnd
	case c.ImportType != kind:
		return time.Time{}, errActivationType
	case c.Subject != importer.Key:
		return time.Time{}, errActivationFor
	case !exporter.activates(c):
		return time.Time{}, errActivationBy
	case !jwt.Subject(i.Subject).IsContainedIn(c.ImportSubject):
		return time.Time{}, errActivationSub
	case export.Revocations.IsRevoked(c.Subject, unixTime(c.IssuedAt)):
		return time.Time{}, errActivationGone
	}
	return ends, nil
}

// exportFor returns the narrowest export that covers the subject.
func (a *Account) exportFor(kind jwt.ExportType, subject string) *jwt.Export {
	var found *jwt.Export
	for _, e := range a.Claims.Exports {
		if e.Type == kind && jwt.Subject(subject).IsContainedIn(e.Subject) && (found == nil || e.Subject.IsContainedIn(found.Subject)) {
			found = e
		}
	}
	return found
}

// activates reports whether the token was signed for this account.
func (a *Account) activates(c *jwt.ActivationClaims) bool {
	if c.IssuerAccount != "" && c.IssuerAccount != a.Key {
		return false
	}
	return c.Issuer == a.Key || c.IssuerAccount == a.Key && a.Claims.SigningKeys.Contains(c.Issuer)
}
