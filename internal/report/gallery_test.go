package report

import (
	"strings"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain/explaintest"
)

// Each Provisioner has a section, a colour and boxes of its own.
func TestGallery(t *testing.T) {
	nodes := explain.Contents(explaintest.Live())
	nodes[1].State = "starting"
	g := NewGallery(nodes)
	if len(g.Sections) != 2 || g.Sections[0].Class == g.Sections[1].Class || g.Sections[0].Class == "" {
		t.Fatalf("%+v", g.Sections)
	}
	for _, s := range g.Sections {
		box := s.Kinds[0].Boxes[0]
		if !strings.Contains(string(box.SVG()), `class="load `+s.Class) || strings.Contains(string(box.SVG()), " pods 1%") {
			t.Errorf("%s: %s", s.Title, box.SVG())
		}
	}
	if k := g.Sections[1].Kinds[0]; k.State != "starting" || !strings.HasSuffix(k.Caption[0], "(starting)") {
		t.Errorf("%+v", k)
	}
}
