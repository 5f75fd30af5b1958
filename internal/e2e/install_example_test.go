package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

// TestExampleOfTheAgent applies what the documentation of packhorse_agent shows.
func TestExampleOfTheAgent(t *testing.T) {
	source := t.TempDir()
	example, err := os.ReadFile(filepath.Join("..", "..", "examples", "resources", "packhorse_agent", "resource.tf"))
	if err != nil {
		t.Fatal(err)
	}
	block := "terraform {\n  required_providers {\n    packhorse = { source = \"packhorse/packhorse\" }\n  }\n}\n\n" +
		"provider \"packhorse\" {\n  cluster_name = \"packhorse-demo\"\n  region       = \"eu-west-1\"\n}\n"
	for name, text := range map[string]string{"main.tf": string(example), "provider.tf": block} {
		if err := os.WriteFile(filepath.Join(source, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := newInstalled(t, source)
	s.startHost()
	s.terraform("apply", "-auto-approve", "-no-color")
	s.wantNoChange()
	s.terraform("destroy", "-auto-approve", "-no-color")
	if left := s.remains(); len(left) > 0 {
		t.Errorf("destroy left %v", left)
	}
}
