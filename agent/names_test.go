package agent

import (
	"slices"
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
)

// The caches of nodes stand still while a node goes, and a new machine gets its name. What is still to be done with
// the old node is not done with the new one: its pods stay, and so do its finalizer and the node.
func TestNameOfANodeThatCachesStillShow(t *testing.T) {
	for name, ended := range map[string]bool{"it was drained": false, "its machine has ended": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{StopTime: 20 * time.Second}, func(r *rig) {
				r.Apply(testProvisioner("default"))
				process := r.Connect(nil)
				f := &frozen{Cluster: process.Cluster, nodes: true, thawed: true, still: &cluster.Snapshot{}}
				r.startOn(f, process.Cloud, Options{})
				r.Deploy(two())
				r.until("the workload runs", r.allRun("web", 2))
				r.until("all nodes are up", r.allUp)
				time.Sleep(2 * time.Minute) // the machine is listed by now
				old, machine := r.ours()[0].Name, r.Machines()[0].ID
				r.Named(func(offer.Instance) string { return old })
				if !ended {
					r.DeleteNode(old)
					r.until("it is closed", func() bool { return r.node(old).Spec.Unschedulable })
					time.Sleep(2 * time.Second) // the caches show it by now
				}
				f.freeze()
				if ended {
					r.TerminateInstance(machine)
				}
				r.until("another machine has the name", func() bool {
					n := r.node(old)
					return n != nil && n.DeletionTimestamp == nil && len(r.Machines()) == 1 && r.Machines()[0].ID != machine
				})
				r.until("the workload runs", r.allRun("web", 2))
				before := r.uids("web")
				r.never(5*time.Minute, "the new node goes", func() bool {
					n := r.node(old)
					return n == nil || n.DeletionTimestamp != nil || !slices.Contains(n.Finalizers, api.Finalizer)
				})
				f.thaw()
				r.never(5*time.Minute, "the new node goes", func() bool { return r.node(old) == nil || r.node(old).DeletionTimestamp != nil })
				if after := r.uids("web"); !slices.Equal(before, after) {
					t.Errorf("pods before %v, and after %v", before, after)
				}
			})
		})
	}
}
