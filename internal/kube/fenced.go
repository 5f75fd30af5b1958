package kube

import (
	"fmt"
	"net/http"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/fence"
)

// fenced lets requests that change something pass only while the fence is open. It
// is the last step before the connection. The lease itself has no fence before it.
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
			_ = r.Body.Close() // nobody reads it
		}
		return nil, fmt.Errorf("%s %s: not sent: %w", verb, resource, err)
	}
	return f.next.RoundTrip(r)
}
