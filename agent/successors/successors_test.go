package successors

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// A pod of a database's own controller, which makes another one with its volume, is awaited like that of a StatefulSet.
func TestSuccessorsOfOtherControllers(t *testing.T) {
	var h Gone
	now := time.Now()
	broker := cluster.Pod{
		PodKey: cluster.PodKey{Namespace: "default", Name: "kafka-0"}, NodeName: "n", State: cluster.PodBound, Owner: cluster.Owner{Kind: "StrimziPodSet"},
		Template: &cluster.Template{Claims: []cluster.ClaimRef{{Name: "data-kafka-0"}}},
	}
	h.Await(&cluster.Snapshot{Pods: []cluster.Pod{broker}}, now)
	if s := h.Await(&cluster.Snapshot{}, now); len(s.Pods) != 1 || s.Pods[0].State != cluster.PodTerminating {
		t.Errorf("pods %+v, want the one that has gone", s.Pods)
	}
}

// Purchases look at the cluster at the same time, each with pods that have gone since. A write to
// a map beside another one ends the process.
func TestSuccessorsAreAwaitedByManyPurchases(t *testing.T) {
	var h Gone
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for k := range 200 {
				s := &cluster.Snapshot{}
				for j := range 20 {
					key := cluster.PodKey{Namespace: "default", Name: fmt.Sprint("db-", (i+k)%2*20+j)}
					s.Pods = append(s.Pods, cluster.Pod{PodKey: key, NodeName: "n", State: cluster.PodBound, Owner: cluster.Owner{Kind: "StatefulSet"}})
				}
				h.Await(s, time.Now())
				h.Resumes()
			}
		})
	}
	all.Wait()
	if len(h.Resumes()) == 0 {
		t.Error("no pod is remembered that has gone")
	}
}
