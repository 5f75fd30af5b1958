package customresource

import "testing"

// TestMoveFromProvider: OpenTofu before 1.11.12 and 1.12.4 says less of where a state comes from.
func TestMoveFromProvider(t *testing.T) {
	for _, tt := range []struct {
		resource, provider string
		want               bool
	}{
		{"kubectl_manifest", "registry.terraform.io/alekc/kubectl", true},
		{"kubectl_manifest", "registry.opentofu.org/gavinbunney/kubectl", true},
		{"kubectl_manifest", "kubectl", true},
		{"kubectl_manifest", "registry.terraform.io/other/kubectl", false},
		{"kubernetes_manifest", "registry.terraform.io/hashicorp/kubernetes", true},
		{"kubernetes_manifest", "kubernetes", true},
		{"kubernetes_manifest", "kubectl", false},
		{"kubernetes_deployment", "kubernetes", false},
	} {
		if got := manifestReader(tt.resource, tt.provider) != nil; got != tt.want {
			t.Errorf("%s of %q can be moved: %v, want %v", tt.resource, tt.provider, got, tt.want)
		}
	}
}
