package manifest

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

const sandboxed = `apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: sandboxed}
handler: runsc
overhead: {podFixed: {cpu: 250m, memory: 64Mi}}
scheduling: {nodeSelector: {runtime: sandbox}, tolerations: [{key: sandbox, operator: Exists}]}
---
`

// TestRuntimeClasses: pods get what their RuntimeClass says, as at their creation. Those that an
// API server has created have it already.
func TestRuntimeClasses(t *testing.T) {
	set := parse(t, sandboxed+`apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template: {spec: {runtimeClassName: sandboxed, nodeSelector: {disk: fast}, containers: [{name: a, resources: {requests: {cpu: 1}}}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: created}
spec: {runtimeClassName: sandboxed, overhead: {cpu: 250m}, containers: [{name: a, resources: {requests: {cpu: 1}}}]}
status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: log}
spec: {template: {spec: {runtimeClassName: sandboxed}}}
`)
	if found := set.Warnings(); len(found) > 0 {
		t.Errorf("warnings: %q", found)
	}
	toleration := corev1.Toleration{Key: "sandbox", Operator: corev1.TolerationOpExists}
	created, web := set.Snapshot.Pods[0].Template, set.Snapshot.Pods[1].Template
	if diff := cmp.Diff(&cluster.Template{
		Namespace: "default", SchedulerName: "default-scheduler", Labels: web.Labels, Requests: amount.List{"cpu": 1250, "memory": 64 << 20, "pods": 1},
		NodeSelector: map[string]string{"disk": "fast", "runtime": "sandbox"}, Tolerations: []corev1.Toleration{toleration},
	}, web); diff != "" {
		t.Errorf("the Deployment's: -want +got\n%s", diff)
	}
	if want := (amount.List{"cpu": 1250, "pods": 1}); cmp.Diff(want, created.Requests) != "" || len(created.NodeSelector)+len(created.Tolerations) > 0 {
		t.Errorf("a pod that exists has changed: %v", created)
	}
	daemon := set.Snapshot.DaemonSets[0].Template
	if want := (amount.List{"cpu": 250, "memory": 64 << 20, "pods": 1}); cmp.Diff(want, daemon.Requests) != "" || daemon.NodeSelector["runtime"] != "sandbox" || daemon.Tolerations[0] != toleration {
		t.Errorf("the DaemonSet's: %v", daemon)
	}
}

// TestConflictsWithRuntimeClasses: the API server refuses a pod that selects other nodes.
func TestConflictsWithRuntimeClasses(t *testing.T) {
	_, err := read(sandboxed + `apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  runtimeClassName: sandboxed
  nodeSelector: {disk: fast, runtime: runc}
`)
	const want = "in.yaml:13: document 2: Pod default/a: spec.nodeSelector[runtime]: conflicts with the node selector of the RuntimeClass sandboxed; remove it here"
	if err == nil || err.Error() != want {
		t.Errorf("error is\n%v\nand not\n%s", err, want)
	}
}

// TestDevices: pods tolerate the taints that are named after the devices that they request, as on EKS. Pods of a
// DaemonSet do so only if their template says it.
func TestDevices(t *testing.T) {
	set := parse(t, `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template: {spec: {containers: [{name: a, resources: {limits: {nvidia.com/gpu: 1, cpu: 1}}}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: alone}
spec:
  initContainers: [{name: i, resources: {requests: {aws.amazon.com/neuron: 1}, limits: {aws.amazon.com/neuron: 1}}}]
  containers: [{name: a, resources: {limits: {nvidia.com/gpu: 1}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: created}
spec: {containers: [{name: a, resources: {requests: {nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 1}}}]}
status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: log}
spec: {template: {spec: {containers: [{name: a, resources: {limits: {nvidia.com/gpu: 1}}}]}}}
`)
	tolerates := func(devices ...string) (out []corev1.Toleration) {
		for _, d := range devices {
			out = append(out, corev1.Toleration{Key: d, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule})
		}
		return out
	}
	pods := set.Snapshot.Pods
	want := [][]corev1.Toleration{tolerates("aws.amazon.com/neuron", "nvidia.com/gpu"), nil, tolerates("nvidia.com/gpu")}
	if diff := cmp.Diff(want, [][]corev1.Toleration{pods[0].Template.Tolerations, pods[1].Template.Tolerations, pods[2].Template.Tolerations}); diff != "" {
		t.Errorf("of alone, created and web: -want +got\n%s", diff)
	}
	if of := set.Snapshot.DaemonSets[0].Template.Tolerations; slices.ContainsFunc(of, func(t corev1.Toleration) bool { return t.Key == "nvidia.com/gpu" }) {
		t.Errorf("of the DaemonSet: %v", of)
	}
}
