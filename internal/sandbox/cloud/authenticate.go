package cloud

import (
	"crypto/subtle"
	"errors"
	"net/http"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/sigv4"
)

// clockSkew is how far a request's date may be from ours.
const clockSkew = 5 * time.Minute

// principal is who makes a call.
type principal struct {
	arn    string // arn:aws:iam::…:user/… or arn:aws:sts::…:assumed-role/…
	userID string
	role   string // name of the role, if it is one
	admin  bool
}

// credential is an access key; one of a session has a token and an end.
type credential struct {
	accessKeyID  string
	secret       string
	sessionToken string
	created      time.Time
	expires      time.Time // zero if it does not end
	who          principal
}

// newUser makes an IAM user with administrator rights and an access key.
func (c *Cloud) newUser(name string) *credential {
	key := &credential{
		accessKeyID: "AKIA" + c.newToken(16),
		secret:      c.newToken(40),
		created:     c.now(),
		who:         principal{arn: c.iamARN("user/" + name), userID: "AIDA" + c.newToken(17), admin: true},
	}
	c.keys[key.accessKeyID] = key
	return key
}

// newSession makes temporary credentials for a role.
func (c *Cloud) newSession(r *role, sessionName string, lifetime time.Duration) *credential {
	key := &credential{
		accessKeyID:  "ASIA" + c.newToken(16),
		secret:       c.newToken(40),
		sessionToken: c.newToken(120),
		expires:      c.wall().Add(lifetime),
		who: principal{
			arn:    "arn:aws:sts::" + c.account + ":assumed-role/" + r.name + "/" + sessionName,
			userID: r.id + ":" + sessionName,
			role:   r.name,
		},
	}
	c.keys[key.accessKeyID] = key
	return key
}

// Secrets returns all secret keys and session tokens that were ever given out.
func (c *Cloud) Secrets() (out []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range c.keys {
		out = append(out, key.secret)
		if key.sessionToken != "" {
			out = append(out, key.sessionToken)
		}
	}
	return out
}

// authenticate verifies a request's signature and returns who made it.
func (c *Cloud) authenticate(s *service, received *received) (principal, error) {
	claims, err := sigv4.Parse(received.request)
	if errors.Is(err, sigv4.ErrUnsigned) {
		return principal{}, fail(s.words.missingToken, "Request is missing Authentication Token").with(http.StatusForbidden)
	}
	if err != nil {
		return principal{}, fail("IncompleteSignature", "%s", err)
	}
	if skew := c.wall().Sub(claims.Date).Abs(); skew > clockSkew {
		return principal{}, fail(s.words.badSignature, "Signature expired: %s is not within %s of the server's time", claims.Date, clockSkew).with(http.StatusForbidden)
	}
	return c.verify(s.words, claims, received)
}

func (c *Cloud) verify(words dialect, claims sigv4.Claims, received *received) (principal, error) {
	key, ok := c.keys[claims.AccessKeyID]
	if !ok || subtle.ConstantTimeCompare([]byte(key.sessionToken), []byte(claims.SessionToken)) != 1 {
		return principal{}, fail(words.unknownKey, "The security token included in the request is invalid.").with(http.StatusForbidden)
	}
	if err := claims.Verify(received.request, received.body, key.secret); err != nil {
		return principal{}, fail(words.badSignature, "%s. Check your AWS Secret Access Key and signing method.", err).with(http.StatusForbidden)
	}
	if !key.expires.IsZero() && !c.wall().Before(key.expires) {
		return principal{}, fail(words.expiredToken, "The security token included in the request is expired").with(http.StatusForbidden)
	}
	if key.who.role != "" && c.iam.roles[key.who.role] == nil {
		return principal{}, fail(words.unknownKey, "The role of the security token does not exist any more.").with(http.StatusForbidden)
	}
	return key.who, nil
}
