package eksauth_test

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/google/go-cmp/cmp"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/eksauth"
)

func client(provider aws.CredentialsProvider) *sts.Client {
	return sts.New(sts.Options{Region: "eu-west-1", BaseEndpoint: aws.String("http://127.0.0.1:1234"), Credentials: provider})
}

func static() aws.CredentialsProvider {
	return credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", "")
}

func token(t *testing.T, tokens *eksauth.Tokens) string {
	t.Helper()
	out, err := tokens.Token(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// presigned returns the URL in a token.
func presigned(t *testing.T, client *sts.Client) *url.URL {
	t.Helper()
	got := token(t, eksauth.NewTokens(client, "prod"))
	encoded, ok := strings.CutPrefix(got, "k8s-aws-v1.")
	if !ok || strings.Contains(encoded, "=") {
		t.Fatalf("token = %s, want the prefix k8s-aws-v1. and no padding", got)
	}
	raw, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		t.Fatal(err)
	}
	out, err := url.Parse(string(raw))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTokenIsAPresignedRequest(t *testing.T) {
	signed := presigned(t, client(static()))
	if signed.Host != "127.0.0.1:1234" {
		t.Errorf("host = %s, want that of the endpoint", signed.Host)
	}
	query := signed.Query()
	for name, want := range map[string]string{"Action": "GetCallerIdentity", "X-Amz-Expires": "60", "X-Amz-SignedHeaders": "host;x-k8s-aws-id"} {
		if query.Get(name) != want {
			t.Errorf("%s = %q, want %q", name, query.Get(name), want)
		}
	}
	if query.Get("X-Amz-Signature") == "" {
		t.Error("the request is not signed")
	}
}

// EKS refuses tokens for other hosts than those of STS in its partition, such as that of an interface endpoint, also if
// that has a name of its own. What speaks plain HTTP stands in for AWS, with the API server too.
func TestTokenNamesAPublicHost(t *testing.T) {
	for _, c := range []struct{ region, endpoint, want string }{
		{"eu-west-1", "https://vpce-1.sts.eu-west-1.vpce.amazonaws.com", "sts.eu-west-1.amazonaws.com"},
		{"cn-north-1", "https://vpce-1.sts.cn-north-1.vpce.amazonaws.com.cn", "sts.cn-north-1.amazonaws.com.cn"},
		{"eu-west-1", "https://sts.aws.example.com", "sts.eu-west-1.amazonaws.com"},
		{"eu-west-1", "HTTPS://10.0.0.5:8443", "sts.eu-west-1.amazonaws.com"},
		{"eu-west-1", "http://localstack:4566", "localstack:4566"},
	} {
		signed := presigned(t, sts.New(sts.Options{Region: c.region, BaseEndpoint: &c.endpoint, Credentials: static()}))
		if signed.Host != c.want {
			t.Errorf("%s: host = %s, want %s", c.endpoint, signed.Host, c.want)
		}
	}
}

// expiring hands out credentials that expire.
type expiring struct {
	expires time.Time
	calls   int
}

func (e *expiring) Retrieve(context.Context) (aws.Credentials, error) {
	e.calls++
	if e.calls > 20 {
		return aws.Credentials{}, errors.New("asked too often")
	}
	return aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "secret", CanExpire: true, Expires: e.expires}, nil
}

func TestTokenIsKeptUntilShortlyBeforeItExpires(t *testing.T) {
	tests := map[string]struct {
		credentials time.Duration
		after       time.Duration
		fresh       bool
	}{
		"within its life":              {time.Hour, 13 * time.Minute, false},
		"before the fifteen minutes":   {time.Hour, 14*time.Minute + time.Second, true},
		"not beyond its credentials":   {5 * time.Minute, 6 * time.Minute, true},
		"within those of its duration": {5 * time.Minute, 4 * time.Minute, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				source := &expiring{expires: time.Now().Add(tt.credentials)}
				tokens := eksauth.NewTokens(client(source), "prod")
				token(t, tokens)
				minted := source.calls
				time.Sleep(tt.after)
				token(t, tokens)
				if fresh := source.calls > minted; fresh != tt.fresh {
					t.Errorf("minted anew = %v, want %v", fresh, tt.fresh)
				}
			})
		})
	}
}

