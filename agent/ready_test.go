package agent

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
)

// lacking is a cloud in which a node profile selects nothing while it is broken.
type lacking struct {
	Cloud
	reason string
	broken *atomic.Bool
}

func (c lacking) Market(ctx context.Context, p *api.Provisioner, profile *api.NodeProfile) (offer.Market, error) {
	m, err := c.Cloud.Market(ctx, p, profile)
	if c.reason != "" && c.broken.Load() {
		m.Types, m.Blocked, m.BlockedReason = nil, "nothing matches", c.reason
	}
	return m, err
}

func require(key string, values ...string) func(*api.ProvisionerSpec) {
	return func(s *api.ProvisionerSpec) {
		s.Requirements = append(s.Requirements, api.Requirement{Key: key, Operator: api.OpIn, Values: values})
	}
}

// ready is the condition Ready of the Provisioner.
func (r *rig) ready(name string) metav1.Condition {
	c := meta.FindStatusCondition(r.Provisioner(name).Status.Conditions, conditionReady)
	if c == nil {
		return metav1.Condition{}
	}
	return *c
}

// A Provisioner is ready when a purchase would succeed, whatever it is that keeps one
// from that, and again when it does not any more.
func TestReadyIsWhatAPurchaseWouldMeet(t *testing.T) {
	cases := map[string]struct {
		reason, says string
		edit         func(*api.ProvisionerSpec) // breaks the Provisioner
		call         string                     // is refused
		lacks        string                     // the node profile selects none
		quota        bool                       // nothing is sold
	}{
		"a requirement that no type meets": {reason: view.ReasonNoTypes, says: "karpenter.k8s.aws/instance-family In [z9]", edit: require(api.LabelInstanceFamily, "z9")},
		"a zone without subnets":           {reason: view.ReasonNoTypes, says: api.LabelZone, edit: require(api.LabelZone, "elsewhere")},
		"requirements that no type meets together": {reason: view.ReasonNoTypes, says: api.LabelArch, edit: func(s *api.ProvisionerSpec) {
			require(api.LabelInstanceFamily, "m5")(s)
			require(api.LabelArch, "arm64")(s)
		}},
		"limits below the smallest type": {reason: view.ReasonLimitReached, says: "0 of its limit of 1 cpu", edit: limitCPU("1")},
		"an unreadable market":           {reason: view.ReasonMarket, says: "access denied", call: "Market"},
		"instances that are not listed":  {reason: view.ReasonInstances, says: "access denied", call: "Instances"},
		"launches that fail":             {reason: view.ReasonLaunch, says: "access denied", call: "Launch"},
		"nodes that cannot be created":   {reason: view.ReasonNodeless, says: "i-", call: "CreateNode"},
		"no subnet":                      {reason: "NoSubnets", says: "nothing matches", lacks: "NoSubnets"},
		"no security group":              {reason: "NoSecurityGroups", says: "nothing matches", lacks: "NoSecurityGroups"},
		"no image":                       {reason: "NoImages", says: "nothing matches", lacks: "NoImages"},
		"no capacity":                    {reason: view.ReasonUnavailable, says: "on-demand", quota: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				var broken atomic.Bool
				process := r.Connect(failing(c.call, &broken, "access denied"))
				a := New(process.Cluster, lacking{process.Cloud, c.lacks, &broken}, Options{}, r.log)
				ctx, cancel := context.WithCancel(r.Context())
				done := make(chan struct{})
				go func() {
					defer close(done)
					_ = a.Run(ctx)
				}()
				defer func() { cancel(); <-done }()
				is := func(status metav1.ConditionStatus) func() bool {
					return func() bool { return r.ready("default").Status == status }
				}
				r.Apply(testProvisioner("default"))
				r.until("it is ready", is(metav1.ConditionTrue))

				broken.Store(true)
				if c.edit != nil {
					r.Apply(testProvisioner("default", c.edit))
				}
				if c.quota {
					r.Quota(api.CapacityOnDemand, 0)
				}
				r.Deploy(sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("700m", "1Gi")})
				if took := r.until("it is not ready", is(metav1.ConditionFalse)); took > 2*time.Minute {
					t.Errorf("it took %s", took)
				}
				r.never(2*time.Minute, "it is ready while nothing can be bought", is(metav1.ConditionTrue))
				if got := r.ready("default"); got.Reason != c.reason || !strings.Contains(got.Message, c.says) {
					t.Errorf("reason %s (%s), want %s with %q", got.Reason, got.Message, c.reason, c.says)
				}
				if got := gauge(t, a.metrics, "provisioner_ready", "default", c.reason); got != 0 {
					t.Errorf("the metric says %v, want 0", got)
				}

				broken.Store(false)
				r.Apply(testProvisioner("default"))
				r.UnlimitedCapacity()
				r.until("the workload runs", r.allRun("web", 1))
				r.until("it is ready again", is(metav1.ConditionTrue))
				if got := gauge(t, a.metrics, "provisioner_ready", "default", view.ReasonReady); got != 1 {
					t.Errorf("the metric says %v, want 1", got)
				}
			})
		})
	}
}

