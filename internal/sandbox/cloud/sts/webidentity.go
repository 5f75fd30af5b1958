package sts

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/policy"
)

const (
	issuerTimeout = 5 * time.Second // for discovery and keys together
	maxKeySet     = 1 << 20         // bytes
)

// webIdentity is what a verified token says.
type webIdentity struct {
	issuer, subject, audience string
}

// conditionKeys are the keys by which trust policies know the token.
func (t webIdentity) conditionKeys() policy.ContextKeys {
	host := strings.TrimPrefix(t.issuer, "https://")
	return policy.ContextKeys{host + ":sub": {t.subject}, host + ":aud": {t.audience}}
}

// verifyWebIdentity checks a token's signature against the keys of its issuer,
// and its issuer, audience and expiry.
func (c *STS) verifyWebIdentity(ctx context.Context, text string) (webIdentity, error) {
	token, err := jwt.ParseSigned(text, []jose.SignatureAlgorithm{jose.RS256, jose.ES256, jose.ES384})
	if err != nil || len(token.Headers) != 1 {
		return webIdentity{}, invalidToken("The ID Token provided is not a valid JWT. (You may see this error if you sent an Access Token)")
	}
	var claims jwt.Claims
	if err := token.UnsafeClaimsWithoutVerification(&claims); err != nil {
		return webIdentity{}, invalidToken("The ID Token provided is not a valid JWT: %s", err)
	}
	clientIDs, cluster, err := c.trustedIssuer(claims.Issuer)
	if err != nil {
		return webIdentity{}, err
	}
	keys, err := c.Issuer.keys(ctx, cluster, token.Headers[0].KeyID)
	if err != nil {
		c.Log.Warn("did not get the issuer's keys", "issuer", claims.Issuer, "error", err)
		return webIdentity{}, invalidToken("Couldn't retrieve verification key from your identity provider, please reference AssumeRoleWithWebIdentity documentation for requirements")
	}
	if err := token.Claims(keys, &claims); err != nil {
		return webIdentity{}, invalidToken("Signature verification failed: %s", err)
	}
	return c.checkClaims(claims, clientIDs)
}

// trustedIssuer returns the client ids of the OIDC provider for an issuer.
func (c *STS) trustedIssuer(issuer string) ([]string, account.Cluster, error) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	provider := c.iam.Directory.Providers[c.iam.ProviderARN(issuer)]
	if provider == nil {
		return nil, account.Cluster{}, invalidToken("No OpenIDConnect provider found in your account for %s", issuer)
	}
	if issuer != c.Cluster.IssuerURL {
		return nil, account.Cluster{}, invalidToken("Couldn't retrieve verification key from your identity provider %s", issuer)
	}
	return slices.Clone(provider.ClientIDs), c.Cluster, nil
}

func (c *STS) checkClaims(claims jwt.Claims, clientIDs []string) (webIdentity, error) {
	now := c.Wall()
	switch {
	case claims.Expiry == nil:
		return webIdentity{}, invalidToken("Missing a required claim: exp")
	case !now.Before(claims.Expiry.Time()):
		return webIdentity{}, account.Fail("ExpiredTokenException", "Token expired: current date/time %d must be before the expiration date/time %d", now.Unix(), claims.Expiry.Time().Unix())
	case claims.NotBefore != nil && now.Add(account.ClockSkew).Before(claims.NotBefore.Time()):
		return webIdentity{}, invalidToken("Token is not valid yet")
	case claims.Subject == "":
		return webIdentity{}, invalidToken("Missing a required claim: sub")
	}
	for _, audience := range claims.Audience {
		if slices.Contains(clientIDs, audience) {
			return webIdentity{issuer: claims.Issuer, subject: claims.Subject, audience: audience}, nil
		}
	}
	return webIdentity{}, invalidToken("Incorrect token audience")
}

// IssuerKeys caches the public keys of the cluster's token issuer.
type IssuerKeys struct {
	mu  sync.Mutex
	set *jose.JSONWebKeySet
}

// Forget drops the cache, since the cluster may be another one.
func (k *IssuerKeys) Forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.set = nil
}

// keys returns the issuer's keys; they are fetched if the one that is asked
// for is not known.
func (k *IssuerKeys) keys(ctx context.Context, cluster account.Cluster, keyID string) (*jose.JSONWebKeySet, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.set != nil && len(k.set.Key(keyID)) > 0 {
		return k.set, nil
	}
	ctx, cancel := context.WithTimeout(ctx, issuerTimeout)
	defer cancel()
	set, err := fetchKeys(ctx, cluster)
	if err != nil {
		return nil, err
	}
	k.set = set
	return set, nil
}

func fetchKeys(ctx context.Context, cluster account.Cluster) (*jose.JSONWebKeySet, error) {
	client, err := issuerClient(cluster.IssuerCA)
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	var discovery struct {
		Issuer string `json:"issuer"`
		KeyURL string `json:"jwks_uri"`
	}
	if err := getJSON(ctx, client, strings.TrimSuffix(cluster.IssuerURL, "/")+"/.well-known/openid-configuration", &discovery); err != nil {
		return nil, err
	}
	if discovery.Issuer != cluster.IssuerURL {
		return nil, fmt.Errorf("discover issuer %s: it calls itself %s", cluster.IssuerURL, discovery.Issuer)
	}
	var set jose.JSONWebKeySet
	if err := getJSON(ctx, client, discovery.KeyURL, &set); err != nil {
		return nil, err
	}
	return &set, nil
}

func issuerClient(ca []byte) (*http.Client, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(ca) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(ca) {
			return nil, errors.New("read the issuer's CA: no certificate in it")
		}
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: config}}, nil
}

func getJSON(ctx context.Context, client *http.Client, url string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("get %s: %w", url, err)
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("get %s: %s", url, response.Status)
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxKeySet)).Decode(into); err != nil {
		return fmt.Errorf("get %s: %w", url, err)
	}
	return nil
}
