package launch

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/stock"
)

// seller is a Provisioner that sells the simulated catalogue.
func seller(edits ...func(*api.ProvisionerSpec)) *view.Provisioner {
	raw := &api.Provisioner{}
	raw.Name = "default"
	for _, edit := range edits {
		edit(&raw.Spec)
	}
	return &view.Provisioner{Raw: raw, Spec: raw.Defaulted(), Market: offer.Market{Types: stock.Catalogue(), ProfileHash: "profile"}}
}

func limitCPU(cores string) func(*api.ProvisionerSpec) {
	return func(s *api.ProvisionerSpec) {
		s.Limits = &api.Limits{Resources: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cores)}}
	}
}

// A limit on nodes counts those that exist and those that are about to be bought.
func TestWithinLimitOfNodes(t *testing.T) {
	p := seller(func(s *api.ProvisionerSpec) {
		s.Limits = &api.Limits{Resources: corev1.ResourceList{amount.Nodes: resource.MustParse("2")}}
	})
	v := verifier(cluster.Node{Provisioner: "default"}, cluster.Node{Provisioner: "other"})
	got := withinLimits(v, orders(viewOf(p), []*decide.Machine{machine("a", "c5.large"), machine("b", "m5.large")}))
	if len(got) != 1 {
		t.Errorf("%d orders are left, want 1", len(got))
	}
}

// A limit on one resource that is exceeded already stops only machines that have some of it.
func TestExceededLimitStopsWhatAddsToIt(t *testing.T) {
	const gpu = "nvidia.com/gpu"
	p := seller(limitCPU("100"), func(s *api.ProvisionerSpec) { s.Limits.Resources[gpu] = resource.MustParse("0") })
	for i := range p.Market.Types {
		if t := &p.Market.Types[i]; t.Name == "m5.large" {
			t.Capacity = t.Capacity.Plus(amount.List{gpu: 1})
		}
	}
	v := verifier(cluster.Node{Provisioner: "default", Capacity: amount.List{gpu: 2}})
	got := withinLimits(v, orders(viewOf(p), []*decide.Machine{machine("a", "c5.large", "m5.large"), machine("b", "m5.large")}))
	if len(got) != 1 || !slices.Equal(got[0].Candidates, candidates("c5.large")) {
		t.Errorf("got %d orders, want the one without GPUs: %+v", len(got), got)
	}
}

// An order that cannot offer all that minValues demand within the limits is dropped.
func TestWithinLimitsKeepsMinValues(t *testing.T) {
	for name, needed := range map[string][]offer.Candidate{"needed": candidates("c5.large", "c5.xlarge"), "not needed": nil} {
		t.Run(name, func(t *testing.T) {
			m := machine("a", "c5.large", "c5.xlarge")
			m.Needed = needed
			got := withinLimits(verifier(), orders(viewOf(seller(limitCPU("3"))), []*decide.Machine{m}))
			if (len(got) == 0) != (needed != nil) {
				t.Errorf("%d orders are left", len(got))
			}
		})
	}
}

func candidates(types ...string) []offer.Candidate {
	var out []offer.Candidate
	for _, t := range types {
		out = append(out, offer.Candidate{InstanceType: t, Zone: "sim-1a", CapacityType: api.CapacityOnDemand})
	}
	return out
}

func machine(name string, types ...string) *decide.Machine {
	return &decide.Machine{Name: name, Provisioner: "default", Candidates: candidates(types...)}
}

func verifier(nodes ...cluster.Node) *view.Verifier {
	return &view.Verifier{Snapshot: &cluster.Snapshot{Nodes: nodes}}
}

func viewOf(p *view.Provisioner) *view.View {
	return &view.View{Provisioners: []*view.Provisioner{p}, ByName: map[string]*view.Provisioner{p.Raw.Name: p}}
}

