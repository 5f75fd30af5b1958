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
	pods = slices.DeleteFunc(slices.Clone(pods), func(p *cluster.Pod) bool { return !drain.WaitsFor(p, n) })
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
	p := s.view.ProvisionerOf(n)
	if p == nil {
		return status.Leaving{}, false
	}
	for _, d := range s.options.Deadlines(n, p) {
		passed := s.at.Sub(d.At) > time.Minute // plans since then have left it alone
		switch {
		case passed && d.Reason == decide.NeverUp && !n.Ready:
			continue // it has been up, as its pods show
		case passed && d.Reason == decide.NeverUp:
			why, late := decide.Late(n, p, nil, s.at, s.options.StartupTimeout)
			return status.Leaving{What: why + "; it stays because pods run there", Blocked: true}, late
		case d.Reason == decide.NeverUp && d.At.Sub(s.at) > s.options.StartupTimeout*2/3:
			return status.Leaving{}, false // it has just been launched
		case passed && d.Reason == decide.Unhealthy:
			return status.Leaving{What: "is not ready and stays, because more than a fifth of the nodes have lost contact", Blocked: true}, true
		}
		return status.Leaving{What: untilThen[d.Reason], At: d.At}, true
	}
	return status.Leaving{}, false
}

// untilThen says what becomes of a node at a deadline.
var untilThen = map[decide.RemovalReason]string{
	decide.NeverUp:   "takes long to start; replaced unless it is up by then",
	decide.Unhealthy: "is not ready; replaced unless it becomes ready by then",
	decide.Empty:     "is empty; removed unless pods come",
	decide.Expired:   "expires; replaced first, then drained",
}
