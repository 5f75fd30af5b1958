package simulate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/validate"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/manifest"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/kinds"
)

// FromManifests takes files for a whole cluster, NodePools for Provisioners. The warnings say what had to be
// assumed: a Provisioner where there is none, node profiles that are missing, and capacity
// reservations that files cannot hold.
func FromManifests(set *manifest.Set) (*cluster.Survey, []string) {
	out := &cluster.Survey{Snapshot: set.Snapshot, Provisioners: set.Provisioners, NodeTemplates: slices.Clone(set.NodeTemplates)}
	adopt(set.Snapshot.Nodes, set.Provisioners)
	warnings := set.Warnings()
	if len(out.Provisioners) == 0 {
		out.Provisioners = []*api.Provisioner{{ObjectMeta: metav1.ObjectMeta{Name: "default"}}}
		warnings = append(warnings, `there is no Provisioner in the files: one named "default" with the defaults of the API is assumed, which buys on demand, for amd64, and of the categories c, m and r, so nothing has a GPU; add a file with your own`)
	}
	if lost := elsewhere(set.Snapshot); len(lost) > 0 {
		warnings = append(warnings, fmt.Sprintf("pods run on nodes that are in no file, such as %s on %s (%d in all): they are left out, and do not count for the constraints of other pods; add the nodes", lost[0], lost[0].NodeName, len(lost)))
	}
	for _, t := range set.NodeTemplates {
		if t.Spec.Class != nil && len(t.Spec.Class.Reservations) > 0 {
			warnings = append(warnings, t.Title()+" selects capacity reservations, which no file can hold: the plan is without them, and the agent would use them first")
		}
	}
	for _, p := range out.Provisioners {
		if errs := validate.Provisioner(p).Errors(); len(errs) > 0 {
			if p.Source == nil { // what of a NodePool is not supported is among the warnings already
				warnings = append(warnings, fmt.Sprintf("Provisioner %s is invalid and is left out: %s", p.Name, errs.Summary()))
			}
			continue
		}
		ref := p.Spec.ProviderRef
		if ref == nil || slices.ContainsFunc(out.NodeTemplates, func(t *api.AWSNodeTemplate) bool { return t.Name == ref.Name }) {
			continue
		}
		out.NodeTemplates = append(out.NodeTemplates, &api.AWSNodeTemplate{ObjectMeta: metav1.ObjectMeta{Name: ref.Name}})
		class := api.NodeTemplateKind
		if p.Source != nil {
			class = kinds.NodeClassKind
		}
		warnings = append(warnings, fmt.Sprintf("%s uses %s %s, which is not among the files: the defaults of a node profile are assumed", p.Title(), class, ref.Name))
	}
	return out, warnings
}

// adopt gives NodePools their nodes, also those that Karpenter has made, as a takeover does.
func adopt(nodes []cluster.Node, provisioners []*api.Provisioner) {
	for i := range nodes {
		n := &nodes[i]
		pool := n.Labels[api.LabelNodePool]
		if n.Provisioner == "" && slices.ContainsFunc(provisioners, func(p *api.Provisioner) bool { return p.Source != nil && p.Name == pool }) {
			n.Provisioner, n.Labels = pool, maps.Clone(n.Labels)
			n.Labels[api.LabelProvisioner] = pool
		}
	}
}

// elsewhere lists the pods that run on nodes which are not in the snapshot.
func elsewhere(s *cluster.Snapshot) []*cluster.Pod {
	nodes := map[string]bool{}
	for n := range s.EachNode() {
		nodes[n.Name] = true
	}
	var out []*cluster.Pod
	for p := range s.EachPod() {
		if p.NodeName != "" && !nodes[p.NodeName] {
			out = append(out, p)
		}
	}
	return out
}

