package agent

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/retire"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/stock"
)

// scenario is everything that is drawn from a seed.
type scenario struct {
	world        sim.Options
	options      Options
	replicas     int
	limited      bool
	provisioners []drawnProvisioner
	workloads    []drawnWorkload
	steps        []step
}

type drawnProvisioner struct {
	name          string
	limit         int64 // cores; 0: none
	empty, expire *int64
	grace         time.Duration
	binding       api.PodBinding
	spot          bool
	cost, budget  string // evictionCost and nodes of consolidation; empty: it is off
	label         int    // counts changes
}

type drawnWorkload struct {
	sim.Workload
	minAvailable, final int
}

// step is something that happens some time after the step before it.
type step struct {
	after time.Duration
	name  string
	do    func(*simulation)
}

func (s step) String() string { return fmt.Sprintf("+%s %s", s.after, s.name) }

func (sc *scenario) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "world %+v\n%d agents %+v\n", struct {
		Lag, Boot, Launch, Stop, Shutdown, Skew time.Duration
	}{sc.world.Lag, sc.world.BootTime, sc.world.LaunchTime, sc.world.StopTime, sc.world.ShutdownTime, sc.world.Skew}, sc.replicas, sc.options)
	for _, p := range sc.provisioners {
		fmt.Fprintf(&b, "provisioner %s: limit %d, empty %d, expire %d, grace %s, binding %q, spot %v, eviction cost %q, budget %q\n",
			p.name, p.limit, ptr.Deref(p.empty, -1), ptr.Deref(p.expire, -1), p.grace, p.binding, p.spot, p.cost, p.budget)
	}
	for _, w := range sc.workloads {
		fmt.Fprintf(&b, "workload %s: %d to %d, at least %d, surge %q, autoscaled %t, %v\n", w.Name, w.Replicas, w.final, w.minAvailable, w.Surge, w.Autoscaled, w.Spec.NodeSelector)
	}
	for _, s := range sc.steps {
		b.WriteString(s.String() + "\n")
	}
	return b.String()
}

// bounded reports whether drains may end without regard to pods.
func (sc *scenario) bounded() bool {
	return slices.ContainsFunc(sc.provisioners, func(p drawnProvisioner) bool { return p.grace > 0 })
}

// spec returns the Provisioner as it is applied.
func (p *drawnProvisioner) spec() *api.Provisioner {
	return testProvisioner(p.name, func(s *api.ProvisionerSpec) {
		s.TTLSecondsAfterEmpty, s.TTLSecondsUntilExpired, s.PodBinding = p.empty, p.expire, p.binding
		if p.limit > 0 {
			s.Limits = &api.Limits{Resources: corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(p.limit, resource.DecimalSI)}}
		}
		if p.grace > 0 {
			s.Disruption = &api.Disruption{TerminationGracePeriod: ptr.To(metav1.Duration{Duration: p.grace})}
		}
		if p.cost != "" {
			s.Consolidation = &api.Consolidation{Enabled: ptr.To(true)}
			s.Disruption = cmp.Or(s.Disruption, &api.Disruption{})
			s.Disruption.EvictionCost, s.Disruption.Budgets = ptr.To(api.NumberOrNever(p.cost)), []api.Budget{{Nodes: api.NumberOrPercent(p.budget)}}
		}
		if p.label > 0 {
			s.Labels = map[string]string{"revision": fmt.Sprint(p.label)}
		}
		if p.spot {
			s.Requirements = append(s.Requirements, api.Requirement{Key: api.LabelCapacityType, Operator: api.OpIn, Values: []string{api.CapacitySpot, api.CapacityOnDemand}})
		}
	})
}

type drawer struct{ *rand.Rand }

func (d drawer) between(low, high int) int { return low + d.IntN(high-low+1) }

func (d drawer) duration(low, high time.Duration) time.Duration {
	return low + time.Duration(d.Int64N(int64(high-low)+1)).Round(time.Millisecond)
}

func (d drawer) chance(percent int) bool { return d.IntN(100) < percent }

func (d drawer) maybe(percent, low, high int) *int64 {
	if !d.chance(percent) {
		return nil
	}
	return ptr.To(int64(d.between(low, high)))
}

