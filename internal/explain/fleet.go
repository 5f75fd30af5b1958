package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

// kind is what a reader takes for one sort of machine: everything but the content
// is the same.
type kind struct {
	provisioner  string // of nodes that exist: empty where they are not ours
	exists       bool
	instanceType string
	zone         string
	capacityType string
	price        float64 // dollars per hour of each; 0 for nodes that exist
	state        string  // of a node that is drawn as it is: starting, ready, unready, draining
}

// box is a machine with its content, or several machines that hold the same.
type box struct {
	kind
	name        string // of the node that exists; of the first of several
	count       int
	average     bool // of count machines that do not hold the same
	allocatable amount.List
	// held is what DaemonSets take, and on nodes that exist the running pods.
	held  amount.List
	loads []load // by workload, then by size
}

// load is the pods of one workload in a box that ask for the same.
type load struct {
	workload string
	pods     float64 // not whole in an average
	each     amount.List
}

// fleet returns the machines of a plan, and the nodes that get pods, as boxes.
func fleet(plan *decide.Plan, snapshot *cluster.Snapshot) []box {
	p := pods{snapshot}
	var out []box
	for i := range plan.Machines {
		m := &plan.Machines[i]
		chosen := m.Chosen()
		keys := slices.Clone(m.Pods)
		for _, moving := range m.Moving {
			keys = append(keys, moving.Pod)
		}
		b := box{
			kind: kind{
				provisioner: m.Provisioner, instanceType: chosen.InstanceType,
				zone: chosen.Zone, capacityType: chosen.CapacityType, price: chosen.Price.Dollars(),
			},
			count: 1, allocatable: m.Allocatable, loads: p.loads(keys),
		}
		b.held = m.Used
		for _, l := range b.loads {
			b.held = b.held.Minus(times(l.each, l.pods))
		}
		out = append(out, b)
	}
	return append(out, p.nodes(plan.Bindings)...)
}

// pods finds pods in a snapshot.
type pods struct{ snapshot *cluster.Snapshot }

func (p pods) find(key cluster.PodKey) *cluster.Pod {
	i, ok := slices.BinarySearchFunc(p.snapshot.Pods, key, func(pod cluster.Pod, key cluster.PodKey) int {
		return cmp.Or(strings.Compare(pod.Namespace, key.Namespace), strings.Compare(pod.Name, key.Name))
	})
	if !ok {
		return nil
	}
	return &p.snapshot.Pods[i]
}

// count returns the number of pods by workload.
func (p pods) count(keys []cluster.PodKey) map[string]int {
	out := map[string]int{}
	for _, key := range keys {
		if pod := p.find(key); pod != nil {
			out[workload(pod)]++
		}
	}
	return out
}

// workload returns the name of what made a pod, or the pod's own where it is not
// in the snapshot.
func (p pods) workload(key cluster.PodKey) string {
	if pod := p.find(key); pod != nil {
		return workload(pod)
	}
	return key.String()
}

// loads counts pods by workload and requests.
func (p pods) loads(keys []cluster.PodKey) []load {
	type group struct {
		workload string
		template *cluster.Template
	}
	index := map[group]int{}
	var out []load
	for _, key := range keys {
		pod := p.find(key)
		if pod == nil {
			continue
		}
		g := group{workload(pod), pod.Template}
		i, ok := index[g]
		if !ok {
			i = len(out)
			index[g] = i
			out = append(out, load{workload: g.workload, each: pod.Template.Requests})
		}
		out[i].pods++
	}
	slices.SortStableFunc(out, compareLoads)
	return out
}

func compareLoads(a, b load) int {
	return cmp.Or(strings.Compare(a.workload, b.workload),
		cmp.Compare(b.each[amount.CPU], a.each[amount.CPU]), cmp.Compare(b.each[amount.Memory], a.each[amount.Memory]))
}

