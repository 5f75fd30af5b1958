package kube

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestNoKubeconfig: the error names the files in which no cluster was found.
func TestNoKubeconfig(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "typo")
	t.Setenv("KUBECONFIG", missing)
	t.Setenv("KUBERNETES_SERVICE_HOST", "") // not in a pod
	if _, err := RESTConfig("", ""); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("got %v, want an error that names %s", err, missing)
	}
}
