package bind_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/bind"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/metrics"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/nodes"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// answer is what the API server says to every binding.
type answer struct{ err error }

func (a answer) Bind(context.Context, cluster.PodKey, string) error { return a.err }

var (
	web        = cluster.PodKey{Namespace: "default", Name: "web", UID: "1"}
	replicaSet = cluster.Owner{Kind: "ReplicaSet", Name: "web"}
)

// scene is a node of ours that is starting, and a pod that the scheduler has refused.
func scene() (*cluster.Snapshot, *api.Provisioner) {
	p := &api.Provisioner{}
	p.Name, p.UID = "default", "u"
	return &cluster.Snapshot{
		Nodes: []cluster.Node{{Name: "a", Provisioner: "default"}},
		Pods:  []cluster.Pod{{PodKey: web, State: cluster.PodPending, Owner: replicaSet, Template: &cluster.Template{Requests: amount.List{"cpu": 1000}, SchedulerName: corev1.DefaultSchedulerName}}},
	}, p
}

// tainted gives the node a taint.
func tainted(key string, effect corev1.TaintEffect) func(*cluster.Snapshot, *api.Provisioner) {
	return func(s *cluster.Snapshot, _ *api.Provisioner) {
		s.Nodes[0].Taints = []corev1.Taint{{Key: key, Effect: effect}}
	}
}

// The agent binds where kube-scheduler would not: a pod that it has refused, to a node
// of ours that is not up yet.
func TestBindsOnlyWhatTheSchedulerDoesNot(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*cluster.Snapshot, *api.Provisioner)
		bound  int
	}{
		"a starting node":                {func(*cluster.Snapshot, *api.Provisioner) {}, 1},
		"a node that is up":              {func(s *cluster.Snapshot, _ *api.Provisioner) { s.Nodes[0].Initialized = true }, 0},
		"a node that is ready":           {func(s *cluster.Snapshot, _ *api.Provisioner) { s.Nodes[0].Ready = true }, 0},
		"a node of others":               {func(s *cluster.Snapshot, _ *api.Provisioner) { s.Nodes[0].Provisioner = "" }, 0},
		"the scheduler is to bind":       {func(_ *cluster.Snapshot, p *api.Provisioner) { p.Spec.PodBinding = api.BindScheduler }, 0},
		"a pod of another scheduler":     {func(s *cluster.Snapshot, _ *api.Provisioner) { s.Pods[0].Template.SchedulerName = "volcano" }, 0},
		"a pod that is only presumed":    {func(s *cluster.Snapshot, _ *api.Provisioner) { s.Pods[0].PresumedUnschedulable = true }, 0},
		"a pod that its scheduler binds": {func(s *cluster.Snapshot, _ *api.Provisioner) { s.Pods[0].State = cluster.PodFailing }, 0},
		"a pod that needs devices":       {func(s *cluster.Snapshot, _ *api.Provisioner) { s.Pods[0].Template.Requests["nvidia.com/gpu"] = 1 }, 0},
		"a pod of a StatefulSet":         {func(s *cluster.Snapshot, _ *api.Provisioner) { s.Pods[0].Owner.Kind = "StatefulSet" }, 1},
		"a pod of a Job":                 {func(s *cluster.Snapshot, _ *api.Provisioner) { s.Pods[0].Owner.Kind = "Job" }, 0},
		"a pod of an unknown kind":       {func(s *cluster.Snapshot, _ *api.Provisioner) { s.Pods[0].Owner.Kind = "TaskRun" }, 0},
		"a pod without an owner":         {func(s *cluster.Snapshot, _ *api.Provisioner) { s.Pods[0].Owner = cluster.Owner{} }, 0},
		"a pod that has resource claims": {func(s *cluster.Snapshot, _ *api.Provisioner) { s.Pods[0].Template.ResourceClaims = true }, 0},
		"a pod that selects a label of a driver": {func(s *cluster.Snapshot, _ *api.Provisioner) {
			s.Pods[0].Template.NodeSelector = map[string]string{"topology.ebs.csi.aws.com/zone": "eu-west-1a"}
		}, 0},
		"a label that the driver has set": {func(s *cluster.Snapshot, _ *api.Provisioner) {
			s.Pods[0].Template.NodeSelector = map[string]string{"topology.ebs.csi.aws.com/zone": "eu-west-1a"}
			s.Nodes[0].Labels = map[string]string{"topology.ebs.csi.aws.com/zone": "eu-west-1a"}
		}, 1},
		"a Windows node": {func(s *cluster.Snapshot, _ *api.Provisioner) {
			s.Nodes[0].Labels = map[string]string{api.LabelOS: "windows"}
		}, 0},
		"a node that another program has tainted":   {tainted("example.com/scanning", corev1.TaintEffectNoExecute), 0},
		"a node that waits for Cilium":              {tainted("node.cilium.io/agent-not-ready", corev1.TaintEffectNoExecute), 0},
		"a node that has to become ready by a rule": {tainted("readiness.k8s.io/network", corev1.TaintEffectNoExecute), 0},
		"a node with the taints of a new one":       {tainted("node.kubernetes.io/not-ready", corev1.TaintEffectNoSchedule), 1},
		"a node that has lost its kubelet":          {tainted("node.kubernetes.io/not-ready", corev1.TaintEffectNoExecute), 1},
		"a node that somebody has cordoned":         {func(s *cluster.Snapshot, _ *api.Provisioner) { s.Nodes[0].Unschedulable = true }, 0},
		"a pod that tolerates cordons": {func(s *cluster.Snapshot, _ *api.Provisioner) {
			s.Nodes[0].Unschedulable = true
			s.Pods[0].Template.Tolerations = []corev1.Toleration{{Key: corev1.TaintNodeUnschedulable, Operator: corev1.TolerationOpExists}}
		}, 1},
		"a bare metal node": {func(s *cluster.Snapshot, _ *api.Provisioner) {
			s.Nodes[0].Labels = map[string]string{api.LabelOS: "linux", api.LabelInstanceSize: "metal-24xl"}
		}, 0},
	} {
		s, p := scene()
		c.change(s, p)
		b, v, fresh := binder(answer{}, s, p, nil)
		if got := b.BindAll(t.Context(), v, fresh, map[string][]cluster.PodKey{"a": {web}}); got != c.bound {
			t.Errorf("%s: bound %d, want %d", name, got, c.bound)
		}
	}
}

