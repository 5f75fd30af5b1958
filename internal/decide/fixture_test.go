package decide

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// noon is the time of all decisions in tests.
var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// size builds an instance type of the fixture: 100m and 10Mi are kept for the
// system, spot is sold in zones a and b, on-demand in a, b and c. The price grows
// with CPU and memory: 10 cents for a core and 10 cents for 10^9 bytes.
func size(name string, cpu, gib, pods int64) offer.InstanceType {
	t := offer.InstanceType{
		Name: name,
		Labels: map[string][]string{
			api.LabelInstanceType:   {name},
			api.LabelArch:           {"amd64"},
			api.LabelOS:             {"linux"},
			api.LabelRegion:         {"here"},
			api.LabelInstanceCPU:    {strconv.FormatInt(cpu, 10)},
			api.LabelInstanceMemory: {strconv.FormatInt(gib*1024, 10)},
		},
		Capacity: amount.List{amount.CPU: cpu * 1000, amount.Memory: gib << 30, amount.Pods: pods, amount.EphemeralStorage: 20 << 30},
		Overhead: amount.List{amount.CPU: 100, amount.Memory: 10 << 20},
	}
	price := offer.Price(cpu*100_000 + (gib<<30)/10_000)
	for _, zone := range []string{"a", "b", "c"} {
		t.Offerings = append(t.Offerings, offer.Offering{Zone: zone, CapacityType: api.CapacityOnDemand, Price: price})
		if zone != "c" {
			t.Offerings = append(t.Offerings, offer.Offering{Zone: zone, CapacityType: api.CapacitySpot, Price: price})
		}
	}
	t.Sort()
	return t
}

func label(t offer.InstanceType, key string, values ...string) offer.InstanceType {
	t.Labels = maps.Clone(t.Labels)
	t.Labels[key] = values
	return t
}

func with(t offer.InstanceType, resource string, n int64) offer.InstanceType {
	t.Capacity = t.Capacity.Plus(amount.List{resource: n})
	return t
}

// catalogueA is the small catalogue of the behaviour facts.
func catalogueA() []offer.InstanceType {
	types := []offer.InstanceType{
		label(size("arm", 16, 128, 5), api.LabelArch, "arm64"),
		with(size("gpu-a", 4, 4, 5), "gpu-a", 2),
		with(size("gpu-b", 4, 4, 5), "gpu-b", 2),
		size("onepod", 4, 4, 1),
		size("small", 2, 2, 5),
		size("std", 4, 4, 5),
	}
	for i := range types {
		systems := []string{"darwin", "linux", "windows"}
		if types[i].Name == "arm" {
			systems = []string{"darwin", "ios", "linux", "windows"}
		}
		types[i] = label(types[i], api.LabelOS, systems...)
	}
	return types
}

// ladder is n types that grow by one CPU, 2 GiB and ten pods.
func ladder(n int) []offer.InstanceType {
	var out []offer.InstanceType
	for i := range n {
		out = append(out, size(fmt.Sprintf("ladder-%d", i), int64(i+1), int64(2*(i+1)), int64(10*(i+1))))
	}
	return byName(out)
}

// grid is every combination of size, zone, capacity type, OS and architecture,
// each type with one offering.
func grid() []offer.InstanceType {
	var out []offer.InstanceType
	for _, cpu := range []int64{1, 2, 4, 8, 16, 32, 64} {
		for _, gib := range []int64{1, 2, 4, 8, 16, 32, 64, 128} {
			for _, zone := range []string{"a", "b", "c"} {
				for _, capacityType := range []string{api.CapacitySpot, api.CapacityOnDemand} {
					for _, os := range []string{"linux", "windows"} {
						for _, arch := range []string{"amd64", "arm64"} {
							name := fmt.Sprintf("%d-%d-%s-%s-%s-%s", cpu, gib, zone, capacityType, os, arch)
							t := label(label(size(name, cpu, gib, 5), api.LabelOS, os), api.LabelArch, arch)
							t.Offerings = slices.DeleteFunc(t.Offerings, func(o offer.Offering) bool { return o.Zone != zone || o.CapacityType != capacityType })
							if len(t.Offerings) == 0 {
								t.Offerings = []offer.Offering{{Zone: zone, CapacityType: capacityType, Price: offer.Price(cpu*100_000 + (gib<<30)/10_000)}}
							}
							out = append(out, t)
						}
					}
				}
			}
		}
	}
	return byName(out)
}

