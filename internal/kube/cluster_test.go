package kube

import (
	"context"
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// The lease can be renewed while other requests wait for their turn. A request whose turn does not come in
// time is told from one that the API server has refused.
func TestLeaseHasLimiterOfItsOwn(t *testing.T) {
	c, err := New(&rest.Config{Host: "https://cluster.invalid"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	limiter := c.client.CoreV1().RESTClient().GetRateLimiter()
	for limiter.TryAccept() { // use up what may be sent at once
	}
	if !c.leading.CoordinationV1().RESTClient().GetRateLimiter().TryAccept() {
		t.Error("the lease waits for the other requests")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	if _, err := c.client.CoreV1().Pods("default").Get(ctx, "web", metav1.GetOptions{}); !errors.Is(err, cluster.ErrBusy) {
		t.Errorf("a request that was not sent returned %v, want %v", err, cluster.ErrBusy)
	}
}