// Combine adds what files describe to a live cluster. An object of the files
// takes the place of a live one of the same name. Of the pods that its workloads would create,
// those are added that a live workload of the same name lacks.
func Combine(live *cluster.Survey, set *manifest.Set) *cluster.Survey {
	a, b := live.Snapshot, set.Snapshot
	declared, bound := split(b.Claims, func(c cluster.Claim) bool { return c.VolumeName != "" })
	named := map[string]bool{}
	for _, d := range set.Documents {
		if d.Known {
			named[d.Object()] = true
		}
	}
	assumed, written := split(b.Namespaces, func(n cluster.Namespace) bool { return named["Namespace "+n.Name] })
	snapshot := &cluster.Snapshot{
		Pods:           overlay(a.Pods, lacking(a.Pods, b.Pods), podName),
		Nodes:          overlay(a.Nodes, b.Nodes, func(n cluster.Node) string { return n.Name }),
		DaemonSets:     overlay(a.DaemonSets, b.DaemonSets, func(d cluster.DaemonSet) string { return d.Namespace + "/" + d.Name }),
		Namespaces:     overlay(overlay(assumed, a.Namespaces, namespaceName), written, namespaceName),
		Claims:         overlay(overlay(declared, a.Claims, claimName), bound, claimName), // where a volume is remains known
		Volumes:        overlay(a.Volumes, b.Volumes, func(v cluster.Volume) string { return v.Name }),
		StorageClasses: overlay(a.StorageClasses, b.StorageClasses, func(c cluster.StorageClass) string { return c.Name }),
	}
	budgets := manifest.PodDisruptionBudgets(set.Budgets, snapshot.Pods) // of live pods too
	snapshot.PodDisruptionBudgets = overlay(a.PodDisruptionBudgets, budgets, func(d cluster.PodDisruptionBudget) string { return d.Namespace + "/" + d.Name })
	snapshot.Sort()
	out := &cluster.Survey{
		Snapshot:      snapshot,
		Rejected:      live.Rejected,
		Hidden:        live.Hidden,
		Provisioners:  overlay(live.Provisioners, set.Provisioners, func(p *api.Provisioner) string { return p.Name }),
		NodeTemplates: overlay(live.NodeTemplates, set.NodeTemplates, func(t *api.AWSNodeTemplate) string { return t.Name }),
	}
	slices.SortFunc(out.Provisioners, func(a, b *api.Provisioner) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(out.NodeTemplates, func(a, b *api.AWSNodeTemplate) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// OfOthers names the pods of a live cluster that wait and that schedulers besides kube-scheduler place. Those that wait in
// files are named when these are read.
func OfOthers(live *cluster.Survey) (warnings []string) {
	waiting := map[string][]*cluster.Pod{}
	for p := range live.Snapshot.EachPod() {
		name := p.Template.SchedulerName
		if p.State == cluster.PodWaiting && p.StopBy.IsZero() && name != corev1.DefaultSchedulerName && !p.Template.BelongsToNode() {
			waiting[name] = append(waiting[name], p)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(waiting)) {
		pods := waiting[name]
		warnings = append(warnings, fmt.Sprintf("pods wait that the scheduler %s places, such as %s (%d in all): nothing is planned for them, because a simulation does not know the agent's option scheduler-name", name, pods[0], len(pods)))
	}
	return warnings
}

func podName(p cluster.Pod) string { return p.String() }

func namespaceName(n cluster.Namespace) string { return n.Name }

func claimName(c cluster.Claim) string { return c.Namespace + "/" + c.Name }

// lacking returns the pods of files without those of workloads that live pods count for, as they would for
// the controller. Pods that files hold as they are stay, and have been counted for their workloads already.
func lacking(live, files []cluster.Pod) []cluster.Pod {
	created, given := split(files, func(p cluster.Pod) bool { return p.Owner.Kind == "" || p.UID != "" })
	names, counts := map[string]bool{}, map[string]int{}
	for i := range given {
		names[given[i].String()] = true
	}
	for i := range live {
		if p := &live[i]; !names[p.String()] {
			names[p.String()] = true
			if p.State != cluster.PodTerminating {
				counts[workload(p)]++
			}
		}
	}
	return append(given, slices.DeleteFunc(created, func(p cluster.Pod) bool {
		if p.Owner.Kind == "StatefulSet" { // its pods keep their names
			return names[p.String()]
		}
		counts[workload(&p)]--
		return counts[workload(&p)] >= 0
	})...)
}

// workload names what the pod is a replica of. A Deployment names its ReplicaSets.
func workload(p *cluster.Pod) string {
	if d := p.Deployment(); d != "" {
		return p.Namespace + "/Deployment/" + d
	}
	return p.Namespace + "/" + p.Owner.Kind + "/" + p.Owner.Name
}

// split divides a list into the elements for which so is false and those for which it is true.
func split[T any](all []T, so func(T) bool) (not, are []T) {
	for _, object := range all {
		if so(object) {
			are = append(are, object)
		} else {
			not = append(not, object)
		}
	}
	return not, are
}

// overlay returns both, without those below that have a namesake above.
func overlay[T any](below, above []T, name func(T) string) []T {
	taken := make(map[string]bool, len(above))
	for _, object := range above {
		taken[name(object)] = true
	}
	out := slices.DeleteFunc(slices.Clone(below), func(object T) bool { return taken[name(object)] })
	return append(out, above...)
}
