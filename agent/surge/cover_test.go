package surge

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// one is a cluster with one node and one pod of a Deployment that has asked for surge.
func one() *cluster.Snapshot {
	return &cluster.Snapshot{
		Nodes: []cluster.Node{{Name: "a", Provisioner: "default"}},
		Pods: []cluster.Pod{{
			PodKey: cluster.PodKey{Namespace: "d", Name: "web-1", UID: "1"}, NodeName: "a", State: cluster.PodBound, Ready: true,
			Owner:    cluster.Owner{Kind: "ReplicaSet", Name: "web-abc"},
			Template: &cluster.Template{Labels: map[string]string{"pod-template-hash": "abc"}},
		}},
		Deployments: []cluster.Deployment{{Namespace: "d", Name: "web", UID: "u", Surge: "true", Replicas: 1, Available: 1, Settled: true}},
	}
}

// Surge moves the pods of Deployments that ask for it, or whose nodes' Provisioner does, where one more
// pod can run beside the others.
func TestCover(t *testing.T) {
	claim := func(mode corev1.PersistentVolumeAccessMode) func(*cluster.Snapshot) {
		return func(s *cluster.Snapshot) {
			s.Pods[0].Template.Claims = []cluster.ClaimRef{{Name: "data"}}
			s.Claims = []cluster.Claim{{Namespace: "d", Name: "data", AccessModes: []corev1.PersistentVolumeAccessMode{mode}}}
		}
	}
	for name, c := range map[string]struct {
		change      func(*cluster.Snapshot)
		provisioner bool // asks for it
		failed      string
		covered     bool
		held        bool
	}{
		"it asks for it":                   {covered: true},
		"it does not ask":                  {change: func(s *cluster.Snapshot) { s.Deployments[0].Surge = "" }},
		"its Provisioner asks":             {change: func(s *cluster.Snapshot) { s.Deployments[0].Surge = "" }, provisioner: true, covered: true},
		"only its Provisioner asks":        {change: func(s *cluster.Snapshot) { s.Deployments[0].Surge = "false" }, provisioner: true},
		"an autoscaler scales it":          {change: func(s *cluster.Snapshot) { s.Deployments[0].Autoscaled = true }},
		"it must not run twice":            {change: func(s *cluster.Snapshot) { s.Deployments[0].Recreate = true }},
		"somebody has set a deletion cost": {change: func(s *cluster.Snapshot) { s.Pods[0].CostSet = true }},
		"the node is not ours":             {change: func(s *cluster.Snapshot) { s.Nodes[0].Provisioner = "" }},
		"the ReplicaSet is nobody's":       {change: func(s *cluster.Snapshot) { s.Pods[0].Owner.Name = "web" }},
		"the drain does not end it": {change: func(s *cluster.Snapshot) {
			s.Pods[0].Template.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		}},
		"a StatefulSet":           {change: func(s *cluster.Snapshot) { s.Pods[0].Owner.Kind = "StatefulSet" }},
		"a volume of its own":     {change: claim(corev1.ReadWriteOnce)},
		"a volume that is shared": {change: claim(corev1.ReadWriteMany), covered: true},
		"a volume that comes with the pod": {change: func(s *cluster.Snapshot) {
			s.Pods[0].Template.Claims = []cluster.ClaimRef{{Name: "x", Ephemeral: true}}
		}, covered: true},
		"a pod is not ready":                {change: func(s *cluster.Snapshot) { s.Deployments[0].Available = 0 }, covered: true, held: true},
		"it is rolled out":                  {change: func(s *cluster.Snapshot) { s.Deployments[0].Settled = false }, covered: true, held: true},
		"it could not be moved a while ago": {failed: "was not moved", covered: true, held: true},
	} {
		s := one()
		if c.change != nil {
			c.change(s)
		}
		p := &api.Provisioner{}
		if p.Name = "default"; c.provisioner {
			p.Spec.Annotations = map[string]string{api.AnnotationSurge: "true"}
		}
		got := cover(s, []*api.Provisioner{p}, func(string) string { return c.failed }).Pods[0]
		if got.Covered != c.covered || (got.Held != "") != c.held || got.State != cluster.PodBound {
			t.Errorf("%s: covered %t, held %q, %s", name, got.Covered, got.Held, got.State)
		}
		if s.Pods[0].Covered {
			t.Errorf("%s: the argument has changed", name)
		}
	}
}

// A pod needs no other place once another has been made in its place.
func TestCoverCountsPodsInTheirPlace(t *testing.T) {
	s := one()
	r := []cluster.Surge{{Namespace: "d", Deployment: "web", UID: "u", Replicas: 1, Pods: []cluster.SurgePod{{Name: "web-1", UID: "1"}}, Since: time.Now()}}
	s.Nodes[0].Annotations = change(r).SetAnnotations
	s.Deployments[0].Settled = false
	none := func(string) string { return "" }
	if got := cover(s, nil, none).Pods[0]; !got.Covered || got.Held != "" || got.State != cluster.PodBound {
		t.Errorf("before: %+v", got)
	}
	second := s.Pods[0]
	second.Name, second.UID, second.NodeName, second.State = "web-2", "2", "", cluster.PodNew
	s.Pods = append(s.Pods, second)
	if got := cover(s, nil, none).Pods; got[0].State != cluster.PodTerminating || got[1].State != cluster.PodNew {
		t.Errorf("after: %+v", got)
	}
	other := s.Nodes[0]
	other.Name, s.Nodes[0].Annotations = "b", nil
	s.Nodes = append(s.Nodes, other)
	if got := cover(s, nil, none).Pods[0]; got.State != cluster.PodBound {
		t.Errorf("after another node's record: %+v", got)
	}
}