// The type that could be bought in the last turn is looked at first. It decides nothing once it cannot be bought any more.
func TestReadyFollowsTheMarket(t *testing.T) {
	offered := func(name, unavailable string) offer.InstanceType {
		return offer.InstanceType{
			Name: name, Capacity: map[string]int64{"cpu": 2000},
			Labels:    map[string][]string{api.LabelOS: {"linux"}, api.LabelArch: {"amd64"}, api.LabelInstanceCategory: {"m"}, api.LabelInstanceGeneration: {"5"}},
			Offerings: []offer.Offering{{Zone: "a", CapacityType: api.CapacityOnDemand, Unavailable: unavailable}},
		}
	}
	raw := testProvisioner("default")
	p := &view.Provisioner{Raw: raw, Spec: raw.Defaulted()}
	v, h := &view.View{Snapshot: &cluster.Snapshot{}, Provisioners: []*view.Provisioner{p}}, newHistory()
	for _, step := range []struct {
		types   []offer.InstanceType
		buyable string
	}{
		{[]offer.InstanceType{offered("c5.large", ""), offered("m5.large", "")}, "c5.large"},
		{[]offer.InstanceType{offered("a1.large", ""), offered("c5.large", ""), offered("m5.large", "")}, "c5.large"},
		{[]offer.InstanceType{offered("c5.large", "short"), offered("m5.large", "")}, "m5.large"},
		{[]offer.InstanceType{offered("c5.large", "short"), offered("m5.large", "short")}, ""},
		{[]offer.InstanceType{offered("c5.large", "")}, "c5.large"},
	} {
		p.Market.Types = step.types
		h.setReady(v, obstacle{})
		if got := h.buyable["default"]; got != step.buyable || (p.Ready.Status == metav1.ConditionTrue) != (step.buyable != "") {
			t.Errorf("of %d types, %q can be bought, want %q; Ready is %s (%s)", len(step.types), got, step.buyable, p.Ready.Status, p.Ready.Message)
		}
	}
}

// Limits on what only some types have leave the others to be bought.
func TestLimitOnDevicesLeavesOtherTypes(t *testing.T) {
	p := &view.Provisioner{Raw: testProvisioner("default"), Spec: testProvisioner("default", func(s *api.ProvisionerSpec) {
		s.Limits = &api.Limits{Resources: corev1.ResourceList{"nvidia.com/gpu": {}}}
	})}
	with := offer.InstanceType{Name: "g5.xlarge", Capacity: map[string]int64{"cpu": 4000, "nvidia.com/gpu": 1}}
	without := offer.InstanceType{Name: "m5.large", Capacity: map[string]int64{"cpu": 2000}}
	if name := view.Exceeds(&without, nil, p.Limits()); name != "" {
		t.Errorf("the limit on %s binds a type without the device", name)
	}
	if full := limitReached([]offer.InstanceType{with}, nil, p.Limits()); !strings.Contains(full, "0 of its limit of 0 nvidia.com/gpu") {
		t.Errorf("%q, want the limit", full)
	}
}

