package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
)

// shop is a cloud that sells to one Provisioner in its own way.
type shop struct {
	Cloud
	provisioner string
	sell        func(offer.Order) error // before the order is served
	asked       atomic.Int64
}

func (s *shop) Launch(ctx context.Context, o offer.Order) (offer.Delivery, error) {
	if o.Provisioner == s.provisioner {
		s.asked.Add(1)
		if err := s.sell(o); err != nil {
			return offer.Delivery{}, err
		}
	}
	return s.Cloud.Launch(ctx, o)
}

// with runs an agent on the shop until the test ends.
func (s *shop) with(r *rig) *running {
	process := r.Connect(nil)
	s.Cloud = process.Cloud
	return r.startOn(process.Cluster, s, Options{})
}

func on(provisioner string, spec corev1.PodSpec) corev1.PodSpec {
	spec.NodeSelector = map[string]string{api.LabelProvisioner: provisioner}
	return spec
}

// TestASlowPurchaseHoldsUpNobody has orders of one Provisioner that take a minute: pods of
// another one wait no longer than without it. What is being bought counts: pods that fit
// there cause no other purchase, and the limit holds.
func TestASlowPurchaseHoldsUpNobody(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("slow", limitCPU("2")))
		r.Apply(testProvisioner("quick"))
		shop := &shop{provisioner: "slow", sell: func(offer.Order) error { time.Sleep(time.Minute); return nil }}
		shop.with(r)
		r.Deploy(sim.Workload{Name: "first", Replicas: 1, Spec: on("slow", sim.Requests("500m", "256Mi"))})
		time.Sleep(5 * time.Second)
		r.Deploy(sim.Workload{Name: "beside", Replicas: 1, Spec: on("slow", sim.Requests("500m", "256Mi"))})
		r.Deploy(sim.Workload{Name: "toomuch", Replicas: 1, Spec: on("slow", sim.Requests("1800m", "1Gi"))})
		r.Deploy(sim.Workload{Name: "other", Replicas: 1, Spec: on("quick", sim.Requests("500m", "1Gi"))})
		took := r.until("a machine is there for the other Provisioner", func() bool { return len(r.Machines()) > 0 })
		if took > 5*time.Second {
			t.Errorf("waited %s for a purchase of another Provisioner", took)
		}
		r.until("the pods run", func() bool {
			return r.count("first", isRunning)+r.count("beside", isRunning)+r.count("other", isRunning) == 3
		})
		r.never(3*time.Minute, "a purchase beyond the limit", func() bool { return len(r.Machines()) > 2 })
		if n := shop.asked.Load(); n != 1 {
			t.Errorf("ordered %d times", n)
		}
	})
}

// crowded is a cloud that takes a second for an order and counts how many it is asked for at the same time.
type crowded struct {
	Cloud
	mu               sync.Mutex
	now, most, asked int
}

func (c *crowded) Launch(ctx context.Context, o offer.Order) (offer.Delivery, error) {
	c.count(1)
	defer c.count(-1)
	time.Sleep(time.Second)
	return c.Cloud.Launch(ctx, o)
}

func (c *crowded) count(change int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked, c.now = c.asked+max(change, 0), c.now+change
	c.most = max(c.most, c.now)
}

// TestOrdersOfAllProvisionersAreBounded has 40 Provisioners that order at the same time.
func TestOrdersOfAllProvisionersAreBounded(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		const provisioners = 40
		for i := range provisioners {
			name := fmt.Sprintf("team-%02d", i)
			r.Apply(testProvisioner(name))
			r.Deploy(sim.Workload{Name: name, Replicas: 1, Spec: on(name, sim.Requests("500m", "1Gi"))})
		}
		process := r.Connect(nil)
		cloud := &crowded{Cloud: process.Cloud}
		r.startOn(process.Cluster, cloud, Options{})
		r.until("all have a machine", func() bool { return len(r.Machines()) == provisioners })
		cloud.mu.Lock()
		defer cloud.mu.Unlock()
		if cloud.asked != provisioners || cloud.most != 32 {
			t.Errorf("ordered %d times, and %d at the same time, want %d and 32", cloud.asked, cloud.most, provisioners)
		}
	})
}