func drawScenario(random *rand.Rand) *scenario {
	d := drawer{random}
	sc := &scenario{
		world: sim.Options{
			Lag:          d.duration(time.Millisecond, 300*time.Millisecond),
			BootTime:     d.duration(15*time.Second, 90*time.Second),
			LaunchTime:   d.duration(100*time.Millisecond, 3*time.Second),
			StopTime:     d.duration(time.Second, 20*time.Second),
			ShutdownTime: d.duration(0, 40*time.Second),
			Skew:         time.Duration(d.between(-60, 60)) * time.Second,
			// Controllers make all pods at once, or a few at a time.
			ControllerPods: d.between(0, 4),
		},
		options:  Options{Settings: decide.Settings{Policy: retire.Policy{StartupTimeout: d.duration(4*time.Minute, 15*time.Minute), UnhealthyAfter: d.duration(time.Minute, 10*time.Minute)}}},
		replicas: d.between(1, 2),
	}
	for i := range d.between(1, 2) {
		sc.provisioners = append(sc.provisioners, drawProvisioner(d, fmt.Sprintf("p%d", i)))
	}
	sc.limited = slices.ContainsFunc(sc.provisioners, func(p drawnProvisioner) bool { return p.limit > 0 })
	for i := range d.between(1, 4) {
		sc.workloads = append(sc.workloads, drawWorkload(d, sc, fmt.Sprintf("w%d", i)))
	}
	for range d.between(3, 25) {
		s := drawStep(d, sc)
		s.after = d.duration(100*time.Millisecond, 90*time.Second)
		if d.chance(10) {
			s.after = d.duration(5*time.Minute, 20*time.Minute)
		}
		sc.steps = append(sc.steps, s)
	}
	return sc
}

func drawProvisioner(d drawer, name string) drawnProvisioner {
	p := drawnProvisioner{name: name, empty: d.maybe(70, 0, 90), expire: d.maybe(40, 400, 2000), spot: d.chance(50), binding: api.BindImmediate}
	if d.chance(40) {
		p.limit = int64(d.between(8, 48))
	}
	if d.chance(20) {
		p.grace = d.duration(20*time.Second, 5*time.Minute)
	}
	if d.chance(20) {
		p.binding = api.BindScheduler
	}
	if p.empty == nil && d.chance(80) {
		p.cost, p.budget = []string{"0", "0.1", "1"}[d.IntN(3)], []string{"1", "50%", "100%"}[d.IntN(3)]
	}
	return p
}

func drawWorkload(d drawer, sc *scenario, name string) drawnWorkload {
	w := drawnWorkload{final: d.between(0, 8)}
	w.Name, w.Replicas = name, d.between(0, 12)
	w.Spec = sim.Requests(fmt.Sprintf("%dm", d.between(1, 15)*100), fmt.Sprintf("%dMi", d.between(1, 20)*100))
	if d.chance(30) {
		w.Spec.NodeSelector = map[string]string{api.LabelProvisioner: sc.provisioners[d.IntN(len(sc.provisioners))].name}
	}
	// A limit that leaves no room for the pods of a node, and a budget that keeps
	// them there, may hold each other up for ever.
	if d.chance(40) && w.final > 1 && !sc.limited {
		w.minAvailable = d.between(1, w.final-1)
	}
	w.Stateful = d.chance(25)
	if d.chance(10) {
		w.Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"}
	}
	if !w.Stateful && d.chance(50) {
		w.Revision, w.Surge, w.Autoscaled = "1", "true", d.chance(20)
	}
	return w
}

// drawStep draws one of the things that happen.
func drawStep(d drawer, sc *scenario) step {
	kinds := []func(drawer, *scenario) step{
		scaleStep, scaleStep, scaleStep, deletePodsStep, unreadyStep, deleteNodeStep, terminateStep, capacityStep, killStep, killAtStep,
		killAtStep, stopAtStep, stopAtStep, loseLeaseStep, troubleStep, troubleStep, dudsStep, misnamedStep, driftStep, kubeletStep,
		interruptStep, noticeStep, untagStep, unmarkStep, stallStep, stallStep, leftOutStep, outageStep, forceStep, recreateStep,
		refusedStep, refusedStep, slowStep, slowStep, cordonStep, openStep,
	}
	return kinds[d.IntN(len(kinds))](d, sc)
}

