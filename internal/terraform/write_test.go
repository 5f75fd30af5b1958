package terraform_test

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"pgregory.net/rapid"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/terraform"
)

func TestBlock(t *testing.T) {
	spec := map[string]any{
		"clusterDNS": []any{"10.0.0.10"}, "maxPods": int64(5), "evictionHard": map[string]any{"memory.available": "5%"},
	}
	arguments := terraform.Arguments(map[string]any{"kubeletConfiguration": spec, "limits": map[string]any{"resources": map[string]any{"cpu": "1"}}},
		reflect.TypeFor[api.ProvisionerSpec]())
	want := `resource "a" "b" {
  kubelet_configuration = {
    cluster_dns   = ["10.0.0.10"]
    eviction_hard = { "memory.available" = "5%" }
    max_pods      = 5
  }
  limits = { cpu = "1" }
}
`
	if diff := cmp.Diff(want, terraform.Block(`resource "a" "b"`, arguments)); diff != "" {
		t.Errorf("block (-want +got):\n%s", diff)
	}
}

// TestTextComesBack writes any text and reads it as Terraform does.
func TestTextComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("ab\n\t\"\\${}%EOT é"))).Draw(t, "text")
		block := terraform.Block("locals", []terraform.Argument{{Name: "a", Value: text}})
		file, diags := hclsyntax.ParseConfig([]byte(block), "a.tf", hcl.InitialPos)
		if diags.HasErrors() {
			t.Fatalf("%s\n%s", diags, block)
		}
		attribute := file.Body.(*hclsyntax.Body).Blocks[0].Body.Attributes["a"]
		value, diags := attribute.Expr.Value(nil)
		if diags.HasErrors() || value.AsString() != text {
			t.Fatalf("%q came back as %q from\n%s", text, value.AsString(), block)
		}
	})
}

func TestIdentifier(t *testing.T) {
	for text, want := range map[string]string{"default": "default", "2-gpu.large": "_2-gpu_large", "": "_", "ÄB": "_B"} {
		if got := terraform.Identifier(text); got != want {
			t.Errorf("Identifier(%q) = %q, want %q", text, got, want)
		}
	}
}
