package e2e

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
)

// release is what one version of the product consists of, by paths.
type release struct{ version, agent, provider, chart string }

const definitionsFolder, chartFolder = "internal/api/crds", "internal/install/chart/packhorse-agent"

// thisRelease is what `make build` has built.
func (s *installed) thisRelease() release {
	s.t.Helper()
	agent := s.built("packhorse-agent")
	_, version, _ := strings.Cut(strings.TrimSpace(s.tool("", agent, "--version")), "version ")
	return release{version, agent, s.built("terraform-provider-packhorse"), filepath.Join("..", "..", filepath.FromSlash(chartFolder))}
}

// The programs of a release.
const agentProgram, providerProgram = "./agent/cmd/packhorse-agent", "./provider/cmd/terraform-provider-packhorse"

// nextRelease builds programs of another version: they say so, and their definition
// of Provisioners has a field more and another column, as has the chart. The
// cluster can pull its agent.
func (s *installed) nextRelease(programs ...string) release {
	s.t.Helper()
	dir := s.t.TempDir()
	r := release{"0.2.0", filepath.Join(dir, "packhorse-agent"), filepath.Join(dir, "terraform-provider-packhorse"), filepath.Join(dir, "chart")}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		s.t.Fatal(err)
	}
	definition := filepath.Join(root, definitionsFolder, "provisioners.karpenter.sh.yaml")
	s.rewrite(definition, filepath.Join(dir, "definition.yaml"), later...)
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{definition: filepath.Join(dir, "definition.yaml")}})
	if err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600); err != nil {
		s.t.Fatal(err)
	}
	for _, program := range programs {
		build := exec.CommandContext(s.t.Context(), "go", "build", "-C", root, "-overlay", filepath.Join(dir, "overlay.json"),
			"-ldflags", "-s -w -X main.version="+r.version, "-o", dir, program)
		if out, err := build.CombinedOutput(); err != nil {
			s.t.Fatalf("build the next release: %v\n%s", err, out)
		}
	}
	if err := os.CopyFS(r.chart, os.DirFS(filepath.Join(root, filepath.FromSlash(chartFolder)))); err != nil {
		s.t.Fatal(err)
	}
	template := filepath.Join(r.chart, "templates", "crd-provisioners.yaml")
	s.rewrite(template, template, later...)
	s.rewrite(filepath.Join(r.chart, "Chart.yaml"), filepath.Join(r.chart, "Chart.yaml"), "\nversion: 0.1.0\nappVersion: 0.1.0\n", "\nversion: 0.2.0\nappVersion: 0.2.0\n")
	s.Load(install.DefaultImage(r.version), r.agent)
	return r
}

// later is what the next release has instead in the definition of Provisioners.
var later = []string{
	"    - jsonPath: .spec.weight\n      name: Weight\n", "    - jsonPath: .spec.weight\n      name: Precedence\n",
	"              weight:\n", "              herd:\n                type: string\n              weight:\n",
}

// rewrite copies a file with the texts of each pair exchanged, which must be there once.
func (s *installed) rewrite(from, to string, pairs ...string) {
	s.t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(pairs); i += 2 {
		if n := strings.Count(string(text), pairs[i]); n != 1 {
			s.t.Fatalf("%s has %q %d times", from, pairs[i], n)
		}
	}
	if err := os.WriteFile(to, []byte(strings.NewReplacer(pairs...).Replace(string(text))), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// untilRuns waits until all agents are of a release, one of them leads, and the
// definitions are of it.
func (s *installed) untilRuns(r release) {
	s.t.Helper()
	s.until("the agents are of "+r.version, func(ctx context.Context) (bool, string, error) {
		agents := s.host.Agents()
		leads, versions := false, []string{}
		for _, agent := range agents {
			if now, err := statusOf(ctx, agent); err == nil {
				leads = leads || now.Leading
				versions = append(versions, now.Version)
			}
		}
		seen := strings.Join(versions, ", ")
		return leads && seen == r.version+", "+r.version, seen, nil
	})
	columns := s.kubectl("", "get", "provisioners")
	herd := strings.Contains(s.kubectl("", "explain", "provisioners.spec"), "herd")
	if next := r.version == "0.2.0"; strings.Contains(columns, "PRECEDENCE") != next || strings.Contains(columns, "WEIGHT") == next || herd != next {
		s.t.Errorf("the definition is not of %s: spec.herd %v, %s", r.version, herd, columns)
	}
	if stored := s.kubectl("", "get", "crds", "-o", "jsonpath={.items[*].status.storedVersions}"); stored != `["v1alpha1"] ["v1alpha5"]` {
		s.t.Errorf("objects may be stored in %s", stored)
	}
}
