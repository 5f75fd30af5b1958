package agent

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/drain"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/status"
)

// leaving says which nodes go, and when: first those that are going or have a
// reason to go, then by time. The argument says what holds up drains, by node.
func (s *statusSnapshot) leaving(held map[string]string) []status.Leaving {
	pods := s.view.Snapshot.PodsByNode()
	words := s.words()
	out := []status.Leaving{}
	for n := range s.view.Snapshot.EachNode() {
		if n.Doubtful || n.Provisioner == "" && held[n.Name] == "" { // a node whose machine is gone counts as nobody's, and may be held all the same
			continue
		}
		l, ok := words[n.Name]
		if n.Deleting {
			l, ok = draining(n, pods[n.Name], held[n.Name]), true
		}
		if !ok {
			l, ok = s.due(n)
		}
		if ok {
			l.Node = n.Name
			out = append(out, l)
		}
	}
	slices.SortStableFunc(out, func(a, b status.Leaving) int { return a.At.Compare(b.At) })
	return out
}

// words are what the plan says about nodes that have a reason to go.
func (s *statusSnapshot) words() map[string]status.Leaving {
	r := explain.Of(*s.plan, s.view.Snapshot, 0)
	out := map[string]status.Leaving{}
	for i := range r.Removals {
		out[r.Removals[i].Node] = status.Leaving{What: r.Removals[i].Words()}
	}
	for i := range r.Kept {
		out[r.Kept[i].Node] = status.Leaving{What: r.Kept[i].Words(), Blocked: true}
	}
	for i := range r.Chosen {
		c := &r.Chosen[i]
		n := s.view.Snapshot.Node(c.Node)
		if n == nil || decide.Verdict(c.Verdict) == decide.Stay {
			continue
		}
		mark := n.Mark()
		what := fmt.Sprintf("was chosen for removal (%s) and %s", mark.Reason, c.Words())
		if len(mark.Replacements) > 0 {
			what += "; its pods have room on " + strings.Join(mark.Replacements, " and ")
		}
		out[c.Node] = status.Leaving{What: what}
	}
	return out
}

// draining says how far a node is that is being deleted.
func draining(n *cluster.Node, pods []*cluster.Pod, held string) status.Leaving {
	pods = slices.DeleteFunc(slices.Clone(pods), func(p *cluster.Pod) bool { return !drain.WaitsFor(p) })
	what := fmt.Sprintf("has been draining since %s: ", amount.Moment(n.DeletedAt))
	switch {
	case held != "":
		return status.Leaving{What: what + held, Blocked: true}
	case len(pods) == 0:
		return status.Leaving{What: what + "its pods are gone, its instance is being terminated"}
	case len(pods) == 1:
		what += "1 pod is still there"
	default:
		what += fmt.Sprintf("%d pods are still there", len(pods))
	}
	last := slices.MaxFunc(pods, func(a, b *cluster.Pod) int { return a.StopBy.Compare(b.StopBy) })
	if !last.StopBy.IsZero() {
		what += fmt.Sprintf(", and pod %s may take until %s to stop", last, amount.Moment(last.StopBy))
	}
	return status.Leaving{What: what}
}

// due says when a node goes if nothing changes.
func (s *statusSnapshot) due(n *cluster.Node) (status.Leaving, bool) {
	p := s.view.ByName[n.Provisioner]
	if p == nil {
		return status.Leaving{}, false
	}
	late := n.Created.Add(s.options.StartupTimeout)
	switch empty, expires := decide.EmptyUntil(n, p.Spec), decide.ExpiresAt(n, p.Spec); {
	case !n.Initialized && s.at.Sub(n.Created) > s.options.StartupTimeout/3:
		return status.Leaving{What: "takes long to start; replaced unless it is up by then", At: late}, true
	case !n.Initialized:
		return status.Leaving{}, false
	case !n.Ready:
		return s.unready(n)
	case !empty.IsZero():
		return status.Leaving{What: "is empty; removed unless pods come", At: empty}, true
	case !expires.IsZero():
		return status.Leaving{What: "expires; replaced first, then drained", At: expires}, true
	}
	return status.Leaving{}, false
}

// unready says what becomes of a node that has lost contact: until it is ready again, it goes for no other reason.
func (s *statusSnapshot) unready(n *cluster.Node) (status.Leaving, bool) {
	at := n.UnreadySince.Add(s.options.UnhealthyAfter)
	switch {
	case n.UnreadySince.IsZero() || s.options.UnhealthyAfter <= 0:
		return status.Leaving{}, false
	case s.at.Sub(at) > time.Minute: // plans since then have left it alone
		return status.Leaving{What: "is not ready and stays, because more than a fifth of the nodes have lost contact", Blocked: true}, true
	}
	return status.Leaving{What: "is not ready; replaced unless it becomes ready by then", At: at}, true
}