// Whoever cordons the nodes of a zone may do so before the agent has written to the Node object of a machine that it has
// just bought there.
func TestBindsNothingToANewNodeThatIsCordonedAlready(t *testing.T) {
	for _, cordoned := range []bool{false, true} {
		s, p := scene()
		bought := s.Nodes[0]
		s.Nodes[0].Unschedulable = cordoned
		b, v, fresh := binder(answer{}, s, p, nil)
		if got := b.Bind(t.Context(), fresh, &bought, v.ByName["default"], []cluster.PodKey{web}); (got == 0) != cordoned {
			t.Errorf("cordoned: %t, bound %d", cordoned, got)
		}
	}
}

// The agent binds no pod that would have to leave the node before its machine is up, or must not start on it
// yet.
func TestBindsOnlyPodsThatMayStay(t *testing.T) {
	short, long := ptr.To(int64(10)), ptr.To(int64(300))
	for name, c := range map[string]struct {
		startup     []corev1.Taint
		tolerations []corev1.Toleration
		bound       int
	}{
		"it stays for five minutes":       {nil, []corev1.Toleration{{Key: "node.kubernetes.io/not-ready", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: long}}, 1},
		"it stays for ten seconds":        {nil, []corev1.Toleration{{Key: "node.kubernetes.io/not-ready", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: short}}, 0},
		"it leaves an unreachable node":   {nil, []corev1.Toleration{{Key: "node.kubernetes.io/unreachable", Operator: "Exists", TolerationSeconds: short}}, 0},
		"it leaves for another reason":    {nil, []corev1.Toleration{{Key: "other", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: short}}, 1},
		"it is to wait":                   {[]corev1.Taint{{Key: "agent", Effect: "NoSchedule"}}, nil, 0},
		"it would be evicted":             {[]corev1.Taint{{Key: "agent", Effect: "NoExecute"}}, nil, 0},
		"it would rather wait":            {[]corev1.Taint{{Key: "agent", Effect: "PreferNoSchedule"}}, nil, 1},
		"it need not wait":                {[]corev1.Taint{{Key: "agent", Effect: "NoSchedule"}}, []corev1.Toleration{{Key: "agent", Operator: "Exists"}}, 1},
		"it tolerates one of two":         {[]corev1.Taint{{Key: "agent", Effect: "NoSchedule"}, {Key: "other", Effect: "NoExecute"}}, []corev1.Toleration{{Key: "agent", Operator: "Exists"}}, 0},
		"it tolerates everything":         {[]corev1.Taint{{Key: "agent", Effect: "NoExecute"}}, []corev1.Toleration{{Operator: "Exists"}}, 1},
		"it would be evicted in a moment": {[]corev1.Taint{{Key: "agent", Effect: "NoExecute"}}, []corev1.Toleration{{Key: "agent", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: short}}, 0},
	} {
		s, p := scene()
		p.Spec.StartupTaints, s.Pods[0].Template.Tolerations = c.startup, c.tolerations
		b, v, fresh := binder(answer{}, s, p, nil)
		if got := b.BindAll(t.Context(), v, fresh, map[string][]cluster.PodKey{"a": {web}}); got != c.bound {
			t.Errorf("%s: bound %d, want %d", name, got, c.bound)
		}
	}
}

