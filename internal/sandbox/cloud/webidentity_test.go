package cloud

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
)

// issuer is a cluster's token issuer, served over TLS.
type issuer struct {
	*httptest.Server
	keys    []jose.JSONWebKey
	fetched atomic.Int32
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{}
	i.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/.well-known/openid-configuration" {
			_ = json.NewEncoder(w).Encode(map[string]string{"issuer": i.URL, "jwks_uri": i.URL + "/keys"})
			return
		}
		i.fetched.Add(1)
		set := jose.JSONWebKeySet{}
		for _, key := range i.keys {
			set.Keys = append(set.Keys, key.Public())
		}
		_ = json.NewEncoder(w).Encode(set)
	}))
	t.Cleanup(i.Close)
	i.addKey(t, "one")
	return i
}

func (i *issuer) addKey(t *testing.T, id string) {
	t.Helper()
	key := must2(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	i.keys = append(i.keys, jose.JSONWebKey{Key: key, KeyID: id, Algorithm: string(jose.ES256)})
}

// token signs claims with the newest key.
func (i *issuer) token(t *testing.T, claims jwt.Claims) *string {
	t.Helper()
	signer := must2(jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: i.keys[len(i.keys)-1]}, nil))(t)
	text := must2(jwt.Signed(signer).Claims(claims).Serialize())(t)
	return &text
}

func (i *issuer) claims() jwt.Claims {
	return jwt.Claims{
		Issuer: i.URL, Subject: "system:serviceaccount:packhorse:agent", Audience: jwt.Audience{"sts.amazonaws.com"}, Expiry: jwt.NewNumericDate(time.Now().Add(time.Hour)),
	}
}

// trusting returns the trust policy for one ServiceAccount of the issuer.
func (i *issuer) trusting(subject string) string {
	host := i.Listener.Addr().String()
	return `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Federated":"arn:aws:iam::123456789012:oidc-provider/` + host + `"},"Action":"sts:AssumeRoleWithWebIdentity",` +
		`"Condition":{"StringEquals":{"` + host + `:aud":"sts.amazonaws.com"},"StringLike":{"` + host + `:sub":"` + subject + `"}}}]}`
}

func startWithIssuer(t *testing.T) (*fixture, *issuer) {
	t.Helper()
	f, i := start(t), newIssuer(t)
	f.cloud.SetCluster(account.Cluster{
		Name: "prod", Version: "1.33", IssuerURL: i.URL,
		IssuerCA: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.Certificate().Raw}),
	})
	must2(f.iam.CreateOpenIDConnectProvider(t.Context(), &iam.CreateOpenIDConnectProviderInput{Url: &i.URL, ClientIDList: []string{"sts.amazonaws.com"}}))(t)
	return f, i
}

func TestAssumeRoleWithWebIdentity(t *testing.T) {
	f, i := startWithIssuer(t)
	arn := f.role(t, "agent", i.trusting("system:serviceaccount:packhorse:*"), `{"Statement":[{"Effect":"Allow","Action":"iam:GetRole","Resource":"*"}]}`)
	anonymous := newClients(f.url, "none", "none", "")
	assume := func(token *string) (*sts.AssumeRoleWithWebIdentityOutput, error) {
		return anonymous.sts.AssumeRoleWithWebIdentity(t.Context(), &sts.AssumeRoleWithWebIdentityInput{RoleArn: &arn, RoleSessionName: aws.String("agent-1"), WebIdentityToken: token})
	}
	out := must2(assume(i.token(t, i.claims())))(t)
	if *out.SubjectFromWebIdentityToken != "system:serviceaccount:packhorse:agent" || *out.Audience != "sts.amazonaws.com" || *out.AssumedRoleUser.Arn != "arn:aws:sts::123456789012:assumed-role/agent/agent-1" {
		t.Errorf("answer = %+v", out)
	}
	session := newClients(f.url, *out.Credentials.AccessKeyId, *out.Credentials.SecretAccessKey, *out.Credentials.SessionToken)
	_, err := session.iam.GetRole(t.Context(), &iam.GetRoleInput{RoleName: aws.String("agent")})
	wantCode(t, err, "")

	forger := newIssuer(t)
	cases := map[string]struct {
		token func(*jwt.Claims) *string
		want  string
	}{
		"expired": {func(c *jwt.Claims) *string {
			c.Expiry = jwt.NewNumericDate(time.Now().Add(-time.Minute))
			return i.token(t, *c)
		}, "ExpiredTokenException"},
		"other audience":  {func(c *jwt.Claims) *string { c.Audience = jwt.Audience{"kubernetes"}; return i.token(t, *c) }, "InvalidIdentityToken"},
		"other subject":   {func(c *jwt.Claims) *string { c.Subject = "system:serviceaccount:other:agent"; return i.token(t, *c) }, "AccessDenied"},
		"unknown issuer":  {func(c *jwt.Claims) *string { c.Issuer = "https://elsewhere"; return i.token(t, *c) }, "InvalidIdentityToken"},
		"forged":          {func(c *jwt.Claims) *string { return forger.token(t, *c) }, "InvalidIdentityToken"},
		"not a JWT":       {func(*jwt.Claims) *string { return aws.String("abcd") }, "InvalidIdentityToken"},
		"without subject": {func(c *jwt.Claims) *string { c.Subject = ""; return i.token(t, *c) }, "InvalidIdentityToken"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			claims := i.claims()
			_, err := assume(tc.token(&claims))
			wantCode(t, err, tc.want)
		})
	}
	if n := i.fetched.Load(); n != 1 {
		t.Errorf("the keys were fetched %d times, want them cached", n)
	}
	i.addKey(t, "two")
	must2(assume(i.token(t, i.claims())))(t)
	if n := i.fetched.Load(); n != 2 {
		t.Errorf("after a new key appeared the keys were fetched %d times in all, want 2", n)
	}
}

func TestWebIdentityNeedsProvider(t *testing.T) {
	f, i := startWithIssuer(t)
	arn := f.role(t, "agent", i.trusting("*"), "")
	provider := aws.String(f.cloud.ProviderARN(i.URL))
	must2(f.iam.DeleteOpenIDConnectProvider(t.Context(), &iam.DeleteOpenIDConnectProviderInput{OpenIDConnectProviderArn: provider}))(t)
	_, err := f.sts.AssumeRoleWithWebIdentity(t.Context(), &sts.AssumeRoleWithWebIdentityInput{RoleArn: &arn, RoleSessionName: aws.String("agent"), WebIdentityToken: i.token(t, i.claims())})
	wantCode(t, err, "InvalidIdentityToken")
}