func scaleStep(d drawer, sc *scenario) step {
	name, n := sc.workloads[d.IntN(len(sc.workloads))].Name, d.between(0, 15)
	return step{name: fmt.Sprintf("scale %s to %d", name, n), do: func(s *simulation) { s.Scale(name, n) }}
}

// unreadyStep keeps pods that start from becoming ready for a while.
func unreadyStep(d drawer, sc *scenario) step {
	name, lasts := sc.workloads[d.IntN(len(sc.workloads))].Name, d.duration(time.Second, 20*time.Minute)
	return step{name: fmt.Sprintf("pods of %s do not become ready for %s", name, lasts), do: func(s *simulation) {
		s.SetUnready(name, true)
		time.AfterFunc(lasts, func() { s.SetUnready(name, false) })
	}}
}

func deletePodsStep(d drawer, sc *scenario) step {
	name := sc.workloads[d.IntN(len(sc.workloads))].Name
	return step{name: "delete the pods of " + name, do: func(s *simulation) { s.DeletePods(name) }}
}

func deleteNodeStep(d drawer, _ *scenario) step {
	n := d.IntN(100)
	return step{name: "delete a node", do: func(s *simulation) {
		if nodes := s.ours(); len(nodes) > 0 {
			s.DeleteNode(nodes[n%len(nodes)].Name)
		}
	}}
}

func terminateStep(d drawer, _ *scenario) step {
	n := d.IntN(100)
	return step{name: "terminate an instance", do: func(s *simulation) {
		if machines := s.Machines(); len(machines) > 0 {
			s.TerminateInstance(machines[n%len(machines)].ID)
		}
	}}
}

func capacityStep(d drawer, _ *scenario) step {
	share, left := d.between(10, 100), d.between(0, 1)
	seed := d.Uint64()
	return step{name: fmt.Sprintf("%d%% of the offerings have %d machines left", share, left), do: func(s *simulation) {
		draw := drawer{rand.New(rand.NewPCG(seed, 0))}
		for _, t := range stock.Catalogue() {
			for _, o := range t.Offerings {
				if draw.chance(share) {
					s.Capacity(t.Name, o.Zone, o.CapacityType, left)
				}
			}
		}
	}}
}

func killStep(d drawer, sc *scenario) step {
	n := d.IntN(sc.replicas)
	return step{name: fmt.Sprintf("kill agent %d", n), do: func(s *simulation) { s.replicas[n].kill() }}
}

func killAtStep(d drawer, sc *scenario) step {
	n, at := d.IntN(sc.replicas), drawDoom(d)
	return step{name: fmt.Sprintf("kill agent %d at %+v", n, at), do: func(s *simulation) { s.replicas[n].killAt(at) }}
}

// stopAtStep stops an agent for longer than its lease, or not.
func stopAtStep(d drawer, sc *scenario) step {
	n, at := d.IntN(sc.replicas), drawDoom(d)
	at.stop = d.duration(time.Second, 90*time.Second)
	return step{name: fmt.Sprintf("stop agent %d at %+v", n, at), do: func(s *simulation) { s.replicas[n].killAt(at) }}
}

func drawDoom(d drawer) doom {
	calls := []string{"", "Launch", "CreateNode", "Bind", "PatchNode", "DeleteNode", "Evict", "DeletePod", "Claim", "Steer", "ScaleDeployment", "ScaleDeployment", "Terminate", "Instances", "Receive", "Acknowledge", "SetProvisionerFinalizer", "UpdateProvisionerStatus", "Forget"}
	return doom{call: calls[d.IntN(len(calls))], when: []sim.When{sim.Before, sim.Sent, sim.After}[d.IntN(3)], n: d.between(1, 6)}
}

func loseLeaseStep(drawer, *scenario) step {
	return step{name: "the leader loses its lease", do: func(s *simulation) { s.LoseLease() }}
}

func troubleStep(d drawer, _ *scenario) step {
	t := trouble{cluster: d.IntN(60), cloud: d.IntN(60)}
	if d.chance(30) {
		t.cluster, t.cloud = 0, 50
	}
	lasts := d.duration(time.Second, 3*time.Minute)
	return step{name: fmt.Sprintf("%d%% of the cluster's and %d%% of the cloud's calls fail for %s", t.cluster, t.cloud, lasts), do: func(s *simulation) {
		s.mu.Lock()
		defer s.mu.Unlock()
		t.until = time.Now().Add(lasts)
		s.trouble = t
	}}
}

