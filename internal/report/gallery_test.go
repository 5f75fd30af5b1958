package report

import (
	"strings"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
)

func ran(name, node string, daemon bool, cpu int64) cluster.Pod {
	return cluster.Pod{
		PodKey: cluster.PodKey{Namespace: "shop", Name: name}, NodeName: node, State: cluster.PodBound,
		Template: &cluster.Template{Requests: amount.List{amount.CPU: cpu, amount.Memory: cpu << 20, amount.Pods: 1}, DaemonSet: daemon},
	}
}

func live() *cluster.Snapshot {
	node := func(name, provisioner string) cluster.Node {
		return cluster.Node{
			Name: name, Provisioner: provisioner, Labels: map[string]string{api.LabelInstanceType: "m5.large", api.LabelZone: "a"},
			Allocatable: amount.List{amount.CPU: 2000, amount.Memory: 4000 << 20, amount.Pods: 29},
		}
	}
	s := &cluster.Snapshot{
		Nodes: []cluster.Node{node("n1", "default"), node("n2", "other"), node("theirs", "")},
		Pods:  []cluster.Pod{ran("web-1", "n1", false, 500), ran("web-2", "n1", false, 500), ran("logs-1", "n1", true, 100), ran("web-3", "n2", false, 500), ran("x", "theirs", false, 1)},
	}
	s.Sort()
	return s
}

// Each Provisioner has a section, a colour and boxes of its own.
func TestGallery(t *testing.T) {
	nodes := explain.Contents(live())
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
