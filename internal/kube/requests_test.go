package kube

import (
	"net/http"
	"testing"
)

func TestDescribe(t *testing.T) {
	for _, c := range []struct{ method, path, verb, resource string }{
		{"GET", "/api/v1/pods?limit=1", "list", "pods"},
		{"GET", "/api/v1/pods?watch=true", "watch", "pods"},
		{"GET", "/api/v1/nodes/a", "get", "nodes"},
		{"PATCH", "/api/v1/nodes/a", "patch", "nodes"},
		{"DELETE", "/api/v1/nodes/a", "delete", "nodes"},
		{"GET", "/api/v1/namespaces", "list", "namespaces"},
		{"GET", "/api/v1/namespaces/kube-system", "get", "namespaces"},
		{"POST", "/api/v1/namespaces/default/pods/web/eviction", "create", "pods/eviction"},
		{"POST", "/api/v1/namespaces/default/events", "create", "events"},
		{"PUT", "/apis/coordination.k8s.io/v1/namespaces/packhorse/leases/packhorse-agent", "update", "leases"},
		{"PATCH", "/apis/karpenter.sh/v1alpha5/provisioners/default/status", "patch", "provisioners/status"},
		{"GET", "/version", "get", "/version"},
		{"GET", "/apis/karpenter.sh/v1alpha5", "get", "/apis/karpenter.sh/v1alpha5"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, "https://cluster"+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if verb, resource := describe(r); verb != c.verb || resource != c.resource {
			t.Errorf("%s %s is %s %s, want %s %s", c.method, c.path, verb, resource, c.verb, c.resource)
		}
	}
}