func byName(types []offer.InstanceType) []offer.InstanceType {
	slices.SortFunc(types, func(a, b offer.InstanceType) int { return strings.Compare(a.Name, b.Name) })
	return types
}

// short forms of well-known keys in manifests of the facts.
var short = strings.NewReplacer(
	"$zone", api.LabelZone, "$arch", api.LabelArch, "$os", api.LabelOS, "$type", api.LabelInstanceType,
	"$capacity", api.LabelCapacityType, "$provisioner", api.LabelProvisioner, "$host", api.LabelHostname,
	"$cpu", api.LabelInstanceCPU,
)

// anyCapacity is the requirement of the facts' default Provisioner.
const anyCapacity = "{key: $capacity, operator: In, values: [spot, on-demand]}"

// provisioner reads the spec of a Provisioner; the name defaults to default.
// Without requirements on the capacity type both are allowed, and drift is off
// unless the text speaks of disruption.
func provisioner(t testing.TB, name, spec string) *api.Provisioner {
	t.Helper()
	p := &api.Provisioner{}
	p.Name = name
	read(t, spec, &p.Spec)
	if !slices.ContainsFunc(p.Spec.Requirements, func(r api.Requirement) bool { return r.Key == api.LabelCapacityType }) {
		var both api.Requirement
		read(t, anyCapacity, &both)
		p.Spec.Requirements = append(p.Spec.Requirements, both)
	}
	if p.Spec.Disruption == nil {
		off := false
		p.Spec.Disruption = &api.Disruption{Drift: &off}
	}
	return p
}

func read(t testing.TB, text string, into any) {
	t.Helper()
	if !strings.HasPrefix(text, "{") {
		text = "{" + text + "}"
	}
	if err := yaml.Unmarshal([]byte(short.Replace(text)), into); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
}

// world is the input of a fact while it is put together.
type world struct {
	t         testing.TB
	in        Input
	types     []offer.InstanceType
	templates *cluster.Templates
}

func newWorld(t testing.TB, types []offer.InstanceType) *world {
	return &world{t: t, types: types, templates: cluster.NewTemplates(), in: Input{Now: noon, Snapshot: &cluster.Snapshot{}, Prove: true}}
}

// provisioner adds one with the world's instance types.
func (w *world) provisioner(name, spec string) *world {
	w.in.Provisioners = append(w.in.Provisioners, Provisioner{Spec: provisioner(w.t, name, spec), Types: w.types})
	return w
}

// pods adds n pending pods, named after the prefix and numbered from 1 where
// there are several. The text holds labels, and the spec's fields: requests are
// given as cpu and memory.
func (w *world) pods(n int, prefix, text string) *world {
	for i := range n {
		name := prefix
		if n > 1 {
			name = fmt.Sprintf("%s%d", prefix, i+1)
		}
		w.add(w.pod(name, text))
	}
	return w
}

func (w *world) add(p *corev1.Pod) {
	if got, ok := w.templates.Pod(p); ok {
		w.in.Snapshot.Pods = append(w.in.Snapshot.Pods, got)
	}
}

// podText is the short notation of pods.
type podText struct {
	corev1.PodSpec `json:",inline"`

	Labels    map[string]string   `json:"labels"`
	Namespace string              `json:"namespace"`
	Requests  corev1.ResourceList `json:"requests"`
	Limits    corev1.ResourceList `json:"limits"`
	Ports     []corev1.ContainerPort
	Owner     string            `json:"owner"`
	Marks     map[string]string `json:"annotations"`
}

