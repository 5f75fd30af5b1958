package platform

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"syscall"
	"testing"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/eksauth"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/apply"
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
	if !errors.Is(wrongAccess(notReady(apierrors.NewUnauthorized("no"))), session.ErrWrongAccess) {
		t.Error("a token that a new cluster may not take yet counts as right")
	}
	if wrongAccess(nil) != nil {
		t.Error("success counts as wrong")
	}
}

// What a cluster that was created a moment ago may cause is told apart from what is wrong.
func TestNotReady(t *testing.T) {
	get := func(err error) error { return &url.Error{Op: "Get", URL: "https://cluster", Err: err} }
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"a name that is not in DNS":       {get(&net.DNSError{Err: "no such host", Name: "cluster", IsNotFound: true}), true},
		"a load balancer without targets": {get(&net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}), true},
		"no answer":                       {fmt.Errorf("%w: late", call.ErrNoAnswer), true},
		"a caller that is not known":      {apierrors.NewUnauthorized("no"), true},
		"a caller without a permission":   {apierrors.NewForbidden(schema.GroupResource{}, "kube-system", nil), false},
		"nobody listens":                  {get(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}), false},
		"a certificate of somebody else":  {get(&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}), false},
	} {
		if got := errors.Is(wrongAccess(notReady(fmt.Errorf("reach the cluster: %w", c.err))), session.ErrNotReady); got != c.want {
			t.Errorf("%s: not ready = %t, want %t", name, got, c.want)
		}
	}
}

// The authenticator of a new cluster does not know the caller at first.
func TestACallerThatIsNotKnownYet(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer server.Close()
	if _, err := newCluster(t.Context(), &rest.Config{Host: server.URL}, "", apply.Manager{}); !errors.Is(err, session.ErrNotReady) {
		t.Errorf("error = %v, want session.ErrNotReady", err)
	}
}