func TestWithinLimits(t *testing.T) {
	cases := map[string]struct {
		limit    string
		existing int64 // cores
		machines []*decide.Machine
		want     [][]string // candidates of each order that is left
	}{
		"a fallback that fits stays": {
			limit: "8", machines: []*decide.Machine{machine("a", "c5.large", "c5.xlarge")},
			want: [][]string{{"c5.large", "c5.xlarge"}},
		},
		"a fallback that exceeds the limit goes": {
			limit: "3", machines: []*decide.Machine{machine("a", "c5.large", "c5.xlarge")},
			want: [][]string{{"c5.large"}},
		},
		"all machines may come as the fallback": {
			limit: "6", machines: []*decide.Machine{machine("a", "c5.large", "c5.xlarge"), machine("b", "c5.large", "c5.xlarge")},
			want: [][]string{{"c5.large"}},
		},
		"one order's fallback leaves no room for the other's": {
			limit: "6", machines: []*decide.Machine{machine("a", "c5.large", "c5.xlarge"), machine("b", "m5.large", "m5.xlarge")},
			want: [][]string{{"c5.large", "c5.xlarge"}, {"m5.large"}},
		},
		"what exists counts": {
			limit: "8", existing: 6, machines: []*decide.Machine{machine("a", "c5.large", "c5.xlarge")},
			want: [][]string{{"c5.large"}},
		},
		"an order that does not fit any more is dropped": {
			limit: "8", existing: 8, machines: []*decide.Machine{machine("a", "c5.large")},
		},
		"a dropped order leaves its room to the others": {
			limit: "6", machines: []*decide.Machine{machine("a", "c5.2xlarge"), machine("b", "c5.large")},
			want: [][]string{{"c5.large"}},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := seller(limitCPU(c.limit))
			v := verifier(
				cluster.Node{Provisioner: "default", Capacity: amount.List{amount.CPU: c.existing * 1000}},
				cluster.Node{Provisioner: "other", Capacity: amount.List{amount.CPU: 64_000}},
			)
			var got [][]string
			for _, o := range withinLimits(v, orders(viewOf(p), c.machines)) {
				var types []string
				for _, x := range o.Candidates {
					types = append(types, x.InstanceType)
				}
				got = append(got, types)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// Identical machines become one order.
func TestOrders(t *testing.T) {
	p := seller(func(s *api.ProvisionerSpec) { s.Labels = map[string]string{"team": "a"} })
	tainted := machine("c", "c5.large")
	tainted.Taints = []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}}
	chosen := machine("d", "c5.large")
	chosen.Labels = map[string]string{"team": "a", "tier": "web"}
	got := orders(viewOf(p), []*decide.Machine{machine("a", "c5.large"), machine("b", "c5.large"), tainted, chosen, machine("e", "m5.large")})
	counts := make([]int, len(got))
	for i, o := range got {
		counts[i] = o.Count
	}
	if want := []int{2, 1, 1, 1}; !slices.Equal(counts, want) {
		t.Fatalf("orders of %v machines, want %v", counts, want)
	}
	if diff := cmp.Diff(map[string]string{"team": "a", "tier": "web", api.LabelProvisioner: "default"}, got[2].Node.Labels); diff != "" {
		t.Errorf("labels -want +got:\n%s", diff)
	}
	want := map[string]string{
		api.TagLabelPrefix + "tier": "web", api.AnnotationProvisionerHash: p.Raw.Hash(), api.AnnotationProfileHash: "profile",
	}
	if diff := cmp.Diff(want, got[2].Tags); diff != "" {
		t.Errorf("tags -want +got:\n%s", diff)
	}
}

// A node that is made from an instance's tags is the one that was made at its launch.
func TestAdoptedNodeIsTheSame(t *testing.T) {
	p := seller(func(s *api.ProvisionerSpec) {
		s.Labels = map[string]string{"team": "a"}
		s.Requirements = []api.Requirement{{Key: "tier", Operator: api.OpIn, Values: []string{"web", "db"}}}
		s.Annotations = map[string]string{"note": "x"}
		s.Taints = []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}}
		s.StartupTaints = []corev1.Taint{{Key: "agent", Effect: corev1.TaintEffectNoExecute}}
	})
	m := machine("a", "c5.large")
	m.Labels = map[string]string{"team": "a", "tier": "web"}
	m.Taints, m.StartupTaints = p.Spec.Spec.Taints, p.Spec.Spec.StartupTaints
	o := newOrder(p, m)
	i := offer.Instance{
		ID: "i-1", ProviderID: "aws:///sim-1a/i-1", NodeName: "node-1", LaunchID: o.LaunchID, Provisioner: "default",
		InstanceType: "c5.large", Zone: "sim-1a", CapacityType: api.CapacityOnDemand, Tags: o.Tags,
	}
	if diff := cmp.Diff(view.NodeFor(p, m, i), view.AdoptedNode(p, i)); diff != "" {
		t.Errorf("-at launch +adopted:\n%s", diff)
	}
	if price := offer.PriceOf(view.AdoptedNode(p, i).Annotations); price != 85_000 {
		t.Errorf("price %d micro-dollars, want 85000", price)
	}
}

