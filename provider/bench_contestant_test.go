package provider_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// contestant is a provider through which the objects are declared.
type contestant struct {
	title   string
	source  string // such as alekc/kubectl
	version string
	binary  string // in bin/, which make builds
	block   arguments
	// typeName and resource declare the object of a number.
	typeName string
	resource func(b *testing.B, i int) arguments
}

// allContestants are this provider, with and without looking ahead, and those of
// kubectl_manifest. hashicorp/kubernetes is not among them, see the page.
func allContestants(b *testing.B, kubeconfig string) []contestant {
	b.Helper()
	catalogue := filepath.Join(b.TempDir(), "catalogue.csv")
	if err := os.WriteFile(catalogue, offer.EmbeddedCSV(), 0o600); err != nil {
		b.Fatal(err)
	}
	ours := func(title, checks string) contestant {
		return contestant{
			title, "packhorse/packhorse", "0.1.0", "terraform-provider-packhorse",
			arguments{"kubernetes": arguments{"config_path": kubeconfig}, "plan_checks": checks, "catalogue_file": catalogue},
			"packhorse_provisioner", aResource,
		}
	}
	kubectl := func(source, version, binary string) contestant {
		return contestant{
			source + " " + version, source, strings.ReplaceAll(version, "-1", ""), filepath.Join("providers", binary),
			arguments{"config_path": kubeconfig, "load_config_file": true}, "kubectl_manifest", aManifest,
		}
	}
	return []contestant{
		ours("Packhorse", "off"),
		ours("Packhorse, looking ahead", "warn"),
		kubectl("alekc/kubectl", "1.13.1-1", "alekc"),
		kubectl("gavinbunney/kubectl", "1.19.0", "gavinbunney"),
	}
}

func benchName(i int) string { return fmt.Sprintf("bench-%03d", i) }

// aResource is a provisioner of this provider.
func aResource(_ *testing.B, i int) arguments {
	return arguments{
		"name": benchName(i), "weight": 1 + i%100, "limits": arguments{"cpu": "100"},
		"labels":       arguments{"example.com/team": benchName(i)},
		"requirements": []any{arguments{"key": "karpenter.sh/capacity-type", "operator": "In", "values": []string{"spot", "on-demand"}}},
		"taints":       []any{arguments{"key": "example.com/team", "value": benchName(i), "effect": "NoSchedule"}},
		"provider_ref": arguments{"name": "bench"},
	}
}

// aManifest is the same object as a text for kubectl_manifest.
func aManifest(b *testing.B, i int) arguments {
	b.Helper()
	return arguments{"yaml_body": asJSON(b, arguments{
		"apiVersion": "karpenter.sh/v1alpha5", "kind": "Provisioner", "metadata": arguments{"name": benchName(i)},
		"spec": arguments{
			"weight": 1 + i%100, "limits": arguments{"resources": arguments{"cpu": "100"}},
			"labels":       arguments{"example.com/team": benchName(i)},
			"requirements": []any{arguments{"key": "karpenter.sh/capacity-type", "operator": "In", "values": []string{"spot", "on-demand"}}},
			"taints":       []any{arguments{"key": "example.com/team", "value": benchName(i), "effect": "NoSchedule"}},
			"providerRef":  arguments{"name": "bench"},
		},
	})}
}

// install prepares a folder with the provider's binary and all resources.
func (k contestant) install(b *testing.B) *cli {
	b.Helper()
	binary, err := filepath.Abs(filepath.Join("..", "bin", k.binary))
	if err != nil {
		b.Fatal(err)
	}
	if _, err := os.Stat(binary); err != nil {
		b.Fatalf("%v: `make bench-provider` builds it", err)
	}
	_, local, _ := strings.Cut(k.source, "/")
	c := &cli{dir: b.TempDir(), env: append(os.Environ(), "TF_IN_AUTOMATION=1", "TF_INPUT=0")}
	folder := filepath.Join(c.dir, "terraform.d", "plugins", address(k.source), k.version, runtime.GOOS+"_"+runtime.GOARCH)
	if err := os.MkdirAll(folder, 0o750); err != nil {
		b.Fatal(err)
	}
	if err := os.Symlink(binary, filepath.Join(folder, fmt.Sprintf("terraform-provider-%s_v%s", local, k.version))); err != nil {
		b.Fatal(err)
	}
	resources := arguments{}
	for i := range benchmarked {
		resources[benchName(i)] = k.resource(b, i)
	}
	c.write(b, map[string]string{"main.tf.json": asJSON(b, arguments{
		"terraform": arguments{"required_providers": arguments{local: arguments{"source": k.source}}},
		"provider":  arguments{local: k.block},
		"resource":  arguments{k.typeName: resources},
	})})
	c.run(b, "init")
	return c
}
