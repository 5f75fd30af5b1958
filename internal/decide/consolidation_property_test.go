package decide

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// drama is a cluster that lives between decisions: pods come, finish and become
// protected, and whatever is decided is carried out.
type drama struct {
	*testing.T
	*rand.Rand
	w       *world
	seed    int
	allowed int // nodes that may go at the same time
	made    int
	gone    int
}

// TestConsolidationIsSafe plays random clusters. CONSOLIDATION_SEEDS sets how many.
func TestConsolidationIsSafe(t *testing.T) {
	seeds := 150
	if text := os.Getenv("CONSOLIDATION_SEEDS"); text != "" {
		seeds, _ = strconv.Atoi(text)
	}
	gone := 0
	for seed := range seeds {
		d := newDrama(t, seed)
		for range 6 {
			d.act()
			d.disturb()
			d.w.in.Now = d.w.in.Now.Add(time.Duration(1+d.IntN(600)) * time.Minute)
		}
		gone += d.gone
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if gone < seeds/2 {
		t.Errorf("only %d nodes went in %d clusters: nothing was shown", gone, seeds)
	}
}

func newDrama(t *testing.T, seed int) *drama {
	d := &drama{T: t, Rand: rand.New(rand.NewPCG(uint64(seed), 17)), seed: seed}
	d.w = newWorld(t, shop())
	d.allowed = 1 + d.IntN(4)
	d.w.provisioner("default", strings.Replace(consolidating, "100%", strconv.Itoa(d.allowed), 1))
	nodes := 2 + d.IntN(8)
	for i := range nodes {
		name := fmt.Sprintf("n%d", i)
		d.w.node(name, []string{"large", "medium", "small"}[d.IntN(3)], []string{"a", "b", "c"}[d.IntN(3)], nil)
		for range d.IntN(4) {
			d.pod(name)
		}
	}
	d.w.older()
	for app := range 4 {
		if d.IntN(3) == 0 {
			d.w.budget(fmt.Sprintf("pdb%d", app), fmt.Sprintf("app: app%d", app), int32(d.IntN(3)))
		}
	}
	return d
}

// pod adds a pod that runs on a node if it fits there; the spec draws what it asks for.
func (d *drama) pod(node string) {
	app := d.IntN(6)
	text := fmt.Sprintf("requests: {cpu: %dm, memory: %dMi}", 100*(1+app%5), 256*(1+app%3))
	match := fmt.Sprintf("labelSelector: {matchLabels: {app: app%d}}", app)
	switch app {
	case 3:
		text += ", affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: $host, " + match + "}]}}"
	case 4:
		text += ", nodeSelector: {$zone: a}"
	}
	before := len(d.w.in.Snapshot.Pods)
	d.made++
	d.w.replicas(1, fmt.Sprintf("app%d", app), node, text)
	p := &d.w.in.Snapshot.Pods[before]
	p.Name, p.UID = fmt.Sprintf("pod-%d", d.made), fmt.Sprintf("uid-%d", d.made)
	if !d.fits(p, node) {
		d.w.in.Snapshot.Pods = d.w.in.Snapshot.Pods[:before]
	}
}

// fits reports whether the pod may be where it was put.
func (d *drama) fits(p *cluster.Pod, node string) bool {
	n := d.node(node)
	if zone := p.Template.NodeSelector[api.LabelZone]; n == nil || zone != "" && n.Labels[api.LabelZone] != zone {
		return false
	}
	room := n.Allocatable
	for i := range d.w.in.Snapshot.Pods {
		o := &d.w.in.Snapshot.Pods[i]
		if o.NodeName != node {
			continue
		}
		if o.UID != p.UID && o.Owner.Name == p.Owner.Name && p.Template.Affinity != nil {
			return false
		}
		room = room.Minus(o.Template.Requests)
	}
	return !slices.ContainsFunc(slices.Collect(maps.Values(room)), func(v int64) bool { return v < 0 })
}

func (d *drama) node(name string) *cluster.Node {
	for i := range d.w.in.Snapshot.Nodes {
		if n := &d.w.in.Snapshot.Nodes[i]; n.Name == name {
			return n
		}
	}
	return nil
}

// act decides, checks the decision, and carries it out.
func (d *drama) act() {
	plan := d.w.decide()
	verify(d.T, &d.w.in, &plan)
	to := map[cluster.PodKey]string{}
	for _, b := range plan.Bindings {
		to[b.Pod] = b.Node
	}
	for _, u := range plan.Unplaced {
		if n := d.node(u.From); n != nil && (n.Annotations[api.AnnotationDisruption] == "" || d.verdict(&plan, u.From) == Go) {
			d.Errorf("pod %s of %s has no place: %s", u.Pod, u.From, u.Reason)
		}
	}
	for _, c := range plan.Chosen {
		switch n := d.node(c.Node); c.Verdict {
		case Stay:
			delete(n.Annotations, api.AnnotationDisruption)
			delete(n.Annotations, api.AnnotationReplacedBy)
			delete(n.Annotations, api.AnnotationDisruptedWith)
		case Go:
			d.check(c.Node, "is drained")
			d.drain(c.Node, to)
		}
	}
	for i := range d.w.in.Snapshot.Nodes {
		d.w.in.Snapshot.Nodes[i].Initialized = true // those that were bought in the last act
	}
	bought := map[string]string{}
	for i := range plan.Machines {
		m := &plan.Machines[i]
		d.made++
		name := fmt.Sprintf("new%d", d.made)
		bought[m.Name] = name
		d.w.node(name, m.Chosen().InstanceType, m.Chosen().Zone, func(n *cluster.Node) { n.Created, n.ReadySince, n.Initialized = d.w.in.Now, d.w.in.Now, false })
	}
	for _, r := range plan.Removals {
		if r.Reason == Empty {
			d.w.in.Snapshot.Nodes = slices.DeleteFunc(d.w.in.Snapshot.Nodes, func(n cluster.Node) bool { return n.Name == r.Node })
		}
		if r.Reason != Consolidated {
			continue
		}
		d.check(r.Node, "is chosen")
		names := slices.Clone(r.Starting)
		for _, m := range r.Replacements {
			names = append(names, bought[m])
		}
		n := d.node(r.Node)
		n.Annotations[api.AnnotationDisruption], n.Annotations[api.AnnotationReplacedBy] = api.ReasonConsolidation, strings.Join(names, ",")
		n.Annotations[api.AnnotationDisruptedAt], n.Annotations[api.AnnotationDisruptedWith] = d.w.in.Now.Format(time.RFC3339), strings.Join(r.Step, ",")
	}
	d.marks(&plan)
	going := 0
	for i := range d.w.in.Snapshot.Nodes {
		if d.w.in.Snapshot.Nodes[i].Annotations[api.AnnotationDisruption] != "" {
			going++
		}
	}
	if going > d.allowed {
		d.Errorf("%d nodes go at the same time, the budget allows %d", going, d.allowed)
	}
}

func (d *drama) verdict(p *Plan, node string) Verdict {
	for _, c := range p.Chosen {
		if c.Node == node {
			return c.Verdict
		}
	}
	return ""
}

func (d *drama) marks(p *Plan) {
	for _, m := range p.Emptiness {
		if n := d.node(m.Node); n != nil && !m.Since.IsZero() {
			n.Annotations[api.AnnotationEmptiness] = m.Since.Format(time.RFC3339)
		} else if n != nil {
			delete(n.Annotations, api.AnnotationEmptiness)
		}
	}
}

// check finds pods on the node that nothing may evict.
func (d *drama) check(node, what string) {
	for i := range d.w.in.Snapshot.Pods {
		p := &d.w.in.Snapshot.Pods[i]
		if p.NodeName != node {
			continue
		}
		if p.Template.DoNotDisrupt {
			d.Errorf("node %s %s with pod %s, which is protected", node, what, p)
		}
		for _, b := range d.w.in.Snapshot.PodDisruptionBudgets {
			if b.Selector.MatchLabels["app"] == p.Template.Labels["app"] && b.DisruptionsAllowed == 0 {
				d.Errorf("node %s %s with pod %s, of which %s allows no eviction", node, what, p, b.Name)
			}
		}
	}
}

// drain lets the node go: its pods come back where they were planned.
func (d *drama) drain(node string, to map[cluster.PodKey]string) {
	d.gone++
	for i := range d.w.in.Snapshot.Pods {
		p := &d.w.in.Snapshot.Pods[i]
		if p.NodeName != node {
			continue
		}
		if p.NodeName = to[p.PodKey]; p.NodeName == "" {
			d.Errorf("pod %s of %s has no place", p, node)
			continue
		}
		p.Since, p.Created = d.w.in.Now, d.w.in.Now
		if !d.fits(p, p.NodeName) {
			d.Errorf("pod %s of %s does not fit on %s", p, node, p.NodeName)
		}
	}
	d.w.in.Snapshot.Nodes = slices.DeleteFunc(d.w.in.Snapshot.Nodes, func(n cluster.Node) bool { return n.Name == node })
}

// disturb lets pods come, finish and become protected, and budgets change.
func (d *drama) disturb() {
	s := d.w.in.Snapshot
	if len(s.Nodes) > 0 && d.IntN(2) == 0 {
		n := s.Nodes[d.IntN(len(s.Nodes))]
		before := len(s.Pods)
		if d.pod(n.Name); len(s.Pods) > before {
			s.Pods[before].Since = d.w.in.Now.Add(time.Second)
		}
	}
	if len(s.Pods) > 0 && d.IntN(2) == 0 {
		i := d.IntN(len(s.Pods))
		s.Pods = slices.Delete(s.Pods, i, i+1)
	}
	if len(s.Pods) > 0 && d.IntN(3) == 0 {
		p := &s.Pods[d.IntN(len(s.Pods))]
		p.Template = protected(p.Template, !p.Template.DoNotDisrupt, 0)
	}
	if len(s.PodDisruptionBudgets) > 0 && d.IntN(2) == 0 {
		s.PodDisruptionBudgets[d.IntN(len(s.PodDisruptionBudgets))].DisruptionsAllowed = int32(d.IntN(2))
	}
}