// nodes returns the nodes that exist and get pods.
func (p pods) nodes(bindings []decide.Binding) []box {
	added := map[string][]cluster.PodKey{}
	for _, b := range bindings {
		added[b.Node] = append(added[b.Node], b.Pod)
	}
	running := map[string]amount.List{}
	for i := range p.snapshot.Pods {
		pod := &p.snapshot.Pods[i]
		if added[pod.NodeName] != nil && (pod.State == cluster.PodBound || pod.State == cluster.PodTerminating) {
			running[pod.NodeName] = running[pod.NodeName].Plus(pod.Template.Requests)
		}
	}
	var out []box
	for i := range p.snapshot.Nodes {
		n := &p.snapshot.Nodes[i]
		if added[n.Name] == nil {
			continue
		}
		out = append(out, box{
			name: n.Name,
			kind: kind{
				provisioner: n.Provisioner, exists: true, instanceType: n.Labels[api.LabelInstanceType],
				zone: n.Labels[api.LabelZone], capacityType: n.Labels[api.LabelCapacityType],
			},
			count: 1, allocatable: n.Allocatable, held: running[n.Name], loads: p.loads(added[n.Name]),
		})
	}
	return out
}

// fold merges boxes that hold the same, in order of first appearance.
func fold(boxes []box) []box {
	var out []box
	index := map[string]int{}
	for i := range boxes {
		b := &boxes[i]
		key := fmt.Sprint(b.kind, b.allocatable, b.held, b.loads)
		at, ok := index[key]
		if !ok {
			at = len(out)
			index[key] = at
			out = append(out, *b)
			continue
		}
		out[at].count += b.count
	}
	return out
}

// average returns one box for several of a kind, with the mean of everything.
func average(boxes []box) box {
	out := box{kind: boxes[0].kind, average: true}
	for _, b := range boxes {
		n := float64(b.count)
		out.count += b.count
		out.allocatable = out.allocatable.Plus(times(b.allocatable, n))
		out.held = out.held.Plus(times(b.held, n))
		for _, l := range b.loads {
			l.pods *= n
			out.loads = append(out.loads, l)
		}
	}
	share := 1 / float64(out.count)
	out.allocatable, out.held = times(out.allocatable, share), times(out.held, share)
	slices.SortStableFunc(out.loads, compareLoads)
	merged := out.loads[:0]
	for _, l := range out.loads {
		l.pods *= share
		if last := len(merged) - 1; last >= 0 && compareLoads(merged[last], l) == 0 {
			merged[last].pods += l.pods
			continue
		}
		merged = append(merged, l)
	}
	out.loads = merged
	return out
}

func times(l amount.List, n float64) amount.List {
	out := make(amount.List, len(l))
	for name, v := range l {
		out[name] = int64(float64(v) * n)
	}
	return out
}

// used returns how much of a resource the content of a box takes.
func (b *box) used(name string) float64 {
	sum := float64(max(0, b.held[name]))
	for _, l := range b.loads {
		sum += l.pods * float64(l.each[name])
	}
	return sum
}

// workload returns the name (with the namespace) of what made a pod: the
// Deployment rather than its ReplicaSet, the CronJob rather than its Job, the
// name without its number where nothing owns it.
func workload(p *cluster.Pod) string {
	name := p.Name
	switch hash := p.Template.Labels["pod-template-hash"]; {
	case p.Owner.Kind == "ReplicaSet" && hash != "":
		name = strings.TrimSuffix(p.Owner.Name, "-"+hash)
	case p.Owner.Kind == "Job":
		name = withoutNumber(p.Owner.Name, cronJobDigits)
	case p.Owner.Kind != "":
		name = p.Owner.Name
	default:
		name = withoutNumber(name, 1)
	}
	return p.Namespace + "/" + name
}

// cronJobDigits is the least number of digits of the minute, counted from 1970,
// that a CronJob adds to the names of its Jobs.
const cronJobDigits = 8

// withoutNumber cuts a dash and at least so many digits off the end of a name.
func withoutNumber(name string, digits int) string {
	stem := strings.TrimRight(name, "0123456789")
	if n := len(name) - len(stem); n < digits || len(stem) < 2 || !strings.HasSuffix(stem, "-") {
		return name
	}
	return strings.TrimSuffix(stem, "-")
}
