package cluster

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const marked = `
status:
  phase: Pending
  conditions: [{type: PodScheduled, status: "False", reason: Unschedulable}]
`

// A pod that is not always started again ends by itself. That is also so where the API server has not set the default.
func TestPodsThatEnd(t *testing.T) {
	for policy, want := range map[string]bool{"": false, "Always": false, "OnFailure": true, "Never": true} {
		pod := podFrom(t, "spec: {restartPolicy: "+policy+"}")
		if got, _ := NewTemplates().Pod(pod); got.Template.Ends != want {
			t.Errorf("%q: it ends: %t, want %t", policy, !want, want)
		}
	}
}

func TestPodState(t *testing.T) {
	const failed = `status: {conditions: [{type: PodScheduled, status: "False", reason: SchedulerError}]}`
	for name, c := range map[string]struct {
		pod  string
		want PodState // empty: left out
	}{
		"marked unschedulable":                    {`spec: {}` + marked, PodPending},
		"not looked at by the scheduler yet":      {`status: {phase: Pending}`, PodNew},
		"gated":                                   {`spec: {schedulingGates: [{name: g}]}` + marked, PodWaiting},
		"gated, and reported so":                  {`{spec: {schedulingGates: [{name: g}]}, status: {conditions: [{type: PodScheduled, status: "False", reason: SchedulingGated}]}}`, PodWaiting},
		"not gated any more":                      {`status: {conditions: [{type: PodScheduled, status: "False", reason: SchedulingGated}]}`, PodNew},
		"scheduled but not seen as bound yet":     {`status: {conditions: [{type: PodScheduled, status: "True"}]}`, PodWaiting},
		"others are preempted for it":             {`spec: {}` + marked + `  nominatedNodeName: n`, PodWaiting},
		"being bound, and not looked at before":   {`status: {phase: Pending, nominatedNodeName: n}`, PodWaiting},
		"terminating before it was bound":         {`metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}` + marked, PodWaiting},
		"a DaemonSet's":                           {`metadata: {ownerReferences: [{kind: DaemonSet, name: d, controller: true}]}` + marked, PodWaiting},
		"a mirror of a static pod":                {`metadata: {annotations: {kubernetes.io/config.mirror: x}}` + marked, PodWaiting},
		"owned by its node":                       {`metadata: {ownerReferences: [{kind: Node, name: n, controller: true}]}` + marked, PodWaiting},
		"another scheduler's":                     {`spec: {schedulerName: theirs}` + marked, PodWaiting},
		"a scheduler's that is configured":        {`spec: {schedulerName: ours}` + marked, PodPending},
		"fits, and waits for its gang":            {`{spec: {schedulerName: ours}, status: {conditions: [{type: PodScheduled, status: "False", reason: Schedulable}]}}`, PodPending},
		"behind another pod of its gang":          {`{spec: {schedulerName: ours}, status: {conditions: [{type: PodScheduled, status: "False", reason: Undetermined}]}}`, PodPending},
		"its queue may use no more":               {`{spec: {schedulerName: ours}, status: {conditions: [{type: PodScheduled, status: "False", reason: SchedulingSkipped}]}}`, PodWaiting},
		"not gated any more, a configured one's":  {`{spec: {schedulerName: ours}, status: {conditions: [{type: PodScheduled, status: "False", reason: SchedulingGated}]}}`, PodNew},
		"the scheduler has failed":                {`{` + failed + `}`, PodFailing},
		"a configured scheduler has failed":       {`{spec: {schedulerName: ours}, ` + failed + `}`, PodFailing},
		"another scheduler has failed":            {`{spec: {schedulerName: theirs}, ` + failed + `}`, PodWaiting},
		"gated since the scheduler has failed":    {`{spec: {schedulingGates: [{name: g}]}, ` + failed + `}`, PodWaiting},
		"bound although it had failed before":     {`{spec: {nodeName: n}, ` + failed + `}`, PodBound},
		"a reason that is not kube-scheduler's":   {`{status: {conditions: [{type: PodScheduled, status: "False", reason: Schedulable}]}}`, PodWaiting},
		"the default scheduler's by name":         {`spec: {schedulerName: default-scheduler}` + marked, PodPending},
		"bound":                                   {`{spec: {nodeName: n}, status: {phase: Running}}`, PodBound},
		"bound but still marked":                  {`spec: {nodeName: n}` + marked, PodBound},
		"terminating on its node":                 {`{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}, spec: {nodeName: n}}`, PodTerminating},
		"succeeded":                               {`{spec: {nodeName: n}, status: {phase: Succeeded}}`, ""},
		"failed":                                  {`{spec: {nodeName: n}, status: {phase: Failed}}`, ""},
		"uses a claim of a resource: planned":     {`spec: {resourceClaims: [{name: r}]}` + marked, PodPending},
		"a ReplicaSet that is not its controller": {`metadata: {ownerReferences: [{kind: DaemonSet, name: d}]}` + marked, PodPending},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := NewTemplates("ours").Pod(podFrom(t, c.pod))
			if ok != (c.want != "") || got.State != c.want {
				t.Errorf("got %q (kept: %v), want %q", got.State, ok, c.want)
			}
		})
	}
}

