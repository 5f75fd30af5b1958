package surge

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/drain"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// coverage finds the pods that surge moves.
type coverage struct {
	snapshot *cluster.Snapshot
	asked    map[string]bool // Provisioners that ask for it for all pods of their nodes
	records  []cluster.Surge
	at       []string           // by record: its node
	of       map[workload][]int // by Deployment: its records
	others   []int              // by record: pods of the Deployment besides those that leave
	failed   func(uid string) string
}

// workload names a Deployment.
type workload struct{ namespace, name string }

// index finds the records of each Deployment, so that no pod has to be compared with those of others: there are
// as many of them as Deployments have pods on nodes that go.
func index(records []cluster.Surge) map[workload][]int {
	out := make(map[workload][]int, len(records))
	for i := range records {
		of := workload{records[i].Namespace, records[i].Deployment}
		out[of] = append(out[of], i)
	}
	return out
}

func newCoverage(s *cluster.Snapshot, provisioners []*api.Provisioner) *coverage {
	c := &coverage{snapshot: s, asked: map[string]bool{}}
	for _, p := range provisioners {
		if p.Spec.Annotations[api.AnnotationSurge] == "true" {
			c.asked[p.Name] = true
		}
	}
	return c
}

// cover returns the snapshot with the pods marked that surge moves. Those in whose place others have
// been made already count as terminating: they need no other place. The argument is not changed.
func cover(s *cluster.Snapshot, provisioners []*api.Provisioner, failed func(uid string) string) *cluster.Snapshot {
	c := newCoverage(s, provisioners)
	c.failed = failed
	for n := range s.EachNode() {
		for _, r := range records(n) {
			c.records, c.at = append(c.records, r), append(c.at, n.Name)
		}
	}
	wanted := slices.ContainsFunc(s.Deployments, func(d cluster.Deployment) bool { return d.Surge == "true" })
	if !wanted && len(c.asked)+len(c.records) == 0 {
		return s
	}
	c.of = index(c.records)
	c.count()
	out := *s
	out.Pods = slices.Clone(s.Pods)
	for p := range out.EachPod() {
		if p.State == cluster.PodBound {
			c.mark(p)
		}
	}
	return &out
}

// count counts the replacements of the pods that leave.
func (c *coverage) count() {
	c.others = make([]int, len(c.records))
	if len(c.records) == 0 {
		return
	}
	for p := range c.snapshot.EachPod() {
		name := p.Deployment()
		if name == "" || p.State == cluster.PodTerminating {
			continue
		}
		for _, k := range c.of[workload{p.Namespace, name}] {
			if !c.records[k].Has(p.UID) {
				c.others[k]++
			}
		}
	}
}

func (c *coverage) mark(p *cluster.Pod) {
	name := p.Deployment()
	if name == "" {
		return
	}
	d := c.snapshot.Deployment(p.Namespace, name)
	if d == nil {
		return
	}
	for _, k := range c.of[workload{p.Namespace, name}] {
		r := &c.records[k]
		if !r.Of(d) {
			continue
		}
		if r.Has(p.UID) && c.at[k] == p.NodeName && c.others[k] >= r.Replicas {
			p.State = cluster.PodTerminating
			return
		}
		if r.Has(p.UID) {
			c.others[k]++ // it counts as well: no other pod has been made in its place yet
		}
		if p.Covered = c.covers(p, d); p.Covered && time.Since(r.Since) > patience+ending {
			p.Held = fmt.Sprintf("can only be moved once Deployment %s has been scaled back", d.Name)
		}
		return
	}
	if p.Covered = c.covers(p, d); p.Covered {
		p.Held = c.held(d)
	}
}

// covers reports whether surge can move a pod, and is asked for.
func (c *coverage) covers(p *cluster.Pod, d *cluster.Deployment) bool {
	n := c.snapshot.Node(p.NodeName)
	if n == nil || n.Provisioner == "" {
		return false
	}
	asked := d.Surge == "true" || d.Surge == "" && c.asked[n.Provisioner]
	return asked && !d.Autoscaled && !d.Recreate && !p.CostSet && drain.WaitsFor(p, n) && !c.exclusive(p)
}

// moves reports whether the pods of a record are all among those of its node, and surge moves them: the kubelet of
// the node could have written it.
func (c *coverage) moves(r *cluster.Surge, d *cluster.Deployment, pods []*cluster.Pod) bool {
	n := 0
	for _, p := range pods {
		if p.State == cluster.PodBound && r.Has(p.UID) && p.Namespace == d.Namespace && p.Deployment() == d.Name && c.covers(p, d) {
			n++
		}
	}
	return n == len(r.Pods)
}

// exclusive reports whether a pod has a volume that no pod of another node can have at the same time.
func (c *coverage) exclusive(p *cluster.Pod) bool {
	for _, ref := range p.Template.Claims {
		if ref.Ephemeral {
			continue // each pod has its own
		}
		claim := c.snapshot.Claim(p.Namespace, ref.Name)
		if claim == nil {
			return true
		}
		modes := claim.AccessModes
		if !slices.Contains(modes, corev1.ReadWriteMany) && !slices.Contains(modes, corev1.ReadOnlyMany) {
			return true
		}
	}
	return false
}

// held is why pods of a Deployment cannot be moved now.
func (c *coverage) held(d *cluster.Deployment) string {
	if why := c.failed(d.UID); why != "" {
		return why
	}
	if !d.Settled || d.Available < d.Replicas {
		return fmt.Sprintf("can only be moved once all %d pods of Deployment %s are ready", d.Replicas, d.Name)
	}
	return ""
}
