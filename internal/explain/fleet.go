package explain

import (
	"cmp"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

// Content is a node with the pods that it holds, or will hold.
type Content struct {
	Node         string `json:"name"`
	Provisioner  string `json:"provisioner"` // empty where it is not ours
	InstanceType string `json:"instanceType"`
	Zone         string `json:"zone"`
	CapacityType string `json:"capacityType"`
	// HourlyPrice is in dollars.
	HourlyPrice float64 `json:"hourlyPrice"`
	// State of a node that is there is starting, ready, unready or draining.
	State string `json:"state"`
	// Held is what DaemonSets and static pods take, and in a plan on nodes that exist
	// all pods that run.
	Allocatable amount.List `json:"allocatable"`
	Held        amount.List `json:"held"`
	Loads       []Load      `json:"loads"` // by workload, then by size
	// Exists tells nodes that get pods from the machines of a plan.
	Exists bool `json:"-"`
}

// Load is the pods of one workload on a node that ask for the same.
type Load struct {
	Workload string  `json:"workload"`
	Pods     float64 `json:"pods"` // not whole in a mean of several nodes
	// Each is what one of them asks for.
	Each amount.List `json:"each"`
}

// Share returns how much of a resource is asked for, from 0 to 1.
func (c *Content) Share(resource string) float64 {
	if c.Allocatable[resource] <= 0 {
		return 0
	}
	return c.Used(resource) / float64(c.Allocatable[resource])
}

// Used returns how much of a resource is asked for.
func (c *Content) Used(resource string) float64 {
	sum := float64(max(0, c.Held[resource]))
	for _, l := range c.Loads {
		sum += float64(l.Pods * float64(l.Each[resource]))
	}
	return sum
}

// Fullest returns the resource of which the least is left, empty where nothing is
// asked for.
func (c *Content) Fullest() string {
	best, most := "", 0.0
	for _, name := range c.Allocatable.Names() {
		if share := c.Share(name); share > most {
			best, most = name, share
		}
	}
	return best
}

// Pods returns the number of pods, without those of DaemonSets.
func (c *Content) Pods() float64 {
	n := 0.0
	for _, l := range c.Loads {
		n += l.Pods
	}
	return n
}

// contentOf says what a node is, without its pods.
func contentOf(n *cluster.Node) Content {
	return Content{
		Node: n.Name, Provisioner: n.Provisioner, InstanceType: n.Labels[api.LabelInstanceType],
		Zone: n.Labels[api.LabelZone], CapacityType: n.Labels[api.LabelCapacityType], Allocatable: n.Allocatable,
	}
}

// Contents returns the nodes of a snapshot that belong to a Provisioner, with what
// they hold, in order.
func Contents(s *cluster.Snapshot) []Content {
	held, keys := map[string]amount.List{}, map[string][]cluster.PodKey{}
	for p := range s.EachPod() {
		switch {
		case p.NodeName == "":
		case p.Template.BelongsToNode():
			held[p.NodeName] = held[p.NodeName].Plus(p.Template.Requests)
		default:
			keys[p.NodeName] = append(keys[p.NodeName], p.PodKey)
		}
	}
	found := pods{s}
	var out []Content
	for n := range s.EachNode() {
		if n.Provisioner == "" {
			continue
		}
		c := contentOf(n)
		c.Held, c.Loads = held[c.Node], found.loads(keys[c.Node])
		out = append(out, c)
	}
	return out
}

// fleet returns the machines of a plan, and the nodes that get pods.
func fleet(plan *decide.Plan, snapshot *cluster.Snapshot) []Content {
	p := pods{snapshot}
	var out []Content
	for i := range plan.Machines {
		m := &plan.Machines[i]
		chosen := m.Chosen()
		c := Content{
			Provisioner: m.Provisioner, InstanceType: chosen.InstanceType, Zone: chosen.Zone, CapacityType: chosen.CapacityType,
			HourlyPrice: chosen.Price.Dollars(), Allocatable: m.Allocatable, Held: m.Used, Loads: p.loads(m.AllPods()),
		}
		for _, l := range c.Loads {
			c.Held = c.Held.Minus(l.Each.Times(l.Pods))
		}
		out = append(out, c)
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
func (p pods) loads(keys []cluster.PodKey) []Load {
	type group struct {
		workload string
		template *cluster.Template
	}
	index := map[group]int{}
	out := []Load{}
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
			out = append(out, Load{Workload: g.workload, Each: pod.Template.Requests})
		}
		out[i].Pods++
	}
	slices.SortStableFunc(out, CompareLoads)
	return out
}

// CompareLoads orders loads by workload, then by size, the largest first.
func CompareLoads(a, b Load) int {
	return cmp.Or(strings.Compare(a.Workload, b.Workload),
		cmp.Compare(b.Each[amount.CPU], a.Each[amount.CPU]), cmp.Compare(b.Each[amount.Memory], a.Each[amount.Memory]))
}

// nodes returns the nodes that exist and get pods.
func (p pods) nodes(bindings []decide.Binding) []Content {
	added := map[string][]cluster.PodKey{}
	for _, b := range bindings {
		added[b.Node] = append(added[b.Node], b.Pod)
	}
	running := map[string]amount.List{}
	for pod := range p.snapshot.EachPod() {
		if added[pod.NodeName] != nil && (pod.State == cluster.PodBound || pod.State == cluster.PodTerminating) {
			running[pod.NodeName] = running[pod.NodeName].Plus(pod.Template.Requests)
		}
	}
	var out []Content
	for n := range p.snapshot.EachNode() {
		if added[n.Name] == nil {
			continue
		}
		c := contentOf(n)
		c.Exists, c.Held, c.Loads = true, running[n.Name], p.loads(added[n.Name])
		out = append(out, c)
	}
	return out
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