// A node that is not up yet gets no more volumes than it can surely attach, except where its CSI
// driver has said how many these are.
func TestBindsFewVolumes(t *testing.T) {
	for name, c := range map[string]struct {
		there  int // claims of pods that are on the node
		limits map[string]int64
		bound  int
	}{
		"a new node":             {bound: 2 + 4},
		"a node that has some":   {there: 3, bound: 2 + 1},
		"a node that has many":   {there: 9, bound: 2},
		"a node with its limits": {there: 9, limits: map[string]int64{"ebs.csi.aws.com": 25}, bound: 2 + 10},
	} {
		s, p := scene()
		s.Pods, s.Nodes[0].VolumeLimits = nil, c.limits
		add := func(n, claims int, node string) (keys []cluster.PodKey) {
			for range n {
				key := cluster.PodKey{Namespace: "default", Name: fmt.Sprint("p", len(s.Pods)), UID: fmt.Sprint(len(s.Pods))}
				pod := cluster.Pod{PodKey: key, State: cluster.PodPending, Owner: replicaSet, Template: &cluster.Template{Claims: make([]cluster.ClaimRef, claims), SchedulerName: corev1.DefaultSchedulerName}}
				if node != "" {
					pod.State, pod.NodeName = cluster.PodBound, node
				}
				s.Pods, keys = append(s.Pods, pod), append(keys, key)
			}
			return keys
		}
		add(c.there, 1, "a")
		pods := append(add(2, 0, ""), add(10, 1, "")...)
		b, v, fresh := binder(answer{}, s, p, nil)
		if got := b.BindAll(t.Context(), v, fresh, map[string][]cluster.PodKey{"a": pods}); got != c.bound {
			t.Errorf("%s: bound %d, want %d", name, got, c.bound)
		}
	}
}

func binder(pods bind.Pods, s *cluster.Snapshot, p *api.Provisioner, calls map[string]int) (*bind.Binder, *view.View, *view.Verifier) {
	count := func(what string) func() { return func() { calls[what]++ } }
	b := bind.New(bind.Ports{
		Pods: pods, Assumed: nodes.NewAssumptions(), Metrics: metrics.New(), Log: hclog.NewNullLogger(),
		FirstSeen: func(string) time.Time { return time.Time{} }, Stale: count("stale"), Failed: count("failed"),
	})
	v := &view.View{Snapshot: s, ByName: map[string]*view.Provisioner{"default": {Raw: p, Spec: p.Defaulted()}}}
	return b, v, v.Verify(s, []*api.Provisioner{p})
}

// counted counts the bindings, and answers once the channel is closed.
type counted struct {
	n       atomic.Int32
	answers chan struct{}
}

func (c *counted) Bind(context.Context, cluster.PodKey, string) error {
	c.n.Add(1)
	<-c.answers
	return nil
}