func dudsStep(d drawer, _ *scenario) step {
	n := d.between(0, 3)
	return step{name: fmt.Sprintf("%d machines will not boot", n), do: func(s *simulation) {
		s.NeverBoots(func(offer.Instance) bool { n--; return n >= 0 })
	}}
}

func misnamedStep(d drawer, _ *scenario) step {
	n := d.between(1, 2)
	return step{name: fmt.Sprintf("%d machines will boot under another name", n), do: func(s *simulation) {
		s.BootsAs(func(i offer.Instance) string {
			if n--; n >= 0 {
				return "other-" + i.NodeName
			}
			return ""
		})
	}}
}

func driftStep(d drawer, sc *scenario) step {
	p := &sc.provisioners[d.IntN(len(sc.provisioners))]
	return step{name: "change provisioner " + p.name, do: func(s *simulation) {
		p.label++
		s.Apply(p.spec())
	}}
}

func kubeletStep(d drawer, _ *scenario) step {
	n, lasts := d.IntN(100), d.duration(time.Second, 5*time.Minute)
	return step{name: fmt.Sprintf("a kubelet is silent for %s", lasts), do: func(s *simulation) {
		if nodes := s.ours(); len(nodes) > 0 {
			s.StopKubelet(nodes[n%len(nodes)].Name, lasts)
		}
	}}
}

func interruptStep(d drawer, _ *scenario) step {
	n, copies := d.IntN(100), d.between(1, 3)
	return step{name: fmt.Sprintf("a machine is taken back, with %d notices", copies), do: func(s *simulation) {
		if machines := s.Machines(); len(machines) > 0 {
			s.Interrupt(machines[n%len(machines)].ID, copies)
		}
	}}
}

func untagStep(d drawer, _ *scenario) step {
	n, all := d.IntN(100), d.chance(30)
	return step{name: fmt.Sprintf("an instance loses its tags (all: %t)", all), do: func(s *simulation) {
		machines := s.Machines()
		if len(machines) == 0 {
			return
		}
		m := machines[n%len(machines)]
		if node := s.node(m.NodeName); node != nil && node.Labels[api.LabelProvisioner]+owner(node) != "" { // something has to tell whose it is
			s.Untag(m.ID, all && node.Labels[api.LabelProvisioner] != "")
		}
	}}
}

func unmarkStep(d drawer, _ *scenario) step {
	n, what := d.IntN(100), d.between(1, 15)
	return step{name: fmt.Sprintf("a node loses its marks (%04b)", what), do: func(s *simulation) {
		nodes := s.ours()
		if len(nodes) == 0 {
			return
		}
		node := nodes[n%len(nodes)]
		known := s.listed()[node.Spec.ProviderID]
		s.EditNode(node.Name, func(n *corev1.Node) {
			if what&1 != 0 && (known || owner(n) != "") {
				delete(n.Labels, api.LabelProvisioner)
			}
			if what&2 != 0 {
				delete(n.Annotations, api.AnnotationLaunchID)
			}
			if what&4 != 0 && known {
				n.OwnerReferences = nil
			}
			if what&8 != 0 && n.DeletionTimestamp == nil {
				n.Finalizers = nil
			}
		})
	}}
}

// owner is the name of a node's owner; empty for none.
func owner(n *corev1.Node) string {
	if len(n.OwnerReferences) == 0 {
		return ""
	}
	return n.OwnerReferences[0].Name
}

func noticeStep(d drawer, _ *scenario) step {
	kinds := []offer.NoticeKind{offer.NoticeMalformed, offer.NoticeUnrelated, offer.NoticeRebalance, offer.NoticeStateChange, offer.NoticeScheduledChange}
	notice, n := offer.Notice{Kind: kinds[d.IntN(len(kinds))]}, d.IntN(100)
	return step{name: "a notice of kind " + string(notice.Kind), do: func(s *simulation) {
		if machines := s.Machines(); len(machines) > 0 && notice.Kind != offer.NoticeMalformed && notice.Kind != offer.NoticeUnrelated {
			notice.InstanceIDs = []string{machines[n%len(machines)].ID}
		}
		s.Notify(notice, 1)
	}}
}
