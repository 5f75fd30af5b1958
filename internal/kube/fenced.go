package kube

import (
	"fmt"
	"net/http"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/fence"
)

// fenced sends requests that change something only while the fence is open. Nothing else happens
// between this check and sending the request. Requests for Leases are exempt, because the lease
// opens the fence.
type fenced struct {
	next  http.RoundTripper
	fence *fence.Fence
}

func (f *fenced) RoundTrip(r *http.Request) (*http.Response, error) {
	verb, resource := describe(r)
	if r.Method == http.MethodGet || resource == "leases" {
		return f.next.RoundTrip(r)
	}
	if err := f.fence.Check(); err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // as http.RoundTripper requires
		}
		return nil, fmt.Errorf("%s %s: not sent: %w", verb, resource, err)
	}
	return f.next.RoundTrip(r)
}
