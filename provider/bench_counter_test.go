package provider_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"
)

// counter stands in front of the API server and counts what it is asked.
type counter struct {
	requests   atomic.Int64
	distance   atomic.Int64 // how long each request travels there and back, a time.Duration
	kubeconfig string       // of an administrator
}

// count starts a counter.
func count(b *testing.B) *counter {
	b.Helper()
	c := &counter{}
	c.kubeconfig = serveCluster(b, func(forward http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c.requests.Add(1)
			select {
			case <-time.After(time.Duration(c.distance.Load())):
			case <-r.Context().Done():
			}
			forward.ServeHTTP(w, r)
		})
	})
	return c
}
