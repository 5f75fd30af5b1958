package aws

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud"
)

// tokenFile is what a projected ServiceAccount token is to the agent: a file that
// somebody else writes.
type tokenFile struct {
	path   string
	issuer *httptest.Server
	key    jose.JSONWebKey
}

// write puts a token that ends at a time into the file, as the kubelet does: by a
// rename.
func (f *tokenFile) write(t *testing.T, ends time.Time) {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: f.key}, nil)
	must(t, err)
	text, err := jwt.Signed(signer).Claims(jwt.Claims{
		Issuer: f.issuer.URL, Subject: "system:serviceaccount:packhorse:packhorse", Audience: jwt.Audience{"sts.amazonaws.com"}, Expiry: jwt.NewNumericDate(ends),
	}).Serialize()
	must(t, err)
	must(t, os.WriteFile(f.path+".new", []byte(text), 0o600))
	must(t, os.Rename(f.path+".new", f.path))
}

// federate lets a role be assumed with tokens of an issuer, and sets the
// environment as EKS does for pods with IRSA.
func (f *fixture) federate(t *testing.T, url string) *tokenFile {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	file := &tokenFile{path: filepath.Join(t.TempDir(), "token"), key: jose.JSONWebKey{Key: private, KeyID: "one", Algorithm: string(jose.ES256)}}
	file.issuer = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/openid-configuration") {
			_ = json.NewEncoder(w).Encode(map[string]string{"issuer": file.issuer.URL, "jwks_uri": file.issuer.URL + "/keys"})
			return
		}
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{file.key.Public()}})
	}))
	t.Cleanup(file.issuer.Close)
	f.account.SetCluster(cloud.Cluster{
		Name: "prod", Version: "1.33", Endpoint: "https://127.0.0.1:6443", CA: []byte("PEM"), ServiceCIDR: "10.100.0.0/16", IssuerURL: file.issuer.URL,
		IssuerCA: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: file.issuer.Certificate().Raw}),
	})
	host := strings.TrimPrefix(file.issuer.URL, "https://")
	trust := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sts:AssumeRoleWithWebIdentity",` +
		`"Principal":{"Federated":"arn:aws:iam::` + testAccount + `:oidc-provider/` + host + `"}}]}`
	admin := iam.NewFromConfig(f.config)
	_, err = admin.CreateOpenIDConnectProvider(t.Context(), &iam.CreateOpenIDConnectProviderInput{Url: &file.issuer.URL, ClientIDList: []string{"sts.amazonaws.com"}})
	must(t, err)
	role, err := admin.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: awssdk.String("irsa"), AssumeRolePolicyDocument: &trust})
	must(t, err)
	everything := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}`
	_, err = admin.PutRolePolicy(t.Context(), &iam.PutRolePolicyInput{RoleName: awssdk.String("irsa"), PolicyName: awssdk.String("all"), PolicyDocument: &everything})
	must(t, err)
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"} {
		t.Setenv(name, "")
	}
	nowhere := filepath.Join(t.TempDir(), "none")
	for name, value := range map[string]string{
		"AWS_CONFIG_FILE": nowhere, "AWS_SHARED_CREDENTIALS_FILE": nowhere, "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_REGION": testRegion, "AWS_ENDPOINT_URL": url, "AWS_ROLE_ARN": *role.Role.Arn, "AWS_WEB_IDENTITY_TOKEN_FILE": file.path,
	} {
		t.Setenv(name, value)
	}
	return file
}

// The agent's way to its credentials in a cluster: a token file that was left to
// expire is read again when it has been renewed, and sessions follow one another.
func TestWebIdentityTokensAreReadAgain(t *testing.T) {
	f := start(t)
	file := f.federate(t, *f.config.BaseEndpoint)
	behaviour := f.account.Behaviour()
	behaviour.SessionLifetime = time.Second
	f.account.SetBehaviour(behaviour)
	file.write(t, time.Now().Add(-time.Minute))

	cfg, err := LoadConfig(t.Context(), "")
	must(t, err)
	o := Options{ClusterName: "prod", DefaultInstanceProfile: "packhorse-node", Now: f.clock.Now, NoPricing: true}
	if _, err := New(t.Context(), cfg, o); err == nil || !strings.Contains(err.Error(), "ExpiredToken") {
		t.Fatalf("with an expired token: %v", err)
	}
	file.write(t, time.Now().Add(time.Hour))
	c, err := New(t.Context(), cfg, o) // the same configuration
	must(t, err)
	sessions := f.calls("AssumeRoleWithWebIdentity", "")
	eventually(t, "another session", func() bool {
		_, err := c.Instances(t.Context())
		return err == nil && f.calls("AssumeRoleWithWebIdentity", "") > sessions
	})

	file.write(t, time.Now().Add(-time.Minute))
	eventually(t, "a failure for want of a token", func() bool { _, err := c.Instances(t.Context()); return err != nil })
	file.write(t, time.Now().Add(time.Hour))
	if _, err := c.Instances(t.Context()); err != nil {
		t.Errorf("with a new token: %v", err)
	}
}
