package account

import (
	"crypto/subtle"
	"errors"
	"net/http"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/sigv4"
)

// ClockSkew is how far a request's date may be from ours.
const ClockSkew = 5 * time.Minute

// Principal is who makes a call.
type Principal struct {
	ARN    string // arn:aws:iam::…:user/… or arn:aws:sts::…:assumed-role/…
	UserID string
	role   string // name of the role, if it is one
	Admin  bool
}

// Credential is an access key; one of a session has a token and an end.
type Credential struct {
	AccessKeyID  string
	Secret       string
	SessionToken string
	Created      time.Time
	Expires      time.Time // zero if it does not end
	Who          Principal
}

// newUser makes an IAM user with administrator rights and an access key.
func (c *Account) newUser(name string) *Credential {
	key := &Credential{
		AccessKeyID: "AKIA" + c.NewToken(16),
		Secret:      c.NewToken(40),
		Created:     c.Now(),
		Who:         Principal{ARN: c.IAMARN("user/" + name), UserID: "AIDA" + c.NewToken(17), Admin: true},
	}
	c.keys[key.AccessKeyID] = key
	return key
}

// known reports whether there is a role of the name.
func (c *Account) known(role string) bool {
	_, ok := c.Roles.ArnOf(role)
	return ok
}

// NewSession makes temporary credentials for the role of a name and an id.
func (c *Account) NewSession(role, id, sessionName string, lifetime time.Duration) *Credential {
	key := &Credential{
		AccessKeyID:  "ASIA" + c.NewToken(16),
		Secret:       c.NewToken(40),
		SessionToken: c.NewToken(120),
		Expires:      c.Wall().Add(lifetime),
		Who: Principal{
			ARN:    "arn:aws:sts::" + c.AccountID + ":assumed-role/" + role + "/" + sessionName,
			UserID: id + ":" + sessionName,
			role:   role,
		},
	}
	c.keys[key.AccessKeyID] = key
	return key
}

// Secrets returns all secret keys and session tokens that were ever given out.
func (c *Account) Secrets() (out []string) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	for _, key := range c.keys {
		out = append(out, key.Secret)
		if key.SessionToken != "" {
			out = append(out, key.SessionToken)
		}
	}
	return out
}

// authenticate verifies a request's signature and returns who made it.
func (c *Account) authenticate(s *Service, received *Received) (Principal, error) {
	claims, err := sigv4.Parse(received.Request)
	if errors.Is(err, sigv4.ErrUnsigned) {
		return Principal{}, Fail(s.Words.missingToken, "Request is missing Authentication Token").With(http.StatusForbidden)
	}
	if err != nil {
		return Principal{}, Fail("IncompleteSignature", "%s", err)
	}
	if skew := c.Wall().Sub(claims.Date).Abs(); skew > ClockSkew {
		return Principal{}, Fail(s.Words.badSignature, "Signature expired: %s is not within %s of the server's time", claims.Date, ClockSkew).With(http.StatusForbidden)
	}
	return c.Verify(s.Words, claims, received)
}

// Verify returns whose access key signed a request, if the signature is right, the key has
// not expired and its role, where it has one, exists. Otherwise the error is an *APIError
// with status 403, in the service's words. Verify does not compare the request's date with
// the clock; whoever calls it holds Mu.
func (c *Account) Verify(words dialect, claims sigv4.Claims, received *Received) (Principal, error) {
	key, ok := c.keys[claims.AccessKeyID]
	if !ok || subtle.ConstantTimeCompare([]byte(key.SessionToken), []byte(claims.SessionToken)) != 1 {
		return Principal{}, Fail(words.unknownKey, "The security token included in the request is invalid.").With(http.StatusForbidden)
	}
	if err := claims.Verify(received.Request, received.body, key.Secret); err != nil {
		return Principal{}, Fail(words.badSignature, "%s. Check your AWS Secret Access Key and signing method.", err).With(http.StatusForbidden)
	}
	if !key.Expires.IsZero() && !c.Wall().Before(key.Expires) {
		return Principal{}, Fail(words.expiredToken, "The security token included in the request is expired").With(http.StatusForbidden)
	}
	if key.Who.role != "" && !c.known(key.Who.role) {
		return Principal{}, Fail(words.unknownKey, "The role of the security token does not exist any more.").With(http.StatusForbidden)
	}
	return key.Who, nil
}