func TestTransportAuthenticatesAndForgetsWhatWasRefused(t *testing.T) {
	source := &expiring{expires: time.Now().Add(time.Hour)}
	tokens := eksauth.NewTokens(client(source), "prod")
	var seen []string
	answer := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Authorization"))
		w.WriteHeader(answer)
	}))
	defer server.Close()
	browser := &http.Client{Transport: tokens.WrapTransport(http.DefaultTransport)}
	get := func() {
		t.Helper()
		resp, err := browser.Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Fatal(err)
		}
	}
	get()
	get()
	kept := source.calls
	if !strings.HasPrefix(seen[0], "Bearer k8s-aws-v1.") || seen[0] != seen[1] {
		t.Errorf("authorisation = %q, want one bearer token twice", seen)
	}
	answer = http.StatusUnauthorized
	get()
	get()
	if source.calls == kept {
		t.Error("a token that was refused is still used")
	}
}

// A request whose token is refused is sent once more, with its body.
func TestTransportRepeatsWhatWasRefused(t *testing.T) {
	tokens := eksauth.NewTokens(client(static()), "prod")
	var bodies []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bodies = append(bodies, string(body)); len(bodies) == 1 {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer server.Close()
	browser := &http.Client{Transport: tokens.WrapTransport(http.DefaultTransport)}
	resp, err := browser.Post(server.URL, "text/plain", strings.NewReader("object"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || !slices.Equal(bodies, []string{"object", "object"}) {
		t.Errorf("status %d after %q, want the same request twice", resp.StatusCode, bodies)
	}
}

// describer answers with a cluster.
type describer struct {
	cluster *types.Cluster
	err     error
}

func (d describer) DescribeCluster(context.Context, *eks.DescribeClusterInput, ...func(*eks.Options)) (*eks.DescribeClusterOutput, error) {
	return &eks.DescribeClusterOutput{Cluster: d.cluster}, d.err
}

func TestFind(t *testing.T) {
	found, err := eksauth.Find(t.Context(), describer{cluster: &types.Cluster{
		Arn: aws.String("arn"), Endpoint: aws.String("https://a"),
		CertificateAuthority: &types.Certificate{Data: aws.String(base64.StdEncoding.EncodeToString([]byte("PEM")))},
		Identity:             &types.Identity{Oidc: &types.OIDC{Issuer: aws.String("https://issuer")}},
		Version:              aws.String("1.33"),
		KubernetesNetworkConfig: &types.KubernetesNetworkConfigResponse{
			IpFamily: types.IpFamilyIpv6, ServiceIpv4Cidr: aws.String("10.100.0.0/16"), ServiceIpv6Cidr: aws.String("fd00::/108"),
		},
	}}, "prod")
	if err != nil {
		t.Fatal(err)
	}
	want := &asset.Cluster{Name: "prod", ARN: "arn", Endpoint: "https://a", CA: []byte("PEM"), Version: "1.33", ServiceCIDR: "fd00::/108", IPv6: true, Issuer: "https://issuer"}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("cluster (-want +got):\n%s", diff)
	}
}

func TestFindSaysWhatIsWrong(t *testing.T) {
	ca := func(data string) *types.Certificate { return &types.Certificate{Data: aws.String(data)} }
	tests := map[string]struct {
		describer describer
		want      string
	}{
		"no such cluster": {describer{err: &types.ResourceNotFoundException{}}, "no such EKS cluster"},
		"being created":   {describer{cluster: &types.Cluster{Status: types.ClusterStatusCreating}}, "no endpoint yet, its status is CREATING"},
		"a broken CA":     {describer{cluster: &types.Cluster{Endpoint: aws.String("a"), CertificateAuthority: ca("%")}}, "decode its CA"},
		"anything else":   {describer{err: errors.New("denied")}, `find cluster "prod": denied`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := eksauth.Find(t.Context(), tt.describer, "prod"); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want one that says %q", err, tt.want)
			}
		})
	}
}