// TestPermanentErrorsAreNotRetriedInPlace has a Provisioner of which no order can be
// served: it pauses after the first attempt. The next has another launch id, because a cloud may answer the same
// one as before.
func TestPermanentErrorsAreNotRetriedInPlace(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("broken"))
		ids := map[string]bool{}
		shop := &shop{provisioner: "broken", sell: func(o offer.Order) error {
			ids[o.LaunchID] = true
			return offer.Permanent(errors.New("Invalid IAM instance profile"))
		}}
		shop.with(r)
		r.Deploy(sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("500m", "1Gi")})
		time.Sleep(4 * time.Second)
		if n := shop.asked.Load(); n != 1 {
			t.Errorf("ordered %d times in 4 s", n)
		}
		time.Sleep(5 * time.Second)
		if n := shop.asked.Load(); n != 2 || len(ids) != 2 {
			t.Errorf("ordered %d times in 9 s, under %d launch ids", n, len(ids))
		}
	})
}

// TestARefusalOfASlowPurchaseIsPlannedForAgain has a cloud that refuses after a minute.
func TestARefusalOfASlowPurchaseIsPlannedForAgain(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("slow"))
		var once atomic.Bool
		shop := &shop{provisioner: "slow", sell: func(offer.Order) error {
			if once.CompareAndSwap(false, true) {
				time.Sleep(time.Minute)
				return offer.Permanent(errors.New("no"))
			}
			return nil
		}}
		shop.with(r)
		r.Deploy(sim.Workload{Name: "web", Replicas: 2, Spec: sim.Requests("500m", "1Gi")})
		took := r.until("the pods run", r.allRun("web", 2))
		if took < time.Minute || took > 3*time.Minute {
			t.Errorf("took %s", took)
		}
		if len(r.Machines()) != 1 {
			t.Errorf("%d machines\n%s", len(r.Machines()), r.describe())
		}
	})
}

// TestAFailedPurchaseCountsUntilItIsKnown has an order fail whose machine comes nevertheless,
// when its pods were replaced by others that would be bought another one: the limit holds.
func TestAFailedPurchaseCountsUntilItIsKnown(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default", limitCPU("2")))
		shop := &shop{provisioner: "default"}
		began := time.Now()
		shop.sell = func(o offer.Order) error {
			if time.Since(began) > 15*time.Second {
				return nil
			}
			if shop.asked.Load() == 1 {
				time.AfterFunc(30*time.Second, func() { _, _ = shop.Cloud.Launch(r.Context(), o) })
			}
			return errors.New("the connection was reset")
		}
		shop.with(r)
		r.Deploy(sim.Workload{Name: "web", Replicas: 2, Spec: sim.Requests("500m", "1Gi")})
		time.Sleep(10 * time.Second)
		r.DeletePods("web")
		r.until("the pods run", r.allRun("web", 2))
		if peak := r.Peak("default")[amount.CPU] / 1000; peak > 2 {
			t.Errorf("%d cores, the limit is 2", peak)
		}
	})
}

// TestAnOrderThatWasNotSentCountsForNothing has an order fail before any machine is asked for: its limit is free at once
// for the pods that come next.
func TestAnOrderThatWasNotSentCountsForNothing(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default", limitCPU("2")))
		shop := &shop{provisioner: "default"}
		began := time.Now()
		shop.sell = func(offer.Order) error {
			if time.Since(began) > 15*time.Second {
				return nil
			}
			return offer.Unsent(errors.New("describe subnets: 503"))
		}
		shop.with(r)
		r.Deploy(sim.Workload{Name: "web", Replicas: 2, Spec: sim.Requests("500m", "1Gi")})
		time.Sleep(10 * time.Second)
		r.DeletePods("web")
		time.Sleep(30 * time.Second)
		if len(r.Machines()) != 1 {
			t.Errorf("%d machines half a minute later\n%s", len(r.Machines()), r.describe())
		}
	})
}