// A limit of memory, what is used and what is needed are in like units.
func TestLimitOnMemoryIsInWords(t *testing.T) {
	p := &view.Provisioner{Raw: testProvisioner("default"), Spec: testProvisioner("default", func(s *api.ProvisionerSpec) {
		s.Limits = &api.Limits{Resources: corev1.ResourceList{"memory": resource.MustParse("16384Mi")}}
	})}
	large := offer.InstanceType{Name: "m5.large", Capacity: map[string]int64{"memory": 8 << 30}}
	want := "its nodes use 11.5Gi of its limit of 16Gi memory; the smallest type allowed, m5.large, needs 8Gi more"
	if got := limitReached([]offer.InstanceType{large}, amount.List{"memory": 12058624 << 10}, p.Limits()); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A limit on nodes is reached by their number, whatever they are.
func TestLimitOnNodesIsReached(t *testing.T) {
	p := &view.Provisioner{Raw: testProvisioner("default"), Spec: testProvisioner("default", func(s *api.ProvisionerSpec) {
		s.Limits = &api.Limits{Resources: corev1.ResourceList{amount.Nodes: resource.MustParse("2")}}
	})}
	types := []offer.InstanceType{{Name: "m5.large", Capacity: map[string]int64{"cpu": 2000}}}
	one := amount.List{"cpu": 2000}.OfNode()
	if name := view.Exceeds(&types[0], one, p.Limits()); name != "" {
		t.Errorf("the limit on %s is reached although one of two nodes is there", name)
	}
	if full := limitReached(types, one.Plus(one), p.Limits()); full != "it has 2 nodes, and its limit is 2" {
		t.Errorf("%q, want the limit", full)
	}
}

// Instances and nodes that nothing looks after are counted until somebody does. Those that
// Karpenter looks after are not.
func TestOwnerlessIsCounted(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default"))
		var stuck atomic.Bool
		a := r.start(Options{}, func(call string, when sim.When) error {
			if (call == "CreateNode" || call == "Terminate") && when == sim.Before && stuck.Load() {
				return errors.New("access denied")
			}
			return nil
		})
		counted := func(kind string, want float64) func() bool {
			return func() bool { return gauge(t, a.metrics, "ownerless", kind) == want }
		}
		r.AddNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "left", Labels: map[string]string{api.LabelProvisioner: "gone"}}})
		r.AddNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "foreign"}})
		r.LaunchByKarpenter(sim.Claimed{Pool: "general", Tagged: true, Candidate: karpenterBuys})
		r.until("the node is counted", counted("node", 1))
		r.Apply(testProvisioner("gone"))
		r.until("it has an owner", counted("node", 0))

		stuck.Store(true)
		r.NeverBoots(func(offer.Instance) bool { return true })
		r.Deploy(sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("6", "1Gi")})
		r.until("something is bought", func() bool { return len(r.Machines()) > 1 })
		time.Sleep(14 * time.Minute)
		if !counted("instance", 0)() {
			t.Error("a machine that may come up is counted")
		}
		r.until("it is counted", counted("instance", 1))
		r.NeverBoots(nil)
		stuck.Store(false)
		r.until("it is given back or has a node", counted("instance", 0))
		r.until("the workload runs", r.allRun("web", 1))
	})
}

// Who leads says so, and nobody else does.
func TestWhoLeadsIsAMetric(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		var agents []*Agent
		ctx, cancel := context.WithCancel(r.Context())
		var done sync.WaitGroup
		for range 2 {
			process := r.Connect(nil)
			a := New(process.Cluster, process.Cloud, Options{}, r.log)
			agents = append(agents, a)
			done.Go(func() {
				_ = process.Cluster.Lead(ctx, func(ctx context.Context) { _ = a.Run(ctx) })
			})
		}
		leaders := func() (n float64) {
			for _, a := range agents {
				n += gauge(t, a.metrics, "leading")
			}
			return n
		}
		r.until("one leads", func() bool { return leaders() == 1 })
		r.LoseLease()
		r.until("one leads again", func() bool { return leaders() == 1 })
		cancel()
		done.Wait()
		if got := leaders(); got != 0 {
			t.Errorf("%v lead after their end", got)
		}
	})
}
