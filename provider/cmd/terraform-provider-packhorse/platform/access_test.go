package platform

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"testing"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"net/http"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/eksauth"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/call"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// answered is an error of AWS with an HTTP status.
func answered(status int, code string) error {
	return &awshttp.ResponseError{ResponseError: &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}}, Err: &smithy.GenericAPIError{Code: code},
	}}
}

// What the same access will meet again is told apart from what passes.
func TestWrongAccess(t *testing.T) {
	get := func(err error) error { return &url.Error{Op: "Get", URL: "https://cluster", Err: err} }
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"no such cluster":                  {fmt.Errorf("find cluster: %w", eksauth.ErrNoCluster), true},
		"a cluster that is being created":  {fmt.Errorf("find cluster: %w", eksauth.ErrNoEndpoint), false},
		"credentials that AWS refuses":     {answered(http.StatusForbidden, "InvalidClientTokenId"), true},
		"AWS throttles":                    {answered(http.StatusBadRequest, "ThrottlingException"), false},
		"AWS is in trouble":                {answered(http.StatusServiceUnavailable, "Unavailable"), false},
		"a token that is not taken":        {apierrors.NewUnauthorized("no"), true},
		"a certificate of somebody else":   {get(&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}), true},
		"a program that is not there":      {get(errors.New("getting credentials: exec: executable aws not found")), true},
		"nobody listens":                   {get(&net.OpError{Op: "dial", Err: errors.New("connection refused")}), false},
		"a name that nobody knows":         {get(&net.DNSError{Err: "no such host", Name: "cluster"}), false},
		"no answer":                        {fmt.Errorf("%w: late", call.ErrNoAnswer), false},
		"interrupted":                      {get(context.Canceled), false},
		"the API server is being replaced": {apierrors.NewServiceUnavailable("soon"), false},
	} {
		if got := errors.Is(wrongAccess(c.err), session.ErrWrongAccess); got != c.want {
			t.Errorf("%s: wrong = %t, want %t", name, got, c.want)
		}
	}
	if !errors.Is(wrongAccess(eksauth.ErrNoCluster), session.ErrMissingCluster) || errors.Is(wrongAccess(errors.New("denied")), session.ErrMissingCluster) {
		t.Error("a missing cluster is not told apart")
	}
	if wrongAccess(nil) != nil {
		t.Error("success counts as wrong")
	}
}