// TestAFailedPurchaseIsLookedForBeforeAnother has the machine of a slow order that fails be there nevertheless: it is
// found before another Provisioner buys one for the same pods.
func TestAFailedPurchaseIsLookedForBeforeAnother(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("first", func(s *api.ProvisionerSpec) { s.Weight = ptr.To[int32](10) }))
		r.Apply(testProvisioner("second"))
		shop := &shop{provisioner: "first"}
		shop.sell = func(o offer.Order) error {
			_, _ = shop.Cloud.Launch(r.Context(), o)
			return errors.New("the connection was reset")
		}
		shop.with(r)
		r.Deploy(sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("500m", "1Gi")})
		r.until("the pod runs", r.allRun("web", 1))
		if len(r.Machines()) != 1 {
			t.Errorf("%d machines\n%s", len(r.Machines()), r.describe())
		}
	})
}

// TestFailedPurchasesAreNoNodes has every order fail: nobody is told of nodes or of a price, but of what may have been
// bought, which the limit counts.
func TestFailedPurchasesAreNoNodes(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default", limitCPU("2")))
		shop := &shop{provisioner: "default", sell: func(offer.Order) error { return errors.New("internal error") }}
		a := shop.with(r)
		r.Deploy(sim.Workload{Name: "web", Replicas: 2, Spec: sim.Requests("500m", "1Gi")})
		r.until("a purchase is in doubt", func() bool {
			s := a.Status()
			return len(s.Provisioners) > 0 && s.Provisioners[0].Doubtful > 0
		})
		s := a.Status()
		if p := s.Provisioners[0]; p.Nodes != 0 || p.HourlyPrice != 0 || p.Limits[0].Used == "0" || len(s.Nodes) != 0 || s.HourlyPrice != 0 || len(s.Leaving) != 0 {
			t.Errorf("with no machine: %+v", s)
		}
		if !strings.Contains(s.Text(), "may have bought 1 machine. Limits") {
			t.Error(s.Text())
		}
		if n := gauge(t, a.metrics, "nodes", "default"); n != -1 {
			t.Errorf("%v nodes in the metrics", n)
		}
	})
}

// frozen is a cluster whose caches of some kinds stand still from the first pod that waits on, until they are
// told to go on.
type frozen struct {
	Cluster
	nodes, pods bool
	mu          sync.Mutex
	thawed      bool
	still       *cluster.Snapshot
}

func (f *frozen) Snapshot() *cluster.Snapshot {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := *f.Cluster.Snapshot()
	if f.still == nil && len(s.Pending()) > 0 {
		before := s
		f.still = &before
	}
	if f.still == nil || f.thawed {
		return &s
	}
	if f.nodes {
		s.Nodes = f.still.Nodes
	}
	if f.pods {
		s.Pods = f.still.Pods
	}
	return &s
}

func (f *frozen) freeze() {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := *f.Cluster.Snapshot()
	f.still, f.thawed = &s, false
}

func (f *frozen) thaw() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.thawed = true
}

// Caches that stand still for minutes cause no second purchase for the same pods.
func TestNothingIsBoughtTwiceWhileCachesStandStill(t *testing.T) {
	for name, f := range map[string]*frozen{"of nodes": {nodes: true}, "of pods": {pods: true}, "of both": {nodes: true, pods: true}} {
		for _, binding := range []api.PodBinding{api.BindImmediate, api.BindScheduler} {
			t.Run(name+", binding "+string(binding), func(t *testing.T) {
				inBubble(t, sim.Options{}, func(r *rig) {
					r.Apply(testProvisioner("default", func(s *api.ProvisionerSpec) {
						s.PodBinding, s.InstanceTypes = binding, []string{"m5.xlarge"} // which holds all of the pods
					}))
					process := r.Connect(nil)
					f := &frozen{Cluster: process.Cluster, nodes: f.nodes, pods: f.pods}
					r.startOn(f, process.Cloud, Options{})
					r.Deploy(sim.Workload{Name: "web", Replicas: 3, Spec: sim.Requests("900m", "1Gi")})
					r.until("a machine is bought", func() bool { return len(r.Machines()) > 0 })
					r.never(10*time.Minute, "more is bought", func() bool { return len(r.Machines()) > 1 })
					f.thaw()
					r.until("all run", r.allRun("web", 3))
					r.until("machines and nodes agree", r.agrees)
				})
			})
		}
	}
}
