package sigv4

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

var (
	key    = aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "secret", SessionToken: "token"}
	signed = time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)
)

func newRequest(t *testing.T, method, url, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	r.Host = r.URL.Host
	return r
}

func hexHash(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:])
}

// sign signs a request with the SDK's own signer.
func sign(t *testing.T, r *http.Request, body string) {
	t.Helper()
	if err := v4.NewSigner().SignHTTP(t.Context(), key, r, hexHash(body), "eks", "eu-west-1", signed); err != nil {
		t.Fatal(err)
	}
}

func TestVerifySignedHeaders(t *testing.T) {
	requests := map[string]struct{ method, url, body string }{
		"form":               {"POST", "http://127.0.0.1:1/", "Action=X&Version=1"},
		"escaped path":       {"GET", "http://127.0.0.1:1/clusters/prod/access-entries/arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fx", ""},
		"query":              {"GET", "http://127.0.0.1:1/clusters?nextToken=a%2Bb+c&maxResults=1", ""},
		"header with spaces": {"POST", "http://127.0.0.1:1/x", "{}"},
	}
	for name, tc := range requests {
		t.Run(name, func(t *testing.T) {
			r := newRequest(t, tc.method, tc.url, tc.body)
			r.Header.Set("X-Amz-Target", "Some  Target ")
			sign(t, r, tc.body)
			claims, err := Parse(r)
			if err != nil {
				t.Fatal(err)
			}
			if claims.AccessKeyID != key.AccessKeyID || claims.SessionToken != key.SessionToken || !claims.Date.Equal(signed) || claims.Region != "eu-west-1" || claims.Service != "eks" {
				t.Errorf("claims = %+v", claims)
			}
			if err := claims.Verify(r, []byte(tc.body), "secret"); err != nil {
				t.Errorf("the true signature: %v", err)
			}
			if err := claims.Verify(r, []byte(tc.body), "wrong"); !errors.Is(err, ErrMismatch) {
				t.Errorf("another secret: %v", err)
			}
			if err := claims.Verify(r, []byte(tc.body+"x"), "secret"); !errors.Is(err, ErrMismatch) {
				t.Errorf("another body: %v", err)
			}
			r.Header.Set("X-Amz-Target", "Other")
			if err := claims.Verify(r, []byte(tc.body), "secret"); !errors.Is(err, ErrMismatch) {
				t.Errorf("another header: %v", err)
			}
		})
	}
}

func TestVerifyPresignedURL(t *testing.T) {
	r := newRequest(t, "GET", "https://sts.example.com/?Action=GetCallerIdentity&X-Amz-Expires=60", "")
	r.Header.Set("x-k8s-aws-id", "prod")
	url, _, err := v4.NewSigner().PresignHTTP(t.Context(), key, r, hexHash(""), "sts", "eu-west-1", signed)
	if err != nil {
		t.Fatal(err)
	}
	again := newRequest(t, "GET", url, "")
	again.Header.Set("x-k8s-aws-id", "prod")
	claims, err := Parse(again)
	if err != nil || claims.Expires != time.Minute || claims.SessionToken != "token" {
		t.Fatalf("claims = %+v, %v", claims, err)
	}
	if err := claims.Verify(again, nil, "secret"); err != nil {
		t.Errorf("the true signature: %v", err)
	}
	again.Header.Set("x-k8s-aws-id", "staging")
	if err := claims.Verify(again, nil, "secret"); !errors.Is(err, ErrMismatch) {
		t.Errorf("another cluster: %v", err)
	}
}

func TestParseRefuses(t *testing.T) {
	const good = "AWS4-HMAC-SHA256 Credential=A/20260304/r/s/aws4_request, SignedHeaders=host;x-amz-date, Signature=00"
	cases := map[string]struct{ header, date, want string }{
		"unsigned":           {"", "", ErrUnsigned.Error()},
		"other scheme":       {"Bearer x", "20260304T100000Z", "not of the form"},
		"short scope":        {strings.Replace(good, "/r/s", "", 1), "20260304T100000Z", "aws4_request"},
		"no date":            {good, "", "date"},
		"date of other day":  {good, "20260305T100000Z", "not of the day"},
		"host is not signed": {strings.Replace(good, "host;", "", 1), "20260304T100000Z", "host"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRequest(t, "GET", "http://x/", "")
			if tc.header != "" {
				r.Header.Set("Authorization", tc.header)
			}
			r.Header.Set("X-Amz-Date", tc.date)
			_, err := Parse(r)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error = %v, want it to say %q", err, tc.want)
			}
		})
	}
}
