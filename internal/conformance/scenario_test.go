package conformance

import (
	"bytes"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/manifest/manifesttest"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/simulate"
)

const region = "eu-west-1"

// scenario is a cluster with work to be placed, as the planner finds it.
type scenario struct {
	Provisioners []*api.Provisioner  `json:"provisioners,omitempty"`
	Nodes        []*corev1.Node      `json:"nodes,omitempty"` // a node that is not ready is being started
	DaemonSets   []*appsv1.DaemonSet `json:"daemonSets,omitempty"`
	Running      []*corev1.Pod       `json:"running,omitempty"` // bound to Nodes
	Pods         []*corev1.Pod       `json:"pods,omitempty"`    // pending
}

// namespaces exist in every cluster.
var namespaces = []*corev1.Namespace{
	{ObjectMeta: metav1.ObjectMeta{Name: "alpha", Labels: map[string]string{"team": "red"}}},
	{ObjectMeta: metav1.ObjectMeta{Name: "beta", Labels: map[string]string{"team": "blue"}}},
}

// important is a class of pods that go first but evict nobody: what we plan for is
// room, not preemption.
var important = &schedulingv1.PriorityClass{
	ObjectMeta: metav1.ObjectMeta{Name: "important"}, Value: 1000, PreemptionPolicy: &never,
}

var never = corev1.PreemptNever

// file returns the scenario as the manifests that `packhorse-agent simulate` reads.
func (s *scenario) file() ([]byte, error) {
	var out bytes.Buffer
	var problem error
	write := func(apiVersion, kind string, object any) {
		data, err := yaml.Marshal(object)
		if err != nil {
			problem = err
			return
		}
		fmt.Fprintf(&out, "---\napiVersion: %s\nkind: %s\n%s", apiVersion, kind, data)
	}
	write("scheduling.k8s.io/v1", "PriorityClass", important)
	for _, n := range namespaces {
		write("v1", "Namespace", n)
	}
	for i, c := range claims {
		write("v1", "PersistentVolumeClaim", c)
		write("v1", "PersistentVolume", volumes[i])
	}
	for _, n := range csiNodes {
		write("storage.k8s.io/v1", "CSINode", n)
	}
	for _, p := range s.Provisioners {
		write(api.ProvisionerGVK.GroupVersion().String(), api.ProvisionerKind, p)
	}
	for _, n := range s.Nodes {
		write("v1", "Node", n)
	}
	for _, d := range s.DaemonSets {
		write("apps/v1", "DaemonSet", d)
	}
	for _, list := range [][]*corev1.Pod{s.Running, s.Pods} {
		for _, p := range list {
			write("v1", "Pod", p)
		}
	}
	return out.Bytes(), problem
}

// input reads the scenario back from its file, as a decision's input.
func (s *scenario) input() (decide.Input, error) {
	data, err := s.file()
	if err != nil {
		return decide.Input{}, fmt.Errorf("write the scenario: %w", err)
	}
	set, err := manifesttest.Parse("scenario.yaml", data)
	if err != nil {
		return decide.Input{}, fmt.Errorf("read the scenario: %w", err)
	}
	source := simulate.Source{
		Set: set, Catalogue: offer.Embedded(), Region: region, Now: time.Now(),
		Settings: decide.Settings{NodeCost: decide.DefaultNodeCost},
	}
	in, _, err := source.Input()
	if err != nil {
		return decide.Input{}, fmt.Errorf("make the input: %w", err)
	}
	for _, p := range in.Provisioners {
		if p.Blocked != "" {
			return decide.Input{}, fmt.Errorf("make the input: provisioner %s: %s", p.Spec.Name, p.Blocked)
		}
	}
	return in, nil
}

// copy returns a copy that shares nothing with the scenario.
func (s *scenario) copy() *scenario {
	return &scenario{
		Provisioners: copies(s.Provisioners), Nodes: copies(s.Nodes), DaemonSets: copies(s.DaemonSets),
		Running: copies(s.Running), Pods: copies(s.Pods),
	}
}

func copies[T interface{ DeepCopy() T }](in []T) []T {
	var out []T
	for _, x := range in {
		out = append(out, x.DeepCopy())
	}
	return out
}
