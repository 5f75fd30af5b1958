package platform

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	awscall "github.com/packhorse-io/terraform-provider-packhorse/internal/aws/call"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/eksauth"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/call"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// wrongAccess marks an error as session.ErrWrongAccess, and as session.ErrMissingCluster if there is none, unless it is
// temporary, such as a network failure.
func wrongAccess(err error) error {
	if err == nil || passing(err) {
		return err
	}
	return wrongAccessError{err}
}

type wrongAccessError struct{ error }

func (e wrongAccessError) Unwrap() error { return e.error }

func (e wrongAccessError) Is(target error) bool {
	return target == session.ErrWrongAccess || target == session.ErrMissingCluster && errors.Is(e.error, eksauth.ErrNoCluster)
}

// notReady marks an error of the API server as session.ErrNotReady if a cluster that was created a moment ago may cause it.
// A refused connection is none: call.Passing is true for it, so that it has been tried again for some seconds.
func notReady(err error) error {
	var name *net.DNSError
	var network net.Error
	late := errors.As(err, &network) && network.Timeout() || errors.Is(err, call.ErrNoAnswer)
	if errors.As(err, &name) || late || apierrors.IsUnauthorized(err) {
		return notReadyError{err}
	}
	return err
}

type notReadyError struct{ error }

func (e notReadyError) Unwrap() error { return e.error }

func (e notReadyError) Is(target error) bool { return target == session.ErrNotReady }

// passing reports whether the access may work at another time or from another network.
func passing(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return false
	}
	if isNetwork(err) || errors.Is(err, eksauth.ErrNoEndpoint) {
		return true
	}
	var response interface{ HTTPStatusCode() int }
	if errors.As(err, &response) {
		status := response.HTTPStatusCode()
		return status >= http.StatusInternalServerError || status == http.StatusTooManyRequests || strings.Contains(awscall.Code(err), "Throttl")
	}
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, call.ErrNoAnswer) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || call.Passing(err)
}

// isNetwork reports whether the network has failed. It does not accept every net.Error, because a
// url.Error is one and may have any cause.
func isNetwork(err error) bool {
	var operation *net.OpError
	var name *net.DNSError
	return errors.As(err, &operation) || errors.As(err, &name)
}