// The API server sets no upper bound to grace periods.
func TestGracePeriods(t *testing.T) {
	longest := time.Duration(math.MaxInt64).Truncate(time.Second)
	deleted := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	for given, want := range map[int64]time.Duration{0: 0, 90: 90 * time.Second, int64(longest / time.Second): longest, int64(longest/time.Second) + 1: longest, math.MaxInt64: longest} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{TerminationGracePeriodSeconds: &given}}
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &deleted, &given
		if p, _ := NewTemplates().Pod(pod); p.Grace != want || p.StopBy.Sub(p.StopSince) != want {
			t.Errorf("%d seconds: %s, has been stopping for %s; want %s", given, p.Grace, p.StopBy.Sub(p.StopSince), want)
		}
	}
}

func TestPod(t *testing.T) {
	got, ok := NewTemplates().Pod(podFrom(t, `
metadata:
  namespace: shop
  name: web-1
  uid: u1
  creationTimestamp: "2026-01-02T03:04:05Z"
  labels: {app: web}
  annotations: {karpenter.sh/do-not-evict: "true", karpenter.sh/do-not-disrupt: 90m, controller.kubernetes.io/pod-deletion-cost: "-7"}
  ownerReferences: [{kind: Other, name: o}, {kind: ReplicaSet, name: web, uid: u2, controller: true}]
spec:
  nodeName: n1
  priority: 7
  priorityClassName: system-node-critical
  hostNetwork: true
  os: {name: windows}
  nodeSelector: {disk: fast}
  affinity: {}
  tolerations: [{key: gpu, operator: Exists}]
  topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]
  resourceClaims: [{name: r}]
  initContainers:
  - {name: once, ports: [{containerPort: 1}]}
  - {name: proxy, restartPolicy: Always, ports: [{containerPort: 15, hostIP: 0.0.0.0}]}
  containers:
  - {name: a, ports: [{containerPort: 80, hostPort: 80, protocol: UDP, hostIP: 10.0.0.1}, {containerPort: 15}]}
  volumes:
  - {name: z, persistentVolumeClaim: {claimName: data}}
  - {name: y, persistentVolumeClaim: {claimName: data}}
  - {name: tmp, ephemeral: {volumeClaimTemplate: {spec: {storageClassName: fast}}}}
  - {name: conf, configMap: {name: c}}
status:
  nominatedNodeName: n0
  conditions:
  - {type: PodScheduled, status: "True", lastTransitionTime: "2026-01-02T03:04:06Z"}
  - {type: Ready, status: "True"}
`))
	fast := "fast"
	want := Pod{
		PodKey:        PodKey{Namespace: "shop", Name: "web-1", UID: "u1"},
		NodeName:      "n1",
		NominatedNode: "n0",
		Owner:         Owner{Kind: "ReplicaSet", Name: "web", UID: "u2"},
		Created:       time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Local(),
		Since:         time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC).Local(),
		State:         PodBound,
		Ready:         true,
		DeletionCost:  -7, CostSet: true,
		Grace: 30 * time.Second,
		Template: &Template{
			Namespace:    "shop",
			Labels:       map[string]string{"app": "web"},
			Requests:     map[string]int64{"pods": 1},
			NodeSelector: map[string]string{"disk": "fast", "kubernetes.io/os": "windows"},
			Tolerations:  []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}},
			Spread:       []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: corev1.DoNotSchedule}},
			HostPorts: []HostPort{
				{Protocol: corev1.ProtocolTCP, Port: 15},
				{IP: "10.0.0.1", Protocol: corev1.ProtocolUDP, Port: 80},
			},
			Claims:          []ClaimRef{{Name: "data"}, {Name: "web-1-tmp", Ephemeral: true, StorageClass: &fast}},
			Priority:        7,
			SchedulerName:   "default-scheduler",
			DoNotDisrupt:    true,
			DoNotEvict:      true,
			DoNotDisruptFor: 90 * time.Minute,
			Critical:        true,
			ResourceClaims:  true,
		},
	}
	if !ok {
		t.Fatal("the pod was left out")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