// The cloud provider gives the deprecated labels only to Nodes that kubelets have created.
func TestNodesHaveTheDeprecatedLabels(t *testing.T) {
	p := seller(func(*api.ProvisionerSpec) {})
	labels := view.NodeFor(p, machine("a", "c5.large"), offer.Instance{
		ID: "i-1", NodeName: "node-1", InstanceType: "c5.large", Zone: "sim-1a", CapacityType: api.CapacityOnDemand,
	}).Labels
	for deprecated, key := range map[string]string{
		"beta.kubernetes.io/arch":                  api.LabelArch,
		"beta.kubernetes.io/os":                    api.LabelOS,
		"beta.kubernetes.io/instance-type":         api.LabelInstanceType,
		"failure-domain.beta.kubernetes.io/zone":   api.LabelZone,
		"failure-domain.beta.kubernetes.io/region": api.LabelRegion,
	} {
		if got := labels[deprecated]; got == "" || got != labels[key] {
			t.Errorf("%s = %q, want %q", deprecated, got, labels[key])
		}
	}
	if got, set := labels["topology.ebs.csi.aws.com/zone"]; set {
		t.Errorf("the label of the CSI driver is %q", got)
	}
}

// Tags give a node no label that its Provisioner does not allow: whoever may tag
// instances cannot draw pods to one.
func TestTagsDoNotLabelAtWill(t *testing.T) {
	p := seller(func(s *api.ProvisionerSpec) {
		s.Labels = map[string]string{"team": "a"}
		s.Requirements = []api.Requirement{
			{Key: "node-restriction.kubernetes.io/zone", Operator: api.OpIn, Values: []string{"open"}},
			{Key: "tier", Operator: api.OpExists},
		}
	})
	i := offer.Instance{
		ID: "i-1", ProviderID: "aws:///sim-1a/i-1", NodeName: "node-1", Provisioner: "default",
		InstanceType: "c5.large", Zone: "sim-1a", CapacityType: api.CapacityOnDemand, Tags: map[string]string{},
	}
	without := view.AdoptedNode(p, i)
	for label, value := range map[string]string{
		"node-restriction.kubernetes.io/zone":   "payments", // not among the values
		"node-restriction.kubernetes.io/secure": "true",     // not mentioned
		"node-role.kubernetes.io/control-plane": "",
		"kubernetes.io/hostname":                "other",
		"karpenter.sh/initialized":              "true",
		"karpenter.sh/provisioner-name":         "other",
		"example.com/team":                      "b",
		"team":                                  "b",
		"tier":                                  "db --v=9", // no label can have it
	} {
		i.Tags[api.TagLabelPrefix+label] = value
	}
	if diff := cmp.Diff(without, view.AdoptedNode(p, i)); diff != "" {
		t.Errorf("-without tags +with them:\n%s", diff)
	}
	i.Tags[api.TagLabelPrefix+"tier"], i.Tags[api.TagLabelPrefix+"node-restriction.kubernetes.io/zone"] = "db", "open"
	if got := view.AdoptedNode(p, i).Labels; got["tier"] != "db" || got["node-restriction.kubernetes.io/zone"] != "open" {
		t.Errorf("labels that the Provisioner allows are lost: %v", got)
	}
}
