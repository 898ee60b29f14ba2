package auth

import (
	"crypto/subtle"
	"encoding/base64"
	"strings"

	"github.com/nats-io/nkeys"
	"golang.org/x/crypto/bcrypt"
)

// IsBcrypt reports whether a configured password or token is a bcrypt hash: it begins with $2a$, $2b$, $2x$
// or $2y$ and two digits of cost.
func IsBcrypt(password string) bool {
	return len(password) >= 7 && password[0] == '$' && password[1] == '2' &&
		strings.IndexByte("abxy", password[2]) >= 0 && password[3] == '$' &&
		isDigit(password[4]) && isDigit(password[5]) && password[6] == '$'
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// Matches compares what somebody presents with a configured password or token, a bcrypt hash or plain text. Neither way tells by
// its duration where they differ.
func Matches(configured, presented string) bool { return passwordMatches(configured, presented) }

// passwordMatches compares what a client presents with what is configured, a bcrypt hash or plain text. Neither
// way tells by its duration where they differ.
func passwordMatches(configured, presented string) bool {
	if IsBcrypt(configured) {
		return bcrypt.CompareHashAndPassword([]byte(configured), []byte(presented)) == nil
	}
	return subtle.ConstantTimeCompare([]byte(configured), []byte(presented)) == 1
}

// verifySignature checks the signature of the nonce by the public nkey, and returns what is wrong with it
// or nothing. It is in URL-safe base64 without padding; old clients send standard base64.
func verifySignature(nkey, nonce, signature string) string {
	sig, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil {
		if sig, err = base64.StdEncoding.DecodeString(signature); err != nil {
			return "signature is not valid base64"
		}
	}
	key, err := nkeys.FromPublicKey(nkey)
	if err != nil {
		return "nkey is not valid"
	}
	if nonce == "" || key.Verify([]byte(nonce), sig) != nil {
		return "signature does not verify"
	}
	return ""
}