// Each pod that has been made stands for one of those that leave, also while the others have not been made yet.
func TestCoverCountsEachPodThatIsMade(t *testing.T) {
	s := one()
	first, r := s.Pods[0], cluster.Surge{Namespace: "d", Deployment: "web", UID: "u", Replicas: 4}
	s.Pods = nil
	add := func(name, node string, state cluster.PodState) {
		p := first
		p.Name, p.UID, p.NodeName, p.State = name, name, node, state
		s.Pods = append(s.Pods, p)
	}
	for i := range 3 {
		name := fmt.Sprint("old-", i)
		add(name, "a", cluster.PodBound)
		r.Pods = append(r.Pods, cluster.SurgePod{Name: name, UID: name})
	}
	add("stays", "b", cluster.PodBound)
	s.Nodes = append(s.Nodes, cluster.Node{Name: "b", Provisioner: "default"})
	s.Nodes[0].Annotations = change([]cluster.Surge{r}).SetAnnotations
	s.Deployments[0].Replicas = 4
	check := func(when string, want int) {
		t.Helper()
		leave := 0
		for _, p := range cover(s, nil, func(string) string { return "" }).Pods[:3] {
			if p.State == cluster.PodBound && p.Covered {
				leave++
			}
		}
		if leave != want {
			t.Errorf("%s: %d pods need another place, want %d", when, leave, want)
		}
	}
	check("before", 3)
	add("new-0", "", cluster.PodNew)
	check("one has been made", 2)
	add("new-1", "", cluster.PodNew)
	check("two have been made", 1)
	s.Pods[0].State = cluster.PodTerminating
	check("one of those that leave has been evicted", 1)
	add("new-2", "", cluster.PodNew)
	check("all have been made", 0)
}

// A Deployment that cannot be scaled back does not let other nodes wait without limit.
func TestCoverHoldsPodsOfAnOverdueRecord(t *testing.T) {
	for age, held := range map[time.Duration]bool{patience: false, patience + 2*ending: true} {
		s := one()
		s.Nodes = append(s.Nodes, cluster.Node{Name: "b", Provisioner: "default"})
		s.Nodes[1].Annotations = change([]cluster.Surge{{
			Namespace: "d", Deployment: "web", UID: "u", Replicas: 1, Pods: []cluster.SurgePod{{Name: "web-0", UID: "0"}}, Since: time.Now().Add(-age),
		}}).SetAnnotations
		if got := cover(s, nil, func(string) string { return "" }).Pods[0]; !got.Covered || (got.Held != "") != held {
			t.Errorf("after %s: covered %t, held %q", age, got.Covered, got.Held)
		}
	}
}

// How many records a pod is compared with does not grow with those of other Deployments, also where nodes of
// many Deployments go at once.
func TestCoverLooksAtRecordsOfTheDeployment(t *testing.T) {
	for _, n := range []int{100, 1000} {
		var all []cluster.Surge
		for i := range n {
			name := fmt.Sprintf("web-%d", i/2) // on two nodes that go
			all = append(all, cluster.Surge{Namespace: "d", Deployment: name, UID: name}, cluster.Surge{Namespace: "e", Deployment: name, UID: name})
		}
		compared := 0
		for of, these := range index(all) {
			for _, k := range these {
				if r := &all[k]; r.Namespace != of.namespace || r.Deployment != of.name {
					t.Errorf("record %s is found for %v", r, of)
				}
			}
			compared += len(these) // for one pod of each
		}
		if compared != len(all) {
			t.Errorf("with %d records, one pod of each Deployment is compared with %d records together", len(all), compared)
		}
	}
}

// The pods of a Deployment are counted for each of its records, and not for those of another one.
func TestCoverCountsByDeployment(t *testing.T) {
	s := one()
	second := s.Pods[0]
	second.Name, second.UID, second.Owner.Name = "api-1", "2", "api-abc"
	s.Pods = append([]cluster.Pod{second}, s.Pods...)
	s.Nodes = append(s.Nodes, cluster.Node{Name: "b", Provisioner: "default"})
	for i, leaves := range []cluster.SurgePod{{Name: "web-1", UID: "1"}, {Name: "web-3", UID: "3"}} {
		s.Nodes[i].Annotations = change([]cluster.Surge{{Namespace: "d", Deployment: "web", UID: "u", Replicas: 1, Pods: []cluster.SurgePod{leaves}}}).SetAnnotations
	}
	c := &coverage{snapshot: s}
	for i := range s.Nodes {
		c.records = append(c.records, records(&s.Nodes[i])...)
	}
	c.of = index(c.records)
	if c.count(); c.others[0] != 0 || c.others[1] != 1 {
		t.Errorf("pods besides those that leave: %v", c.others)
	}
}
