package timeline

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/packhorse-io/terraform-provider-packhorse/agent"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
)

// The defaults of Cluster Autoscaler.
const (
	halfUsed       = 0.5              // --scale-down-utilization-threshold
	unneededFor    = 10 * time.Minute // --scale-down-unneeded-time
	afterScaleUp   = 10 * time.Minute // --scale-down-delay-after-add
	emptyAtOnce    = 10               // --max-empty-bulk-delete
	autoscalerScan = time.Minute      // --scan-interval is 10 s, which changes little in ten minutes
)

// Autoscaler is a model of the rule by which Cluster Autoscaler removes nodes: those that
// are less than half used and whose pods fit elsewhere, after ten minutes in which both were
// so, and not within ten minutes of a new node. What is bought is bought by Packhorse, so that
// only the rule of removal is compared. It looks at resources, and at no constraint.
func Autoscaler() Policy {
	return Policy{Name: "model of Cluster Autoscaler", Start: func(ctx context.Context, t testing.TB, w *sim.World) func() {
		w.Apply(provisioner())
		process := w.Connect(nil)
		a := agent.New(process.Cluster, process.Cloud, agent.Options{}, hclog.NewNullLogger())
		done := make(chan struct{})
		go func() {
			defer close(done)
			if err := a.Run(ctx); err != nil {
				t.Errorf("the agent ended: %v", err)
			}
		}()
		scaler := &autoscaler{unneeded: map[string]time.Time{}, known: map[string]bool{}}
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			for ctx.Err() == nil {
				for _, name := range scaler.remove(process.Cluster.Snapshot(), time.Now()) {
					if err := process.Cluster.DeleteNode(ctx, name, ""); err != nil && ctx.Err() == nil {
						t.Errorf("delete node %s: %v", name, err)
					}
				}
				select {
				case <-ctx.Done():
				case <-time.After(autoscalerScan):
				}
			}
		}()
		return func() { <-done; <-stopped }
	}}
}

// autoscaler remembers since when nodes are not needed.
type autoscaler struct {
	unneeded map[string]time.Time
	known    map[string]bool
	grown    time.Time
}

// remove names the nodes that go now: the empty ones, or one that is in use.
func (a *autoscaler) remove(s *cluster.Snapshot, now time.Time) []string {
	free, going := map[string]amount.List{}, false
	pods := s.PodsByNode()
	for i := range s.Nodes {
		n := &s.Nodes[i]
		going = going || n.Deleting
		if !a.known[n.Name] {
			a.known[n.Name], a.grown = true, now
		}
		if n.Ready && n.Initialized && !n.Deleting && !n.Unschedulable {
			free[n.Name] = left(n, pods[n.Name])
		}
	}
	var empty, used []string
	for i := range s.Nodes {
		n := &s.Nodes[i]
		moving := workloads(pods[n.Name])
		if free[n.Name] == nil || !underused(n, pods[n.Name]) || !rehouse(n.Name, moving, s, free) {
			delete(a.unneeded, n.Name)
			continue
		}
		if a.unneeded[n.Name].IsZero() {
			a.unneeded[n.Name] = now
		}
		switch {
		case now.Sub(a.unneeded[n.Name]) < unneededFor || now.Sub(a.grown) < afterScaleUp || going:
		case len(moving) == 0:
			empty = append(empty, n.Name)
		default:
			used = append(used, n.Name)
		}
	}
	if len(empty) > 0 {
		return empty[:min(len(empty), emptyAtOnce)]
	}
	return used[:min(len(used), 1)]
}

// left is what the pods leave of a node.
func left(n *cluster.Node, pods []*cluster.Pod) amount.List {
	out := n.Allocatable
	for _, p := range pods {
		out = out.Minus(p.Template.Requests)
	}
	return out
}

func workloads(pods []*cluster.Pod) []*cluster.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(p *cluster.Pod) bool {
		return p.Template.DaemonSet || p.State == cluster.PodTerminating
	})
}

// underused: neither CPU nor memory is half used.
func underused(n *cluster.Node, pods []*cluster.Pod) bool {
	free := left(n, pods)
	for _, name := range []string{amount.CPU, amount.Memory} {
		if all := n.Allocatable[name]; float64(all-free[name]) >= halfUsed*float64(all) {
			return false
		}
	}
	return n.Labels[api.LabelInstanceType] != ""
}

// rehouse takes room on other nodes for all pods of a node, which then takes none itself; or
// for none at all.
func rehouse(from string, pods []*cluster.Pod, s *cluster.Snapshot, free map[string]amount.List) bool {
	taken := map[string]amount.List{}
	for _, p := range pods {
		found := false
		for i := range s.Nodes {
			to := s.Nodes[i].Name
			room, known := taken[to]
			if !known {
				room, known = free[to]
			}
			if found = known && to != from && p.Template.Requests.Fits(room); found {
				taken[to] = room.Minus(p.Template.Requests)
				break
			}
		}
		if !found {
			return false
		}
	}
	for name, room := range taken {
		free[name] = room
	}
	delete(free, from)
	return true
}
