package release

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/goreleaser/goreleaser/v2/pkg/config"
)

const root = "../../.."

// project reads the configuration as goreleaser does, which refuses unknown keys.
func project(t *testing.T) config.Project {
	t.Helper()
	p, err := config.Load(filepath.Join(root, ".ci", "goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// render fills a name in for version 1.2.3.
func render(t *testing.T, p *config.Project, name string) string {
	t.Helper()
	parsed, err := template.New("").Option("missingkey=error").Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	fields := map[string]string{"ProjectName": p.ProjectName, "Version": "1.2.3", "Os": "linux", "Arch": "arm64"}
	if err := parsed.Execute(&out, fields); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestBuilds checks that what is to be built is there, takes its version from the
// tag, and is the same each time.
func TestBuilds(t *testing.T) {
	known, err := exec.CommandContext(t.Context(), "go", "tool", "dist", "list").Output()
	if err != nil {
		t.Fatal(err)
	}
	p := project(t)
	platforms := strings.Fields(string(known))
	for _, b := range p.Builds {
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, b.Main, "main.go"), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if parsed.Name.Name != "main" || parsed.Scope.Lookup("version") == nil {
			t.Errorf("%s: %s has no variable version to set", b.ID, b.Main)
		}
		if !slices.Contains(b.Ldflags, "-s -w -X main.version={{ .Version }}") || !slices.Contains(b.Flags, "-trimpath") ||
			!slices.Contains(b.Env, "CGO_ENABLED=0") || b.ModTimestamp != "{{ .CommitTimestamp }}" {
			t.Errorf("%s: flags %v, linker's %v, environment %v, time %q", b.ID, b.Flags, b.Ldflags, b.Env, b.ModTimestamp)
		}
		for _, system := range b.Goos {
			for _, arch := range b.Goarch {
				if !slices.Contains(platforms, system+"/"+arch) {
					t.Errorf("%s: Go knows no %s/%s", b.ID, system, arch)
				}
			}
		}
	}
}

// TestRegistry holds the names to those that the Terraform registry asks for
// (https://developer.hashicorp.com/terraform/registry/providers/publishing).
func TestRegistry(t *testing.T) {
	p := project(t)
	provider := p.Builds[slices.IndexFunc(p.Builds, func(b config.Build) bool { return b.ID == "provider" })]
	archive := p.Archives[slices.IndexFunc(p.Archives, func(a config.Archive) bool { return slices.Equal(a.IDs, []string{"provider"}) })]
	for name, want := range map[string]string{
		provider.Binary: "terraform-provider-packhorse_v1.2.3", archive.NameTemplate: "terraform-provider-packhorse_1.2.3_linux_arm64",
		p.Checksum.NameTemplate: "terraform-provider-packhorse_1.2.3_SHA256SUMS",
	} {
		if got := render(t, &p, name); got != want {
			t.Errorf("%s renders %s, want %s", name, got, want)
		}
	}
	if !slices.Equal(archive.Formats, []string{"zip"}) || p.Checksum.Algorithm != "sha256" {
		t.Errorf("archives %v, checksums %s", archive.Formats, p.Checksum.Algorithm)
	}
	for where, files := range map[string][]config.ExtraFile{"checksums": p.Checksum.ExtraFiles, "release": p.Release.ExtraFiles} {
		if len(files) != 1 || render(t, &p, files[0].NameTemplate) != "terraform-provider-packhorse_1.2.3_manifest.json" {
			t.Fatalf("%s: %+v", where, files)
		}
		text, err := os.ReadFile(filepath.Join(root, files[0].Glob))
		if err != nil {
			t.Fatal(err)
		}
		var manifest struct {
			Metadata struct {
				Protocols []string `json:"protocol_versions"`
			}
		}
		if err := json.Unmarshal(text, &manifest); err != nil || !slices.Equal(manifest.Metadata.Protocols, []string{"6.0"}) {
			t.Errorf("manifest %s, %v", text, err)
		}
	}
}

// TestSignatures checks that the checksums, which cover all archives, and the provenance, which covers all files, are
// signed, and that each binary has a bill of materials.
func TestSignatures(t *testing.T) {
	p := project(t)
	if len(p.Signs) != 1 || p.Signs[0].Artifacts != "checksum" || p.Signs[0].Signature != "" {
		t.Fatalf("signs %+v, want the checksums under the usual name, SHA256SUMS.sig", p.Signs)
	}
	for _, arg := range []string{"--detach-sign", "{{ .Env.GPG_FINGERPRINT }}", "${signature}", "${artifact}"} {
		if !slices.Contains(p.Signs[0].Args, arg) {
			t.Errorf("gpg is not given %s: %v", arg, p.Signs[0].Args)
		}
	}
	// The checksums cover neither the chart nor the image. The provenance does, and make signs it.
	steps, err := exec.CommandContext(t.Context(), "make", "--dry-run", "-C", root, "release", "GPG_FINGERPRINT=0A1B").CombinedOutput()
	const sign = "gpg --batch --local-user 0A1B --output dist/release/provenance.intoto.json.sig --detach-sign dist/release/provenance.intoto.json\n"
	if err != nil || !strings.Contains(string(steps), sign) {
		t.Errorf("make does not sign the provenance: %v\n%s", err, steps)
	}
	if p.Checksum.Disable || len(p.Checksum.IDs) > 0 || len(p.SBOMs) != 1 || p.SBOMs[0].Artifacts != "binary" || len(p.SBOMs[0].IDs) > 0 {
		t.Errorf("checksums %+v, bills of materials %+v", p.Checksum, p.SBOMs)
	}
	for _, a := range p.Archives {
		for _, id := range a.IDs {
			if !slices.ContainsFunc(p.Builds, func(b config.Build) bool { return b.ID == id }) {
				t.Errorf("archive %s has the build %s, which is none", a.ID, id)
			}
		}
	}
}
