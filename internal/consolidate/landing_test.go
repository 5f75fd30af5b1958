package consolidate

import (
	"fmt"
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/pack"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/scheduler"
)

// crowd is the same cluster for both models of kube-scheduler.
type crowd struct {
	snapshot cluster.Snapshot
	nodes    map[string]*corev1.Node
	pods     map[apitypes.UID]*corev1.Pod
	kinds    []*cluster.Template
}

func newCrowd(r *rand.Rand) *crowd {
	c := &crowd{nodes: map[string]*corev1.Node{}, pods: map[apitypes.UID]*corev1.Pod{}}
	for range 4 {
		c.kinds = append(c.kinds, &cluster.Template{Requests: amount.List{amount.CPU: 100 + r.Int64N(2000), amount.Memory: (100 + r.Int64N(4000)) << 20, amount.Pods: 1}})
	}
	for i := range 2 + r.IntN(8) {
		n := cluster.Node{
			Name: fmt.Sprintf("n%d", i), Ready: true, Initialized: true, Provisioner: "p", Guide: r.IntN(cluster.MostGuide + 1),
			Labels:      map[string]string{api.LabelZone: string(rune('a' + r.IntN(3)))},
			Allocatable: amount.List{amount.CPU: 2000 + r.Int64N(8000), amount.Memory: (2000 + r.Int64N(30000)) << 20, amount.Pods: 4 + r.Int64N(20)},
		}
		c.snapshot.Nodes = append(c.snapshot.Nodes, n)
		c.nodes[n.Name] = &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels},
			Spec:       corev1.NodeSpec{Taints: cluster.WithGuide(nil, n.Guide)},
			Status:     corev1.NodeStatus{Allocatable: n.Allocatable.ResourceList()},
		}
	}
	return c
}

// add adds a pod of a kind, on a node or waiting.
func (c *crowd) add(kind int, node string) *corev1.Pod {
	uid := apitypes.UID(fmt.Sprintf("%d/%d", kind, len(c.pods)))
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid, OwnerReferences: []metav1.OwnerReference{{UID: apitypes.UID(rune('a' + kind)), Controller: ptr.To(true)}}}}
	p.Spec.NodeName = node
	c.pods[uid] = p
	return p
}

func (c *crowd) requests(p *corev1.Pod) (amount.List, bool) {
	return c.kinds[p.OwnerReferences[0].UID[0]-'a'].Requests, true
}

// Pods land where the simulated kube-scheduler puts them too, which the timelines are played with.
func TestLandingsAreThoseOfTheScheduler(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		c := newCrowd(r)
		for range r.IntN(20) {
			kind, at := r.IntN(len(c.kinds)), c.snapshot.Nodes[r.IntN(len(c.snapshot.Nodes))].Name
			c.snapshot.Pods = append(c.snapshot.Pods, cluster.Pod{NodeName: at, State: cluster.PodBound, Template: c.kinds[kind]})
			c.add(kind, at)
		}
		l := newLandings(&Problem{Base: pack.Problem{Snapshot: &c.snapshot}}, &work{})
		s := scheduler.New(c.nodes, c.pods, c.requests)
		for i := range 30 {
			kind := r.IntN(len(c.kinds))
			p := c.add(kind, "")
			want, got := s.Preferred(p), ""
			p.Spec.NodeName = want
			if at := l.land(c.kinds[kind]); at != nil {
				got = at.node.Name
			}
			if got != want {
				t.Fatalf("seed %d, pod %d: lands on %q, and kube-scheduler chooses %q", seed, i, got, want)
			}
		}
	}
}
