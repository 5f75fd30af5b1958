package agent

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
)

// The steps in this file let processes see the world as it was, or only a part of it, and let people
// change it meanwhile.

// stall keeps the caches of one kind as they were.
type stall struct {
	kind         string
	began, until time.Time
	snapshot     *cluster.Snapshot
	provisioners []*api.Provisioner
	starting     bool // processes that start see the world as it was, too
}

// kindsThatStall each have a watch of their own, which may fall behind the others.
var kindsThatStall = []string{"nodes", "pods", "deployments", "provisioners"}

func stallStep(d drawer, _ *scenario) step {
	kind, lasts := kindsThatStall[d.IntN(len(kindsThatStall))], d.duration(time.Second, 2*time.Minute)
	starting := d.chance(30)
	return step{name: fmt.Sprintf("the caches of %s stand still for %s (those of new processes: %t)", kind, lasts, starting), do: func(s *simulation) {
		c := s.Connect(nil).Cluster
		s.mu.Lock()
		defer s.mu.Unlock()
		s.stall = stall{kind, time.Now(), time.Now().Add(lasts), c.Snapshot(), c.Provisioners(), starting}
		time.AfterFunc(lasts, func() { s.EditNode("", nil) }) // which tells all that there is something to read
	}}
}

// laggard is a process's connection to the cluster, whose caches may stand still.
type laggard struct {
	*sim.Cluster
	s     *simulation
	since time.Time // a process that starts reads everything as it is, unless its API server lags, too
}

func (l *laggard) stalled(kind string) *stall {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	st := l.s.stall
	if st.kind != kind || !time.Now().Before(st.until) || st.began.Before(l.since) && !st.starting {
		return nil
	}
	return &st
}

func (l *laggard) Snapshot() *cluster.Snapshot {
	out := *l.Cluster.Snapshot()
	if st := l.stalled("nodes"); st != nil {
		out.Nodes = st.snapshot.Nodes
	}
	if st := l.stalled("pods"); st != nil {
		out.Pods = st.snapshot.Pods
	}
	if st := l.stalled("deployments"); st != nil {
		out.Deployments = st.snapshot.Deployments
	}
	return &out
}

func (l *laggard) Provisioners() []*api.Provisioner {
	if st := l.stalled("provisioners"); st != nil {
		return st.provisioners
	}
	return l.Cluster.Provisioners()
}

// leftOutStep makes the cloud leave machines out of its answers.
func leftOutStep(d drawer, _ *scenario) step {
	share, lasts := d.between(5, 60), d.duration(time.Second, 10*time.Minute)
	return step{name: fmt.Sprintf("the cloud leaves %d%% of the machines out of each answer for %s", share, lasts), do: func(s *simulation) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.leftOut, s.leftOutUntil = share, time.Now().Add(lasts)
	}}
}

// forgetful is a process's connection to the cloud, which may leave machines out: those that have a node,
// or that the process has been told of. Nobody could know of any other after the process that bought it.
type forgetful struct {
	*sim.Cloud
	s   *simulation
	met map[string]bool // by instance id
}

func (f *forgetful) Instances(ctx context.Context) ([]offer.Instance, error) {
	all, err := f.Cloud.Instances(ctx)
	return f.leave(all), err
}

func (f *forgetful) Find(ctx context.Context, ids []string) ([]offer.Instance, error) {
	all, err := f.Cloud.Find(ctx, ids)
	return f.leave(all), err
}

func (f *forgetful) leave(all []offer.Instance) []offer.Instance {
	s := f.s
	s.mu.Lock()
	defer s.mu.Unlock()
	noded := map[string]bool{}
	for _, n := range s.Nodes() {
		noded[n.Spec.ProviderID] = true
	}
	s.calls["answer"]++
	return slices.DeleteFunc(all, func(i offer.Instance) bool {
		h := fnv.New64a()
		fmt.Fprint(h, s.seed, i.ID, s.calls["answer"])
		known := noded[i.ProviderID] || f.met[i.ID]
		if known && time.Now().Before(s.leftOutUntil) && int(h.Sum64()>>8%100) < s.leftOut {
			return true
		}
		f.met[i.ID] = true
		return false
	})
}

// outageStep makes all calls to the cloud fail, at once or after they have hung.
func outageStep(d drawer, _ *scenario) step {
	lasts, hang := d.duration(time.Minute, 12*time.Minute), d.duration(0, 30*time.Second)
	return step{name: fmt.Sprintf("the cloud's calls hang for %s and fail, for %s", hang, lasts), do: func(s *simulation) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.trouble = trouble{until: time.Now().Add(lasts), cloud: 100, hang: hang}
	}}
}

// forceStep removes a node by force: whoever does so removes the finalizers too.
func forceStep(d drawer, _ *scenario) step {
	n := d.IntN(100)
	return step{name: "remove a node by force", do: func(s *simulation) {
		listed := s.listed()
		nodes := slices.DeleteFunc(s.ours(), func(n *corev1.Node) bool { return !listed[n.Spec.ProviderID] }) // something has to tell whose it is
		if len(nodes) == 0 {
			return
		}
		name := nodes[n%len(nodes)].Name
		s.DeleteNode(name)
		s.EditNode(name, func(n *corev1.Node) { n.Finalizers = nil })
	}}
}

// listed are the provider ids of the machines that the cloud lists as the cluster's.
func (s *simulation) listed() map[string]bool {
	out := map[string]bool{}
	all, _ := s.Connect(nil).Cloud.Instances(context.Background())
	for i := range all {
		out[all[i].ProviderID] = true
	}
	return out
}

// recreateStep deletes a Provisioner and creates it again once it is gone, as `terraform apply -replace`
// does. A budget that only nodes of a deleted Provisioner could satisfy would hold it up for ever.
func recreateStep(d drawer, sc *scenario) step {
	if slices.ContainsFunc(sc.workloads, func(w drawnWorkload) bool { return w.minAvailable > 0 }) {
		return forceStep(d, sc)
	}
	p := &sc.provisioners[d.IntN(len(sc.provisioners))]
	return step{name: "replace provisioner " + p.name, do: func(s *simulation) { s.DeleteProvisioner(p.name) }}
}

// recreate creates the Provisioners that recreateStep has deleted, once they are gone.
func (s *simulation) recreate() {
	for _, p := range s.scenario.provisioners {
		if s.Provisioner(p.name) == nil {
			s.Apply(p.spec())
		}
	}
}
