// Package eksauth reaches EKS clusters: where they are, and tokens for them that
// are minted in process.
package eksauth

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sts"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

const (
	tokenPrefix   = "k8s-aws-v1."
	clusterHeader = "x-k8s-aws-id"
	// expiresSeconds is what EKS demands of the presigned request. The token is
	// good for much longer, see tokenLife.
	expiresSeconds = "60"
	// tokenLife is how long a token is used. EKS takes one for 15 minutes; a
	// minute is left for clocks that differ.
	tokenLife = 14 * time.Minute
)

// Tokens mints bearer tokens for one cluster and keeps each until shortly
// before it expires. It may be used concurrently.
type Tokens struct {
	cluster string
	client  *sts.Client
	now     func() time.Time

	mu      sync.Mutex
	token   string
	expires time.Time
}

// NewTokens returns a source of tokens for the cluster of the name, in the name
// of the STS client's credentials.
func NewTokens(client *sts.Client, cluster string, now func() time.Time) *Tokens {
	return &Tokens{client: client, cluster: cluster, now: now}
}

// Token returns a token that is good for at least a minute.
func (t *Tokens) Token(ctx context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token != "" && t.now().Before(t.expires) {
		return t.token, nil
	}
	expires := t.now().Add(tokenLife)
	credentials, err := t.client.Options().Credentials.Retrieve(ctx)
	if err != nil {
		return "", fmt.Errorf("mint a token for cluster %q: %w", t.cluster, err)
	}
	if credentials.CanExpire && credentials.Expires.Before(expires) {
		expires = credentials.Expires
	}
	token, err := t.mint(ctx)
	if err != nil {
		return "", fmt.Errorf("mint a token for cluster %q: %w", t.cluster, err)
	}
	t.token, t.expires = token, expires
	return token, nil
}

// Expires returns until when the token in use is good.
func (t *Tokens) Expires() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.expires
}

// mint makes a token: the URL of a presigned GetCallerIdentity request, which
// whoever receives it can send to STS to learn who made it.
func (t *Tokens) mint(ctx context.Context) (string, error) {
	presigned, err := sts.NewPresignClient(t.client).PresignGetCallerIdentity(ctx, &sts.GetCallerIdentityInput{},
		sts.WithPresignClientFromClientOptions(func(o *sts.Options) {
			o.APIOptions = append(o.APIOptions,
				smithyhttp.SetHeaderValue(clusterHeader, t.cluster),
				smithyhttp.SetHeaderValue("X-Amz-Expires", expiresSeconds))
		}))
	if err != nil {
		return "", err
	}
	return tokenPrefix + base64.RawURLEncoding.EncodeToString([]byte(presigned.URL)), nil
}

// forget drops a token that was refused, if it is still the one in use.
func (t *Tokens) forget(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token == token {
		t.token = ""
	}
}

// WrapTransport authenticates every request with a token that is current at
// that moment. It has the form of rest.Config.WrapTransport.
func (t *Tokens) WrapTransport(next http.RoundTripper) http.RoundTripper {
	return &bearer{tokens: t, next: next}
}

type bearer struct {
	tokens *Tokens
	next   http.RoundTripper
}

// RoundTrip sends the request with a token.
func (b *bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	token, err := b.tokens.Token(req.Context())
	if err != nil {
		return nil, err
	}
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := b.next.RoundTrip(req)
	if err == nil && resp.StatusCode == http.StatusUnauthorized {
		b.tokens.forget(token)
	}
	return resp, err
}

// WrappedRoundTripper lets client-go find the transport below.
func (b *bearer) WrappedRoundTripper() http.RoundTripper { return b.next }
