package onboard

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/terraform"
)

// The files that are written, by resource type.
var files = map[string]string{
	profileResource: "node_profiles.tf", provisionerResource: "provisioners.tf", roleResource: "irsa_roles.tf",
	nodeRoleResource: "node_roles.tf", queueResource: "interruption_queues.tf",
}

// suggestionsFile holds what cannot be imported, commented out.
const suggestionsFile = "suggestions.tf"

// CheckTypes returns an error for a name that is not a resource type that can be imported, such as
// packhorse_provisioner or provisioner.
func CheckTypes(types []string) error {
	_, err := wantedTypes(types)
	return err
}

// only returns the items that are, or would become, resources of the wanted types.
func only(items []Item, wanted map[string]bool) []Item {
	return configured(slices.DeleteFunc(slices.Clone(items), func(i Item) bool { return !wanted[i.Resource] }))
}

// wantedTypes completes the names of resource types; without names, all are wanted.
func wantedTypes(names []string) (map[string]bool, error) {
	wanted := map[string]bool{}
	for _, name := range names {
		full := "packhorse_" + strings.TrimPrefix(name, "packhorse_")
		if files[full] == "" {
			return nil, fmt.Errorf("%q is not a type that can be imported: use %s", name, strings.Join(slices.Sorted(maps.Keys(files)), ", "))
		}
		wanted[full] = true
	}
	for full := range files {
		wanted[full] = wanted[full] || len(names) == 0
	}
	return wanted, nil
}

// Files returns the configuration of what was found by file name, formatted.
func Files(found *Found) (map[string][]byte, error) {
	texts := map[string]*strings.Builder{"main.tf": {}}
	texts["main.tf"].WriteString(mainFile(found.Scope))
	if len(found.Denied) > 0 {
		texts["main.tf"].WriteString("\n# Left out, because AWS denies a permission:\n" + comment(found.Denied))
	}
	for _, item := range found.Items {
		name, text := files[item.Resource], importable(item)
		if item.ImportID == "" {
			name, text = suggestionsFile, suggestion(item)
		}
		if texts[name] == nil {
			texts[name] = &strings.Builder{}
		} else {
			texts[name].WriteString("\n")
		}
		texts[name].WriteString(text)
	}
	out := make(map[string][]byte, len(texts))
	for name, text := range texts {
		formatted, err := terraform.Format(name, text.String())
		if err != nil {
			return nil, err
		}
		out[name] = formatted
	}
	return out, nil
}

func mainFile(scope Scope) string {
	provider := terraform.Block(`provider "packhorse"`, []terraform.Argument{{Name: "cluster_name", Value: scope.ClusterName}, {Name: "region", Value: scope.Region}})
	return "terraform {\n  required_version = \">= 1.8\"\n  required_providers {\n    packhorse = { source = \"packhorse/packhorse\" }\n  }\n}\n\n" + provider
}

// importable writes an item with its import block.
func importable(item Item) string {
	block := terraform.Block("import", []terraform.Argument{{Name: "to", Value: terraform.Raw(item.Address)}, {Name: "id", Value: item.ImportID}})
	return comment(item.Notes) + block + "\n" + item.Configuration
}

// suggestion writes an item commented out.
func suggestion(item Item) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s %s, as a %s.\n", item.Kind, item.Name, item.Resource)
	b.WriteString(comment(item.Notes))
	b.WriteString("#\n")
	for line := range strings.Lines(item.Configuration) {
		b.WriteString(strings.TrimRight("# "+line, " "))
	}
	return b.String()
}

func comment(notes []string) string {
	var b strings.Builder
	for _, note := range notes {
		b.WriteString("# - " + strings.ReplaceAll(note, "\n", " ") + "\n")
	}
	return b.String()
}

// Write writes the files into a folder, which is made if need be. Files that are
// there already are left alone: that is an error, and nothing is written.
func Write(dir string, files map[string][]byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("create the folder: %w", err)
	}
	for name := range files {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return fmt.Errorf("write into %s: %s already exists: choose another folder, or remove it", dir, name)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("write into %s: %w", dir, err)
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return fmt.Errorf("write into %s: %w", dir, err)
		}
	}
	return nil
}
