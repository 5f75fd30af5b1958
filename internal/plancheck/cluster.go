package plancheck

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/simulate"
)

// Profile reports a node profile that is missing or not ready.
func Profile(p *api.Provisioner, templates []*api.AWSNodeTemplate) finding.List {
	ref := p.Spec.ProviderRef
	if ref == nil {
		return nil
	}
	const path = "spec.providerRef.name"
	i := slices.IndexFunc(templates, func(t *api.AWSNodeTemplate) bool { return t.Name == ref.Name })
	if i < 0 {
		return finding.List{doubtful(path, finding.Say("node profile %q does not exist", ref.Name),
			finding.Say("until it does, nothing is bought. Refer to it as packhorse_node_profile.<name>.name, so that it is made first"))}
	}
	ready := meta.FindStatusCondition(templates[i].Status.Conditions, "Ready")
	if ready != nil && ready.Status == metav1.ConditionFalse {
		return finding.List{doubtful(path, finding.Say("node profile %q is not ready: %s", ref.Name, ready.Message),
			finding.Say("until it is, nothing is bought"))}
	}
	return nil
}

// Overlaps reports other Provisioners of the same weight that serve the same pods.
func Overlaps(p *api.Provisioner, all []*api.Provisioner) finding.List {
	var out finding.List
	for _, other := range all {
		if other.Name == p.Name || other.Source == nil && ptr.Deref(other.Spec.Weight, 0) != ptr.Deref(p.Spec.Weight, 0) || !SamePods(p, other) {
			continue
		}
		if other.Source != nil {
			out = append(out, doubtful("", finding.Say("%s serves the same pods", other.Title()),
				finding.Say("as long as Karpenter serves it, both may buy a node for the same pod. Delete the one or the other, or tell them apart by taints or requirements")))
			continue
		}
		out = append(out, doubtful("spec.weight", finding.Say("provisioner %s of the same weight %d serves the same pods", other.Name, ptr.Deref(p.Spec.Weight, 0)),
			finding.Say("which of them buys is decided by price alone. Give one a higher weight, or tell them apart by taints or requirements")))
	}
	return out
}

// SamePods reports whether there may be a pod that both Provisioners would buy a node for:
// their taints are the same, and their requirements go together.
func SamePods(a, b *api.Provisioner) bool {
	if !sameTaints(a, b) {
		return false
	}
	both := without(match.ForProvisioner(a.Defaulted())).And(without(match.ForProvisioner(b.Defaulted())))
	_, apart := both.Unmeetable()
	return !apart
}

// without leaves out the label that tells Provisioners apart.
func without(r match.Requirements) match.Requirements {
	return slices.DeleteFunc(slices.Clone(r), func(q match.Requirement) bool { return q.Key == api.LabelProvisioner })
}

// sameTaints reports whether the same pods tolerate the taints of both.
func sameTaints(a, b *api.Provisioner) bool {
	has := func(all []corev1.Taint, t corev1.Taint) bool {
		return slices.ContainsFunc(all, func(o corev1.Taint) bool { return o.Key == t.Key && o.Value == t.Value && o.Effect == t.Effect })
	}
	for _, pair := range [][2][]corev1.Taint{{a.Spec.Taints, b.Spec.Taints}, {b.Spec.Taints, a.Spec.Taints}} {
		for _, t := range pair[0] {
			if t.Effect != corev1.TaintEffectPreferNoSchedule && !has(pair[1], t) {
				return false
			}
		}
	}
	return true
}

// Replacement is what a change does to nodes that are there: those that would be replaced because of it, in order.
type Replacement []due

// due is a node that has drifted or expired; goes tells whether it would be removed
// at once.
type due struct {
	node   string
	reason decide.RemovalReason
	goes   bool
}

// Replaced says which nodes a changed Provisioner or node profile would replace that would stay
// without the change. Both are of the same cluster.
func Replaced(ctx context.Context, now, changed simulate.Cluster) Replacement {
	before := replaced(ctx, now)
	return slices.DeleteFunc(replaced(ctx, changed), func(n due) bool {
		return slices.ContainsFunc(before, func(b due) bool { return b.node == n.node })
	})
}

func replaced(ctx context.Context, c simulate.Cluster) (out Replacement) {
	plan := decide.Decide(c.Input(ctx))
	add := func(node string, reason decide.RemovalReason, goes bool) {
		if reason == decide.Drifted || reason == decide.Expired {
			out = append(out, due{node, reason, goes})
		}
	}
	for _, r := range plan.Removals {
		add(r.Node, r.Reason, true)
	}
	for _, k := range plan.Kept {
		add(k.Node, k.Reason, false)
	}
	slices.SortFunc(out, func(a, b due) int { return strings.Compare(a.node, b.node) })
	return out
}

// Findings tell of a replacement, for each of its reasons; nil where nothing is replaced.
func (r Replacement) Findings() finding.List {
	return slices.Concat(
		r.finding(decide.Drifted, "", func(nodes string) finding.Message {
			return finding.Say("they no longer match the configuration: %s. Set %s to false to keep them", nodes, finding.Field{Path: "spec.disruption.drift"})
		}),
		r.finding(decide.Expired, "spec.ttlSecondsUntilExpired", func(nodes string) finding.Message {
			return finding.Say("they are older than it allows: %s. Raise it to keep them", nodes)
		}),
	)
}

func (r Replacement) finding(reason decide.RemovalReason, path string, advice func(nodes string) finding.Message) finding.List {
	var nodes []string
	atOnce := 0
	for _, n := range r {
		if n.reason != reason {
			continue
		}
		nodes = append(nodes, n.node)
		if n.goes {
			atOnce++
		}
	}
	if len(nodes) == 0 {
		return nil
	}
	pace := fmt.Sprintf("%d at once and the others as disruption budgets allow", atOnce)
	if atOnce == 0 {
		pace = "none at once: disruption budgets or protections hold all of them for now"
	}
	return finding.List{doubtful(path, finding.Say("nodes that will be replaced: %d, %s", len(nodes), pace), advice(first(nodes)))}
}

// Departure is what the removal of a Provisioner does.
type Departure struct {
	Nodes, Pods int
	// Budgets are those that allow no eviction of one of the pods now, as
	// namespace/name, in order.
	Budgets []string
}

// Leaving says what goes with a Provisioner.
func Leaving(name string, s *cluster.Snapshot) Departure {
	mine := map[string]bool{}
	for n := range s.EachNode() {
		if n.Provisioner == name {
			mine[n.Name] = true
		}
	}
	out := Departure{Nodes: len(mine)}
	for p := range s.EachPod() {
		if !mine[p.NodeName] || p.Template.BelongsToNode() {
			continue
		}
		out.Pods++
		for _, b := range s.PodDisruptionBudgets {
			if b.Forbids(p) && b.Selects(p.Namespace, p.Template.Labels) {
				out.Budgets = append(out.Budgets, b.Namespace+"/"+b.Name)
			}
		}
	}
	slices.Sort(out.Budgets)
	out.Budgets = slices.Compact(out.Budgets)
	return out
}

// Summary tells what goes with the named object.
func (d Departure) Summary(object string) string {
	return fmt.Sprintf("%s: destroying it drains its nodes (%d) with their pods (%d)", object, d.Nodes, d.Pods)
}

// Detail says what will hold the removal up.
func (d Departure) Detail() string {
	if len(d.Budgets) == 0 {
		return "Their pods are evicted as disruption budgets allow, and then the instances are terminated."
	}
	return "These PodDisruptionBudgets allow no eviction now and will hold it up until they do: " + strings.Join(d.Budgets, ", ") + "."
}
