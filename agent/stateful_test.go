package agent

import (
	"strings"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/drain"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
)

// A StatefulSet's pod comes back under its name: while it stops, and until its
// successor is there, its node is not empty.
func TestNodeOfStatefulPodStays(t *testing.T) {
	for name, ttl := range map[string]int64{"after half a minute": 30, "at once": 0} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{StopTime: 90 * time.Second, ReactionTime: 2 * time.Second}, func(r *rig) {
				w := sim.Workload{Name: "db", Replicas: 1, Stateful: true, Spec: sim.Requests("300m", "300Mi")}
				w.Spec.TerminationGracePeriodSeconds = ptr.To[int64](120)
				a := r.served(testProvisioner("default", emptyAfter(ttl)), w)
				node := r.ours()[0].Name
				for range 3 {
					r.DeletePods("db")
					r.never(100*time.Second, "the node goes or another is bought", func() bool {
						n := r.ours()
						return len(n) != 1 || n[0].Name != node || n[0].DeletionTimestamp != nil || len(n[0].Spec.Taints) > 0 || len(r.Machines()) != 1
					})
					if strings.Contains(a.leavingOf(node).What, "empty") {
						t.Errorf("the page says %+v", a.leavingOf(node))
					}
					r.until("the successor runs", r.allRun("db", 1))
				}
				if got := len(r.Launches()); got != 1 {
					t.Errorf("%d launches, want 1", got)
				}
			})
		})
	}
}

// Where no successor comes, the node is empty as soon as that is sure.
func TestNodeOfStatefulPodWithoutSuccessor(t *testing.T) {
	for name, c := range map[string]struct {
		stop       time.Duration
		finalizers []string
		scale      bool
		most       time.Duration
	}{
		"scaled down":             {stop: 2 * time.Second, scale: true, most: drain.BalancerPatience + 15*time.Second},
		"its pod does not go":     {stop: 2 * time.Second, finalizers: []string{"example.com/hold"}, most: 22 * time.Minute},
		"its pod takes its grace": {stop: 20 * time.Second, scale: true, most: drain.BalancerPatience + 35*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{StopTime: c.stop}, func(r *rig) {
				r.served(testProvisioner("default", emptyAfter(0)), sim.Workload{
					Name: "db", Replicas: 1, Stateful: true, Spec: sim.Requests("300m", "300Mi"), Finalizers: c.finalizers,
				})
				node := r.ours()[0].Name
				if c.scale {
					r.Scale("db", 0)
				} else {
					r.DeletePods("db")
				}
				if took := r.until("the node is gone", r.gone(node)); took < c.stop || took > c.most {
					t.Errorf("it went after %s, want between %s and %s", took, c.stop, c.most)
				}
			})
		})
	}
}

// What was bought for a pod of a leaving node is not empty while that pod stops, nor until its successor is made.
func TestReplacementAwaitsPodThatStops(t *testing.T) {
	for name, c := range map[string]struct {
		ttl      int64
		replicas bool // of a ReplicaSet
		deleted  bool // by somebody; otherwise the node expires
		restart  bool // of the agent
	}{
		"StatefulSet":                               {ttl: 30},
		"StatefulSet, empty nodes go at once":       {},
		"StatefulSet, the agent restarts":           {ttl: 30, restart: true},
		"StatefulSet, somebody deletes the node":    {deleted: true},
		"ReplicaSet":                                {replicas: true},
		"ReplicaSet, somebody has deleted the node": {replicas: true, deleted: true},
	} {
		t.Run(name, func(t *testing.T) {
			options := sim.Options{StopTime: 90 * time.Second, ReactionTime: 2 * time.Second}
			if c.replicas {
				options.StopTime = time.Second // its successor is made while it stops, or soon after
			}
			inBubble(t, options, func(r *rig) {
				w := sim.Workload{Name: "db", Replicas: 1, Stateful: !c.replicas, Spec: sim.Requests("300m", "300Mi")}
				w.Spec.TerminationGracePeriodSeconds = ptr.To[int64](120)
				a := r.served(testProvisioner("default", emptyAfter(c.ttl), expireAfter(3600)), w)
				node := r.ours()[0].Name
				if c.deleted {
					r.DeleteNode(node)
				}
				r.until("a replacement is bought", func() bool { return len(r.Launches()) == 2 })
				if c.restart {
					r.until("the pod stops", func() bool { return r.count("db", isRunning) == 0 })
					a.kill()
					r.start(Options{}, nil)
				}
				r.until("the successor runs", func() bool { return r.gone(node)() && r.allRun("db", 1)() })
				if got := len(r.Launches()); got != 2 {
					t.Errorf("%d launches, want 2", got)
				}
				r.until("the workload has gone", func() bool { r.Scale("db", 0); return r.nothingLeft() })
			})
		})
	}
}