func (w *world) pod(name, text string) *corev1.Pod {
	w.t.Helper()
	var spec podText
	read(w.t, text, &spec)
	p := &corev1.Pod{Spec: spec.PodSpec}
	p.Name, p.Namespace, p.UID = name, "default", "uid-"+"of"
	if spec.Namespace != "" {
		p.Namespace = spec.Namespace
	}
	p.Labels, p.Annotations = spec.Labels, spec.Marks
	if len(p.Spec.Containers) == 0 {
		p.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: spec.Requests, Limits: spec.Limits}, Ports: spec.Ports}}
	}
	controller := true
	if kind, owner, ok := strings.Cut(spec.Owner, "/"); ok {
		p.OwnerReferences = append(p.OwnerReferences, ownerReference(kind, owner, &controller))
	}
	p.Status.Phase = corev1.PodPending
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
	return p
}

// running adds a pod that runs on a node, owned by a ReplicaSet unless the text
// says otherwise.
func (w *world) running(name, node, text string) *world {
	p := w.pod(name, text)
	p.Spec.NodeName = node
	p.Status.Phase = corev1.PodRunning
	p.Status.Conditions = nil
	if len(p.OwnerReferences) == 0 {
		controller := true
		p.OwnerReferences = append(p.OwnerReferences, ownerReference("ReplicaSet", "web", &controller))
	}
	w.add(p)
	return w
}

// finished adds a pod that has run to its end on a node.
func (w *world) finished(name, node, text string) *world {
	p := w.pod(name, text)
	p.Spec.NodeName, p.Status.Phase, p.Status.Conditions = node, corev1.PodSucceeded, nil
	w.add(p)
	return w
}

// node adds a node that is up, of an instance type of the world.
func (w *world) node(name, typ, zone string, change func(*cluster.Node)) *world {
	i := slices.IndexFunc(w.types, func(t offer.InstanceType) bool { return t.Name == typ })
	if i < 0 {
		w.t.Fatalf("no instance type %s", typ)
	}
	t := w.types[i]
	n := cluster.Node{
		Name: name, ProviderID: "aws:///" + zone + "/i-" + name, Provisioner: "default",
		Labels: map[string]string{
			api.LabelZone: zone, api.LabelCapacityType: api.CapacityOnDemand, api.LabelHostname: name,
			api.LabelProvisioner: "default", api.LabelInitialized: "true",
		},
		Annotations: map[string]string{},
		Capacity:    t.Capacity, Allocatable: t.Allocatable(),
		Ready: true, Initialized: true, Created: noon.Add(-time.Hour), ReadySince: noon.Add(-time.Hour),
		Finalizers: []string{api.Finalizer},
	}
	for key, values := range t.Labels {
		n.Labels[key] = values[0]
		if slices.Contains(values, "linux") {
			n.Labels[key] = "linux"
		}
	}
	if change != nil {
		change(&n)
	}
	w.in.Snapshot.Nodes = append(w.in.Snapshot.Nodes, n)
	return w
}

// ofOthers makes a node one of a managed node group, which has none of the marks that the agent and Karpenter set.
func ofOthers(n *cluster.Node) {
	n.Provisioner, n.Initialized, n.Finalizers = "", false, nil
	delete(n.Labels, api.LabelProvisioner)
	delete(n.Labels, api.LabelInitialized)
}

// daemonSet adds a DaemonSet whose pods are described like pods.
func (w *world) daemonSet(name, text string) *world {
	p := w.pod(name, text)
	p.Status.Conditions = nil
	controller := true
	p.OwnerReferences = append(p.OwnerReferences[:0], ownerReference("DaemonSet", name, &controller))
	got, _ := w.templates.Pod(p)
	w.in.Snapshot.DaemonSets = append(w.in.Snapshot.DaemonSets, cluster.DaemonSet{Namespace: "default", Name: name, Template: got.Template})
	return w
}

func (w *world) decide() Plan {
	w.in.Snapshot.Sort()
	slices.SortFunc(w.in.Provisioners, func(a, b Provisioner) int { return strings.Compare(a.Spec.Name, b.Spec.Name) })
	return Decide(w.in)
}
