package kube

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/fence"
)

// Of a process that does not hold its lease, nothing that changes something reaches
// the API server, whatever it is; what only looks does.
func TestNothingPassesAClosedFence(t *testing.T) {
	var mu sync.Mutex
	var changes []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			mu.Lock()
			defer mu.Unlock()
			changes = append(changes, r.Method+" "+r.URL.Path)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"Node","apiVersion":"v1","metadata":{"name":"n","uid":"u","resourceVersion":"1"}}`))
	}))
	defer server.Close()
	f := fence.New()
	c, err := New(&rest.Config{Host: server.URL}, Options{Fence: f})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []*mirror{c.caches.provisioners, c.caches.nodeTemplates} {
		put(t, m, &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "p", "resourceVersion": "1"}}})
	}
	ctx, pod := t.Context(), cluster.PodKey{Namespace: "default", Name: "p", UID: "u"}
	calls := map[string]func() error{
		"create a node": func() error {
			_, err := c.CreateNode(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
			return err
		},
		"patch a node":    func() error { return c.PatchNode(ctx, "n", cluster.NodeChange{AddFinalizer: "f"}) },
		"delete a node":   func() error { return c.DeleteNode(ctx, "n", "") },
		"bind":            func() error { return c.Bind(ctx, pod, "n") },
		"evict":           func() error { return c.Evict(ctx, pod) },
		"delete a pod":    func() error { return c.DeletePod(ctx, pod, 0) },
		"remove a pod":    func() error { return c.RemovePod(ctx, &cluster.Pod{PodKey: pod, Version: "1"}) },
		"write a status":  func() error { return c.UpdateProvisionerStatus(ctx, "p", statusWith("a")) },
		"set a finalizer": func() error { return c.SetProvisionerFinalizer(ctx, "p", true) },
		"write a profile's status": func() error {
			return c.UpdateNodeTemplateStatus(ctx, "p", api.AWSNodeTemplateStatus{Conditions: statusWith("a").Conditions})
		},
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, fence.ErrClosed) {
			t.Errorf("%s: error = %v, want that the fence is closed", name, err)
		}
	}
	if len(changes) > 0 {
		t.Errorf("sent with the fence closed: %v", changes)
	}
	f.Renewed(f.Now(), time.Minute)
	if err := c.DeleteNode(ctx, "n", ""); err != nil || len(changes) != 1 {
		t.Errorf("with the lease: %v, sent %v", err, changes)
	}
}

func statusWith(reason string) api.ProvisionerStatus {
	return api.ProvisionerStatus{Conditions: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: reason}}}
}
