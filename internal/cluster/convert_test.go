package cluster

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

func read[T any](t *testing.T, text string) *T {
	t.Helper()
	out := new(T)
	unmarshal(t, text, out)
	return out
}

func at(hour int) time.Time { return time.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC).Local() }

func TestFromNode(t *testing.T) {
	node := read[corev1.Node](t, `
metadata:
  name: n1
  creationTimestamp: "2026-01-01T01:00:00Z"
  deletionTimestamp: "2026-01-01T09:00:00Z"
  labels: {karpenter.sh/provisioner-name: default, karpenter.sh/initialized: "true"}
  annotations: {a: b}
  finalizers: [karpenter.sh/termination]
spec:
  providerID: aws:///eu-west-1a/i-1
  unschedulable: true
  taints: [{key: k, effect: NoSchedule}]
status:
  capacity: {cpu: 2}
  allocatable: {cpu: 1930m}
  conditions: [{type: Ready, status: "True", lastTransitionTime: "2026-01-01T02:00:00Z"}]`)
	csi := read[storagev1.CSINode](t, `
spec:
  drivers:
  - {name: ebs.csi.aws.com, nodeID: i-1, allocatable: {count: 25}}
  - {name: unlimited, nodeID: i-1}`)
	want := Node{
		Name:          "n1",
		ProviderID:    "aws:///eu-west-1a/i-1",
		Provisioner:   "default",
		Labels:        node.Labels,
		Annotations:   map[string]string{"a": "b"},
		Taints:        []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}},
		Capacity:      amount.List{"cpu": 2000},
		Allocatable:   amount.List{"cpu": 1930},
		Ready:         true,
		Initialized:   true,
		Unschedulable: true,
		Deleting:      true,
		DeletedAt:     at(9),
		Created:       at(1),
		ReadySince:    at(2),
		Finalizers:    []string{"karpenter.sh/termination"},
		VolumeLimits:  map[string]int64{"ebs.csi.aws.com": 25},
	}
	if diff := cmp.Diff(want, FromNode(node, csi)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestFromNodeThatIsNotUp(t *testing.T) {
	node := read[corev1.Node](t, `
metadata: {name: n1}
status: {conditions: [{type: Ready, status: "False", lastTransitionTime: "2026-01-01T02:00:00Z", message: the machine starts}]}`)
	if diff := cmp.Diff(Node{Name: "n1", UnreadySince: at(2), Unreadiness: "its kubelet has never reported"}, FromNode(node, nil)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	node.Status.Conditions[0].LastHeartbeatTime, node.Status.Conditions[0].Message = metav1.NewTime(at(3)), "no network plugin"
	if diff := cmp.Diff(Node{Name: "n1", UnreadySince: at(2), Unreadiness: "no network plugin"}, FromNode(node, nil)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	node.Labels = map[string]string{api.LabelInitialized: "true"}
	if got := FromNode(node, nil); got.Unreadiness != "" {
		t.Errorf("the words of a node that has been up are kept: %s", got.Unreadiness)
	}
}

// A kubelet that says that it is not ready answers; one of which nothing is known is
// silent.
func TestFromNodeThatIsSilent(t *testing.T) {
	got := FromNode(read[corev1.Node](t, `
metadata: {name: n1}
status: {conditions: [{type: Ready, status: Unknown, lastTransitionTime: "2026-01-01T02:00:00Z"}]}`), nil)
	if diff := cmp.Diff(Node{Name: "n1", UnreadySince: at(2), SilentSince: at(2), Unreadiness: "its kubelet has never reported"}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestFromDaemonSets(t *testing.T) {
	ds := read[appsv1.DaemonSet](t, `
metadata: {namespace: kube-system, name: logs}
spec:
  template:
    metadata: {labels: {app: logs}}
    spec:
      hostNetwork: true
      priorityClassName: system-node-critical
      tolerations: [{key: own}]
      containers: [{name: c, resources: {requests: {cpu: 4}}}]`)
	got := FromDaemonSets([]*appsv1.DaemonSet{ds}, nil)[0]
	if got.Namespace != "kube-system" || got.Name != "logs" || got.Template.Namespace != "kube-system" {
		t.Errorf("got %s/%s with a template of %q", got.Namespace, got.Name, got.Template.Namespace)
	}
	if !got.Template.DaemonSet || !got.Template.Critical || got.Template.Labels["app"] != "logs" {
		t.Errorf("got template %+v", got.Template)
	}
	var keys []string
	for _, tol := range got.Template.Tolerations {
		keys = append(keys, tol.Key+":"+string(tol.Effect))
	}
	want := []string{
		"own:",
		"node.kubernetes.io/not-ready:NoExecute", "node.kubernetes.io/unreachable:NoExecute",
		"node.kubernetes.io/disk-pressure:NoSchedule", "node.kubernetes.io/memory-pressure:NoSchedule",
		"node.kubernetes.io/pid-pressure:NoSchedule", "node.kubernetes.io/unschedulable:NoSchedule",
		"node.kubernetes.io/network-unavailable:NoSchedule",
	}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Errorf("tolerations: -want +got\n%s", diff)
	}
	if len(ds.Spec.Template.Spec.Tolerations) != 1 {
		t.Error("the DaemonSet itself was changed")
	}
	if diff := cmp.Diff(amount.List{"cpu": 4000, "pods": 1}, got.Template.Requests); diff != "" {
		t.Errorf("requests: -want +got\n%s", diff)
	}

	var pods []Pod
	for _, text := range []string{`
metadata: {namespace: kube-system, name: logs-a, creationTimestamp: "2026-01-02T00:00:00Z", ownerReferences: [{kind: DaemonSet, name: logs, controller: true}]}
spec: {nodeName: n, affinity: {nodeAffinity: {}}, containers: [{name: c, resources: {requests: {cpu: 1, memory: 1}}}]}`, `
metadata: {namespace: kube-system, name: logs-old, creationTimestamp: "2026-01-01T00:00:00Z", ownerReferences: [{kind: DaemonSet, name: logs, controller: true}]}
spec: {nodeName: n, containers: [{name: c, resources: {requests: {cpu: 2}}}]}`, `
metadata: {namespace: kube-system, name: logs-unbound, creationTimestamp: "2026-01-03T00:00:00Z", ownerReferences: [{kind: DaemonSet, name: logs, controller: true}]}
spec: {containers: [{name: c, resources: {requests: {cpu: 3}}}]}`} {
		pod, _ := NewTemplates().Pod(podFrom(t, text))
		pods = append(pods, pod)
	}
	got = FromDaemonSets([]*appsv1.DaemonSet{ds}, pods)[0]
	if diff := cmp.Diff(amount.List{"cpu": 4000, "memory": 1, "pods": 1}, got.Template.Requests); diff != "" {
		t.Errorf("requests beside bound pods: -want +got\n%s", diff)
	}
	if got.Template.Affinity != nil {
		t.Error("the bound pod's node affinity was taken for the template's")
	}
}

// Admission, such as that of the Vertical Pod Autoscaler, may lower requests. The newest pod shows it if it has been made
// from the template as it is now.
func TestRequestsOfDaemonSetsThatAdmissionLowers(t *testing.T) { // DS-004
	for name, c := range map[string]struct {
		annotations, labels string
		want                int64
	}{
		"a pod of this template":     {`deprecated.daemonset.template.generation: "3"`, `pod-template-generation: "3"`, 100},
		"a pod of an older template": {`deprecated.daemonset.template.generation: "3"`, `pod-template-generation: "2"`, 1000},
		"nobody says":                {"", "", 1000},
	} {
		ds := read[appsv1.DaemonSet](t, `{metadata: {namespace: n, name: logs, annotations: {`+c.annotations+`}}, spec: {template: {spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}}}}`)
		pod, _ := NewTemplates().Pod(podFrom(t, `
metadata: {namespace: n, name: logs-a, labels: {`+c.labels+`}, ownerReferences: [{kind: DaemonSet, name: logs, controller: true}]}
spec: {nodeName: n, containers: [{name: c, resources: {requests: {cpu: 100m}}}]}`))
		if got := FromDaemonSets([]*appsv1.DaemonSet{ds}, []Pod{pod})[0].Template.Requests[amount.CPU]; got != c.want {
			t.Errorf("%s: %dm CPU count, want %dm", name, got, c.want)
		}
	}
}

// TestDeletedDaemonSets: one that is being deleted puts no pods on new nodes.
func TestDeletedDaemonSets(t *testing.T) {
	ds := read[appsv1.DaemonSet](t, `
metadata: {namespace: kube-system, name: agent, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [foregroundDeletion]}
spec: {template: {spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}}}`)
	if got := FromDaemonSets([]*appsv1.DaemonSet{ds}, nil); len(got) != 0 {
		t.Errorf("got %v, want none", got)
	}
}

func TestFromDisruptionBudget(t *testing.T) {
	for name, c := range map[string]struct {
		budget  string
		want    int32
		healthy bool
	}{
		"up to date":             {`{metadata: {generation: 2}, status: {observedGeneration: 2, disruptionsAllowed: 3, currentHealthy: 5, desiredHealthy: 2}}`, 3, true},
		"just as many are ready": {`{metadata: {generation: 2}, status: {observedGeneration: 2, currentHealthy: 2, desiredHealthy: 2}}`, 0, true},
		"fewer are ready":        {`{metadata: {generation: 2}, status: {observedGeneration: 2, currentHealthy: 1, desiredHealthy: 2}}`, 0, false},
		"none has to be ready":   {`{metadata: {generation: 2}, status: {observedGeneration: 2, disruptionsAllowed: 1, currentHealthy: 1}}`, 1, false},
		"not up to date":         {`{metadata: {generation: 2}, status: {observedGeneration: 1, disruptionsAllowed: 3, currentHealthy: 5, desiredHealthy: 2}}`, 0, false},
		"without figures":        {`{metadata: {generation: 1}}`, 0, false},
	} {
		got := FromPodDisruptionBudget(read[policyv1.PodDisruptionBudget](t, c.budget))
		if got.DisruptionsAllowed != c.want || got.Healthy != c.healthy {
			t.Errorf("%s: it allows %d and is healthy: %t, want %d and %t", name, got.DisruptionsAllowed, got.Healthy, c.want, c.healthy)
		}
	}
}

// TestForbids: a budget keeps pods that are ready, and those that are not if too few others are. It never
// keeps one that has not been started.
func TestForbids(t *testing.T) {
	starting, unready, ready := Pod{}, Pod{Running: true}, Pod{Running: true, Ready: true}
	for name, c := range map[string]struct {
		budget                   PodDisruptionBudget
		starting, unready, ready bool
	}{
		"it allows none":                      {PodDisruptionBudget{}, false, true, true},
		"it allows one":                       {PodDisruptionBudget{DisruptionsAllowed: 1}, false, false, false},
		"it allows none, enough are ready":    {PodDisruptionBudget{Healthy: true}, false, false, true},
		"it allows none, and AlwaysAllow":     {PodDisruptionBudget{UnreadyAnyway: true}, false, false, true},
		"it allows one, and enough are ready": {PodDisruptionBudget{DisruptionsAllowed: 1, Healthy: true}, false, false, false},
	} {
		if s, u, r := c.budget.Forbids(&starting), c.budget.Forbids(&unready), c.budget.Forbids(&ready); s != c.starting || u != c.unready || r != c.ready {
			t.Errorf("%s: it keeps a pod that starts: %t, is not ready: %t, is ready: %t; want %t, %t, %t", name, s, u, r, c.starting, c.unready, c.ready)
		}
	}
}

func TestFromNamespace(t *testing.T) {
	got := FromNamespace(read[corev1.Namespace](t, `metadata: {name: shop, labels: {team: a}}`))
	if diff := cmp.Diff(Namespace{Name: "shop", Labels: map[string]string{"team": "a"}}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestFromClaim(t *testing.T) {
	fast, old := "fast", "old"
	for name, c := range map[string]struct {
		claim string
		want  Claim
	}{
		"bound": {`
metadata: {namespace: shop, name: data, uid: u1, annotations: {pv.kubernetes.io/bind-completed: "yes"}}
spec: {storageClassName: fast, volumeName: pv-1, accessModes: [ReadWriteOncePod]}`,
			Claim{Namespace: "shop", Name: "data", UID: "u1", VolumeName: "pv-1", StorageClass: &fast, AccessModes: []corev1.PersistentVolumeAccessMode{"ReadWriteOncePod"}}},
		"of the default class, in a file": {`metadata: {name: data}`, Claim{Name: "data", Planned: true}},
		"to be bound, in a file": {`
metadata: {name: data}
spec: {volumeName: pv-1}`, Claim{Name: "data", VolumeName: "pv-1", Planned: true}},
		"not bound yet": {`
metadata: {name: data, uid: u1}
spec: {volumeName: pv-1}`, Claim{Name: "data", UID: "u1", VolumeName: "pv-1", Binding: true}},
		"for a node": {`
metadata: {name: data, uid: u1, annotations: {volume.kubernetes.io/selected-node: n1}}`, Claim{Name: "data", UID: "u1", Selected: "n1"}},
		"being deleted": {`
metadata: {name: data, uid: u1, deletionTimestamp: "2026-01-01T00:00:00Z"}`, Claim{Name: "data", UID: "u1", Deleting: true}},
		"with the class as an annotation": {`
metadata: {name: data, uid: u1, annotations: {volume.beta.kubernetes.io/storage-class: old}}
spec: {storageClassName: fast}`,
			Claim{Name: "data", UID: "u1", StorageClass: &old}},
	} {
		if diff := cmp.Diff(c.want, FromClaim(read[corev1.PersistentVolumeClaim](t, c.claim))); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

func TestFromVolume(t *testing.T) {
	zones := func(key string, values ...string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
	}
	one := func(r ...corev1.NodeSelectorRequirement) *corev1.NodeSelector {
		return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: r}}}
	}
	for name, c := range map[string]struct {
		volume string
		want   Volume
	}{
		"CSI with an affinity": {`
metadata: {name: v}
spec:
  csi: {driver: ebs.csi.aws.com, volumeHandle: vol-1}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [a]}]}]}}`,
			Volume{Name: "v", Driver: "ebs.csi.aws.com", NodeAffinity: one(zones("zone", "a"))}},
		"in-tree EBS with labels": {`
metadata: {name: v, labels: {topology.kubernetes.io/zone: b__a}}
spec: {awsElasticBlockStore: {volumeID: vol-1}}`,
			Volume{
				Name: "v", Driver: "ebs.csi.aws.com", NodeAffinity: one(zones("topology.kubernetes.io/zone", "a", "b")),
				Labels: map[string]string{"topology.kubernetes.io/zone": "b__a"},
			}},
		"labels and an affinity hold together": {`
metadata: {name: v, labels: {topology.kubernetes.io/region: r}}
spec: {nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [a]}]}]}}}`,
			Volume{
				Name: "v", NodeAffinity: one(zones("zone", "a"), zones("topology.kubernetes.io/region", "r")),
				Labels: map[string]string{"topology.kubernetes.io/region": "r"},
			}},
		"what an unbound claim looks at": {`
metadata: {name: v, labels: {tier: fast}, annotations: {volume.beta.kubernetes.io/storage-class: old}}
spec:
  capacity: {storage: 1Ki}
  accessModes: [ReadWriteOnce]
  volumeMode: Block
  storageClassName: new
  claimRef: {namespace: shop, name: data, uid: u1}
status: {phase: Released}`,
			Volume{
				Name: "v", Unavailable: true, Claim: ClaimKey{"shop", "data", "u1"}, StorageClass: "old", Capacity: 1024,
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, Block: true, Labels: map[string]string{"tier": "fast"},
			}},
		"NFS is not limited": {`
metadata: {name: v}
spec: {nfs: {server: s, path: /}}`, Volume{Name: "v"}},
		"local": {`
metadata: {name: v}
spec: {local: {path: /}}`, Volume{Name: "v", Local: true}},
		"hostPath": {`
metadata: {name: v}
spec: {hostPath: {path: /}}`, Volume{Name: "v", Local: true}},
	} {
		if diff := cmp.Diff(c.want, FromVolume(read[corev1.PersistentVolume](t, c.volume))); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

func TestFromStorageClass(t *testing.T) { // VOL-028
	for name, c := range map[string]struct {
		class string
		want  StorageClass
	}{
		"CSI, default, late binding": {`
metadata: {name: fast, creationTimestamp: "2026-01-01T01:00:00Z", annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: ebs.csi.aws.com
volumeBindingMode: WaitForFirstConsumer
allowedTopologies: [{matchLabelExpressions: [{key: zone, values: [a]}]}]`,
			StorageClass{
				Name: "fast", Driver: "ebs.csi.aws.com", WaitForFirstConsumer: true, Default: true, Created: at(1),
				AllowedTopologies: []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: "zone", Values: []string{"a"}}}}},
			}},
		"in-tree EBS is served by the CSI driver": {`
metadata: {name: gp2}
provisioner: kubernetes.io/aws-ebs`, StorageClass{Name: "gp2", Driver: "ebs.csi.aws.com"}},
	} {
		if diff := cmp.Diff(c.want, FromStorageClass(read[storagev1.StorageClass](t, c.class))); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

func TestSelectorOfBudgetIsKept(t *testing.T) {
	got := FromPodDisruptionBudget(read[policyv1.PodDisruptionBudget](t, `
metadata: {namespace: shop, name: web}
spec: {selector: {matchLabels: {app: web}}}`))
	want := PodDisruptionBudget{Namespace: "shop", Name: "web", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// A heartbeat changes nothing, nor does what an autoscaler measures. All that decisions depend on does.
func TestSame(t *testing.T) { // CONS-057
	node := func(change func(*corev1.Node)) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", ResourceVersion: "1"}}
		n.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.NewTime(at(1)), LastTransitionTime: metav1.NewTime(at(1))}}
		change(n)
		return n
	}
	scaler := func(change func(*autoscalingv2.HorizontalPodAutoscaler)) *autoscalingv2.HorizontalPodAutoscaler {
		a := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "1"}}
		a.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{Kind: "Deployment", Name: "web"}
		change(a)
		return a
	}
	attachment := func(node string, attached bool) *storagev1.VolumeAttachment {
		return &storagev1.VolumeAttachment{Spec: storagev1.VolumeAttachmentSpec{NodeName: node}, Status: storagev1.VolumeAttachmentStatus{Attached: attached}}
	}
	for name, c := range map[string]struct {
		before, after any
		want          bool
	}{
		"a heartbeat": {node(func(*corev1.Node) {}), node(func(n *corev1.Node) {
			n.ResourceVersion, n.Status.Conditions[0].LastHeartbeatTime = "2", metav1.NewTime(at(2))
		}), true},
		"a kubelet falls silent": {node(func(*corev1.Node) {}), node(func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }), false},
		"a taint":                {node(func(*corev1.Node) {}), node(func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "a"}} }), false},
		"a label":                {node(func(*corev1.Node) {}), node(func(n *corev1.Node) { n.Labels = map[string]string{"a": "b"} }), false},
		"an annotation":          {node(func(*corev1.Node) {}), node(func(n *corev1.Node) { n.Annotations = map[string]string{"a": "b"} }), false},
		"less room": {node(func(*corev1.Node) {}), node(func(n *corev1.Node) {
			n.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
		}), false},
		"a measurement": {scaler(func(*autoscalingv2.HorizontalPodAutoscaler) {}), scaler(func(a *autoscalingv2.HorizontalPodAutoscaler) {
			a.ResourceVersion, a.Status.CurrentReplicas = "2", 3
		}), true},
		"another target":     {scaler(func(*autoscalingv2.HorizontalPodAutoscaler) {}), scaler(func(a *autoscalingv2.HorizontalPodAutoscaler) { a.Spec.ScaleTargetRef.Name = "db" }), false},
		"an attached volume": {attachment("a", false), attachment("a", true), true},
		"another node":       {attachment("a", true), attachment("b", true), false},
		"another kind":       {&corev1.Namespace{}, &corev1.Namespace{}, false},
	} {
		if got := Same(c.before, c.after); got != c.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}
