package retire

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// What keeps a node is told by its kind: what passes by itself is quiet time, and worth no
// event.
func TestBlockers(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*Node)
		budgets []cluster.PodDisruptionBudget
		policy  Policy
		last    time.Time
		want    Blocker
	}{
		"nothing":                      {},
		"consolidation is off":         {change: func(n *Node) { n.Provisioner.Spec.Consolidation = nil }, want: BlockedOff},
		"a protected pod":              {change: func(n *Node) { n.Pods[0].Template.DoNotDisrupt = true }, want: BlockedProtection},
		"a pod that surge cannot move": {change: func(n *Node) { n.Pods[0].Covered, n.Pods[0].Held = true, "was not moved" }, want: BlockedProtection},
		"a budget of pods":             {budgets: []cluster.PodDisruptionBudget{{Namespace: "d", Name: "b", Selector: &metav1.LabelSelector{}}}, want: BlockedPDB},
		"it is not up":                 {change: func(n *Node) { n.Initialized = false }, want: BlockedQuiet},
		"pods are on their way to it":  {change: func(n *Node) { n.Nominated = true }, want: BlockedQuiet},
		"a pod came a moment ago":      {last: noon.Add(-time.Second), want: BlockedQuiet},
		"a pod of a Job":               {change: func(n *Node) { n.Pods[0].Owner.Kind = "Job" }, want: BlockedProtection},
		"a pod of a workflow": {change: func(n *Node) {
			n.Pods[0].Owner.Kind, n.Pods[0].Template.Ends = "Workflow", true
		}, want: BlockedProtection},
		"a pod of an unknown kind that goes on": {change: func(n *Node) { n.Pods[0].Owner.Kind = "RayCluster" }},
		"a pod without a controller that ends, allowed": {change: func(n *Node) {
			n.Pods[0].Owner.Kind, n.Pods[0].Template.Ends = "", true
		}, policy: Policy{EvictOwnerless: true}},
		"a static pod that ends": {change: func(n *Node) {
			n.Pods[0].Owner.Kind, n.Pods[0].Template.Ends, n.Pods[0].Template.Static = "Node", true, true
		}},
		"no window is open": {change: func(n *Node) {
			n.Provisioner.Spec.Disruption = &api.Disruption{Windows: []api.Window{{Schedule: "0 0 * * *", Duration: metav1.Duration{Duration: time.Hour}}}}
		}, want: BlockedBudget},
	} {
		n := up("n", provisioner(func(s *api.ProvisionerSpec) { s.Consolidation = &api.Consolidation{Enabled: ptr.To(true)} }), web())
		n.Pods[0].Running = true
		for _, key := range []string{api.LabelInstanceType, api.LabelCapacityType, api.LabelZone} {
			n.Labels[key] = "x"
		}
		if c.change != nil {
			c.change(n)
		}
		got := (&Case{DueNode: DueNode{Node: n, Reason: Consolidated}, Now: noon, PDBs: NewPDBs(c.budgets), Policy: c.policy}).Unmovable(c.last)
		if got.Blocker != c.want || (got.Why == "") != (c.want == "") {
			t.Errorf("%s: %q (%s), want %q", name, got.Blocker, got.Why, c.want)
		}
	}
}

// What ends by itself does not count as having come to stay.
func TestLastArrival(t *testing.T) {
	n := up("n", provisioner(nil), web(), web())
	n.Pods[0].Since = n.Created.Add(time.Minute)
	n.Pods[1].Since = n.Created.Add(time.Hour)
	n.Pods[1].Owner.Kind, n.Pods[1].Template.Ends = "TaskRun", true
	if got := n.LastArrival(); !got.Equal(n.Pods[0].Since) {
		t.Errorf("the last arrival is at %s, want %s", got, n.Pods[0].Since)
	}
}

// A pod that has long to stop disturbs its node when it is asked to, and not until it has stopped.
func TestLastChangeOfAStoppingPod(t *testing.T) {
	n := up("n", provisioner(nil), web())
	p := n.Pods[0]
	p.State, p.StopSince, p.StopBy = cluster.PodTerminating, noon.Add(-10*time.Minute), noon.Add(50*time.Minute)
	if got := n.LastChange(); !got.Equal(p.StopSince) {
		t.Errorf("it changed at %s, want %s", got, p.StopSince)
	}
}

// Pods that share an EBS volume stay on their node, because kube-scheduler may put their successors on several. Other
// volumes can be on several nodes, and an affinity keeps pods together.
func TestPodsThatShareAVolume(t *testing.T) {
	uses := func(names ...string) *cluster.Pod {
		p := web()
		for _, name := range names {
			p.Template.Claims = append(p.Template.Claims, cluster.ClaimRef{Name: name})
		}
		return p
	}
	follows := uses("disk")
	follows.Template.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: corev1.LabelHostname}}}}
	for name, of := range map[string]struct {
		pods []*cluster.Pod
		held bool
	}{
		"the same disk":                   {[]*cluster.Pod{uses("disk"), uses("files", "disk")}, true},
		"disks of their own":              {[]*cluster.Pod{uses("disk"), uses("other")}, false},
		"a file system":                   {[]*cluster.Pod{uses("files"), uses("files")}, false},
		"a disk for many nodes":           {[]*cluster.Pod{uses("many"), uses("many")}, false},
		"a disk, and the pod must follow": {[]*cluster.Pod{uses("disk"), follows}, false},
	} {
		s := &cluster.Snapshot{}
		for claim, driver := range map[string]string{"disk": cluster.EBSDriver, "files": "efs.csi.aws.com", "many": cluster.EBSDriver, "other": cluster.EBSDriver} {
			mode := corev1.ReadWriteOnce
			if claim == "many" {
				mode = corev1.ReadWriteMany
			}
			s.Claims = append(s.Claims, cluster.Claim{Namespace: web().Namespace, Name: claim, VolumeName: "pv-" + claim, AccessModes: []corev1.PersistentVolumeAccessMode{mode}})
			s.Volumes = append(s.Volumes, cluster.Volume{Name: "pv-" + claim, Driver: driver})
		}
		s.Sort()
		n := up("n", provisioner(nil), of.pods...)
		if got := sharing(&Case{DueNode: DueNode{Node: n}, Snapshot: s}); (got != "") != of.held {
			t.Errorf("%s: %q, want held: %t", name, got, of.held)
		}
	}
}
