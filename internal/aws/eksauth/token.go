// Package eksauth describes EKS clusters and mints bearer tokens for their API servers,
// without the aws CLI.
package eksauth

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

const (
	tokenPrefix   = "k8s-aws-v1."
	clusterHeader = "x-k8s-aws-id"
	// expiresSeconds is the lifetime of the presigned request, as
	// `aws eks get-token` sets it. EKS accepts the token for longer, see tokenLife.
	expiresSeconds = "60"
	// tokenLife is how long a token is used. EKS accepts one for 15 minutes; a minute is
	// left for differences between clocks.
	tokenLife = 14 * time.Minute
)

// Tokens mints bearer tokens for one cluster and reuses each until shortly before it
// expires. It is safe for concurrent use.
type Tokens struct {
	cluster string
	client  *sts.Client

	mu      sync.Mutex
	token   string
	expires time.Time
}

// NewTokens returns a source of tokens for the cluster of the name. They authenticate the
// identity whose credentials the STS client has.
func NewTokens(client *sts.Client, cluster string) *Tokens {
	return &Tokens{client: client, cluster: cluster}
}

// Token returns a token that EKS accepts for at least another minute, unless the
// credentials expire before.
func (t *Tokens) Token(ctx context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token != "" && time.Now().Before(t.expires) {
		return t.token, nil
	}
	expires := time.Now().Add(tokenLife)
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

// Expires returns when the current token will be replaced.
func (t *Tokens) Expires() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.expires
}

// mint makes a token: the URL of a presigned GetCallerIdentity request. EKS sends it to STS
// to learn who signed it. It sends it only to the hosts of STS that everybody has, and not to
// an interface endpoint of somebody's VPC, which may be the one that this program has to use,
// under whatever name. An endpoint without TLS is none of AWS: its API server knows it.
func (t *Tokens) mint(ctx context.Context) (string, error) {
	presigned, err := sts.NewPresignClient(t.client).PresignGetCallerIdentity(ctx, &sts.GetCallerIdentityInput{},
		sts.WithPresignClientFromClientOptions(func(o *sts.Options) {
			if strings.HasPrefix(strings.ToLower(aws.ToString(o.BaseEndpoint)), "https:") {
				o.BaseEndpoint = nil
			}
			o.APIOptions = append(o.APIOptions,
				smithyhttp.SetHeaderValue(clusterHeader, t.cluster),
				smithyhttp.SetHeaderValue("X-Amz-Expires", expiresSeconds))
		}))
	if err != nil {
		return "", err
	}
	return tokenPrefix + base64.RawURLEncoding.EncodeToString([]byte(presigned.URL)), nil
}

// forget drops a token that was refused, if it is still the current one.
func (t *Tokens) forget(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token == token {
		t.token = ""
	}
}

// WrapTransport returns a transport that authenticates each request with the current token.
// It has the signature of rest.Config.WrapTransport.
func (t *Tokens) WrapTransport(next http.RoundTripper) http.RoundTripper {
	return &bearer{tokens: t, next: next}
}

type bearer struct {
	tokens *Tokens
	next   http.RoundTripper
}

// RoundTrip sends the request with a token. If the response is 401 Unauthorized, it sends the
// request once more, with a new token.
func (b *bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.send(req, req.Body)
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		return resp, err
	}
	body := req.Body
	if req.GetBody != nil {
		if body, err = req.GetBody(); err != nil {
			return resp, nil //nolint:nilerr // the response says more
		}
	} else if body != nil {
		return resp, nil // it has been read
	}
	_ = resp.Body.Close()
	return b.send(req, body)
}

// send sends the request with the current token, and drops that if it is refused.
func (b *bearer) send(req *http.Request, body io.ReadCloser) (*http.Response, error) {
	token, err := b.tokens.Token(req.Context())
	if err != nil {
		return nil, err
	}
	req = req.Clone(req.Context())
	req.Body = body
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := b.next.RoundTrip(req)
	if err == nil && resp.StatusCode == http.StatusUnauthorized {
		b.tokens.forget(token)
	}
	return resp, err
}

// WrappedRoundTripper lets client-go find the underlying transport.
func (b *bearer) WrappedRoundTripper() http.RoundTripper { return b.next }
