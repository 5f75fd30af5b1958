package decide

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/retire"
)

// What follows are the rules of plans for those who carry plans out.

// InUse reports whether pods run there that need the node.
func InUse(pods []*cluster.Pod, now time.Time) bool {
	return (&retire.Node{Pods: pods, At: now}).InUse()
}

// AwaitsSuccessor reports whether a pod is being deleted whose successor may not have been created
// yet.
func AwaitsSuccessor(p *cluster.Pod, now time.Time) bool { return retire.AwaitsSuccessor(p, now) }

// Late says in which way a machine has not come up in time, and is empty if it has. Its
// Provisioner may be nil.
func Late(n *cluster.Node, p *api.Provisioner, pods []*cluster.Pod, now time.Time, startupTimeout time.Duration) (message string, late bool) {
	policy := retire.Policy{StartupTimeout: startupTimeout}
	found, late := policy.DidNotComeUp(&retire.Node{Node: n, Provisioner: p, Pods: pods}, now)
	return found.Message, late
}

// KeepsWaiting reports whether a pod has waited since before the node was made, fits its labels and does not tolerate the
// taints that the node was to lose when it came up. Its Provisioner may be nil.
func KeepsWaiting(n *cluster.Node, p *api.Provisioner, waiting []*cluster.Pod) bool {
	before := slices.DeleteFunc(slices.Clone(waiting), func(pod *cluster.Pod) bool { return pod.Created.After(n.Created) })
	return KeepsAway(n, func(t *corev1.Taint) bool { return cluster.Passes(t, p) }, before)
}

// KeepsAway reports whether taints of that kind keep a waiting pod from a node whose labels it fits.
func KeepsAway(n *cluster.Node, kind func(*corev1.Taint) bool, waiting []*cluster.Pod) bool {
	taints := slices.DeleteFunc(slices.Clone(n.Taints), func(t corev1.Taint) bool { return !kind(&t) })
	return slices.ContainsFunc(waiting, func(pod *cluster.Pod) bool {
		if match.Untolerated(taints, pod.Template.Tolerations, false) == nil {
			return false
		}
		places, _ := match.Places(pod.Template, []match.Requirements{nil}) // wherever their volumes are
		return slices.ContainsFunc(places, func(r match.Requirements) bool { return match.Meets(r, n) })
	})
}

// MayLabel reports whether a pod could ask for the label on a node of the Provisioner,
// which has its defaults.
func MayLabel(p *api.Provisioner, key, value string) bool {
	if _, restricted := p.RestrictedLabel(key); restricted || len(validation.IsValidLabelValue(value)) > 0 {
		return false
	}
	_, miss := match.Combined(p, match.ForProvisioner(p), match.Labels(map[string]string{key: value}))
	return !miss.Missed()
}

// Waiting returns the pods without a place that do not run anywhere.
func (p *Plan) Waiting() []Unplaced {
	return slices.DeleteFunc(slices.Clone(p.Unplaced), func(u Unplaced) bool { return u.From != "" })
}