// The node of a bound pod's unbound claims is selected again once a minute until the pod starts.
func TestRebind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := scene()
		pod := &s.Pods[0]
		pod.State, pod.NodeName, pod.Template.Claims = cluster.PodBound, "a", []cluster.ClaimRef{{Name: "data"}}
		s.Claims = []cluster.Claim{{Namespace: "default", Name: "data"}}
		pods, calls := &counted{answers: make(chan struct{})}, map[string]int{}
		close(pods.answers)
		b, v, _ := binder(pods, s, p, calls)
		bindings := func() int32 {
			b.Rebind(t.Context(), v)
			synctest.Wait()
			return pods.n.Load()
		}
		for _, step := range []struct {
			after time.Duration
			want  int32
		}{{0, 0}, {59 * time.Second, 0}, {time.Second, 1}, {30 * time.Second, 1}, {30 * time.Second, 2}} {
			v.Now = v.Now.Add(step.after)
			if got := bindings(); got != step.want {
				t.Fatalf("at %s: %d bindings, want %d", v.Now.Format(time.TimeOnly), got, step.want)
			}
		}
		for name, change := range map[string]func(){
			"a pod that runs":           func() { pod.Running = true },
			"a pod without claims":      func() { pod.Template.Claims = nil },
			"a claim that is bound":     func() { s.Claims[0].VolumeName = "pv" },
			"a claim that is not known": func() { pod.Template.Claims = []cluster.ClaimRef{{Name: "other"}} },
			"a pod on a node of others": func() { s.Nodes[0].Provisioner = "" },
		} {
			was, node, template, claim := *pod, s.Nodes[0], *pod.Template, s.Claims[0]
			change()
			v.Now = v.Now.Add(time.Hour)
			if got := bindings(); got != 2 {
				t.Errorf("%s: %d bindings, want 2 as before", name, got)
			}
			*pod, s.Nodes[0], *pod.Template, s.Claims[0] = was, node, template, claim
		}
	})
}

// A webhook on bindings that does not answer keeps nothing else waiting, and few calls wait for it.
func TestRebindDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := scene()
		template := &cluster.Template{Claims: []cluster.ClaimRef{{Name: "data"}}}
		s.Pods, s.Claims = nil, []cluster.Claim{{Namespace: "default", Name: "data"}}
		for i := range 40 {
			key := cluster.PodKey{Namespace: "default", Name: fmt.Sprint("p", i), UID: fmt.Sprint(i)}
			s.Pods = append(s.Pods, cluster.Pod{PodKey: key, State: cluster.PodBound, NodeName: "a", Template: template})
		}
		pods := &counted{answers: make(chan struct{})}
		b, v, _ := binder(pods, s, p, nil)
		for range 10 {
			b.Rebind(t.Context(), v)
			v.Now = v.Now.Add(time.Minute)
		}
		synctest.Wait()
		if got := pods.n.Load(); got == 0 || got >= 40 {
			t.Errorf("%d calls wait, want some of 40", got)
		}
		close(pods.answers)
		synctest.Wait()
		if got := pods.n.Load(); got != 40 {
			t.Errorf("%d calls, want one for each pod", got)
		}
		b.Rebind(t.Context(), v)
		synctest.Wait()
		if got := pods.n.Load(); got != 80 {
			t.Errorf("%d calls a while later, want another for each pod", got)
		}
	})
}

// A pod that has changed is planned again, and a binding that failed is tried again.
func TestWhatBecomesOfAPodThatIsNotBound(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want string // what is called
	}{
		"it has changed":            {cluster.ErrStale, "stale"},
		"the API server is away":    {errors.New("connection refused"), "failed"},
		"the scheduler has its way": {cluster.ErrLeftToScheduler, ""},
	} {
		s, p := scene()
		calls := map[string]int{}
		b, v, fresh := binder(answer{c.err}, s, p, calls)
		bound := b.BindAll(t.Context(), v, fresh, map[string][]cluster.PodKey{"a": {web}})
		if bound != 0 || c.want != "" && calls[c.want] != 1 || c.want == "" && len(calls) != 0 {
			t.Errorf("%s: bound %d, called %v, want %q", name, bound, calls, c.want)
		}
	}
}
