package cluster

import (
	"strings"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// Static pods that all nodes of an image have are expected on its next nodes, and those that all nodes of a Provisioner have on
// machines of which nobody knows the image.
func TestStaticPodsOfImages(t *testing.T) {
	guard, byHand := &Template{Namespace: "kube-system", Static: true}, &Template{Namespace: "kube-system", Static: true, Labels: map[string]string{"a": "b"}}
	node := func(name, image string) Node {
		return Node{Name: name, Provisioner: "default", Initialized: true, Ready: true, Labels: map[string]string{api.LabelInstanceAMIID: image}}
	}
	pod := func(name, on string, of *Template) Pod {
		return Pod{PodKey: PodKey{Namespace: of.Namespace, Name: name + "-" + on}, NodeName: on, Template: of, State: PodBound}
	}
	for name, c := range map[string]struct {
		change func(s *Snapshot)
		want   string
	}{
		"all nodes":             {func(*Snapshot) {}, "guard (static): no image, ami-1"},
		"another image without": {func(s *Snapshot) { s.Nodes = append(s.Nodes, node("c", "ami-2")) }, "guard (static): ami-1"},
		"a node without":        {func(s *Snapshot) { s.Nodes = append(s.Nodes, node("c", "ami-1")) }, ""},
		"on a node by hand":     {func(s *Snapshot) { s.Pods = append(s.Pods, pod("hand", "a", byHand)) }, "guard (static): no image, ami-1"},
		"a node that starts": {func(s *Snapshot) {
			s.Nodes = append(s.Nodes, node("c", "ami-1"))
			s.Nodes[2].Initialized = false
		}, "guard (static): no image, ami-1"},
		"a node that starts with it": {func(s *Snapshot) {
			s.Nodes = append(s.Nodes, node("c", "ami-1"))
			s.Nodes[2].Initialized, s.Pods = false, append(s.Pods, pod("guard", "c", guard))
		}, "guard (static): no image but c, ami-1 but c"},
		"nodes of others": {func(s *Snapshot) { s.Nodes[0].Provisioner, s.Nodes[1].Provisioner = "", "" }, ""},
	} {
		s := &Snapshot{Nodes: []Node{node("a", "ami-1"), node("b", "ami-1")}, Pods: []Pod{pod("guard", "a", guard), pod("guard", "b", guard)}}
		c.change(s)
		var got []string
		for _, d := range s.WithStaticPods().DaemonSets {
			var places []string
			for _, term := range d.Template.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
				place := strings.Join(term.MatchExpressions[0].Values, "")
				if place == "" {
					place = "no image"
				}
				for _, but := range term.MatchFields {
					place += " but " + strings.Join(but.Values, " ")
				}
				places = append(places, place)
			}
			got = append(got, d.Name+": "+strings.Join(places, ", "))
		}
		if all := strings.Join(got, "; "); all != c.want {
			t.Errorf("%s: %q, want %q", name, all, c.want)
		}
		if len(s.DaemonSets) > 0 {
			t.Errorf("%s: the argument has changed", name)
		}
	}
}
