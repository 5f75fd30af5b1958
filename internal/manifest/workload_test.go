package manifest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const podTemplate = `
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}
`

const nightly = `
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  jobTemplate:
    spec:
      parallelism: 2
      template: {spec: {containers: []}}
`

func TestWorkloads(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"ReplicaSet": {`
apiVersion: apps/v1
kind: ReplicaSet
metadata: {namespace: shop, name: web}
spec:
  replicas: 2` + podTemplate, []string{"shop/web-0 pending of ReplicaSet web", "shop/web-1 pending of ReplicaSet web"}},
		"ReplicaSet of one by default": {`
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web}
spec:` + podTemplate, []string{"default/web-0 pending of ReplicaSet web"}},
		"ReplicationController": {`
apiVersion: v1
kind: ReplicationController
metadata: {name: web}
spec:` + podTemplate, []string{"default/web-0 pending of ReplicationController web"}},
		"scaled to zero": {`
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web}
spec:
  replicas: 0` + podTemplate, nil},
		"pods that exist count": {`
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web}
spec:
  replicas: 2` + podTemplate + `
---
apiVersion: v1
kind: Pod
metadata: {name: web-x, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: u, controller: true}]}
spec: {nodeName: n1}
---
apiVersion: v1
kind: Pod
metadata: {name: web-y, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: u, controller: true}]}
status: {phase: Failed}
`, []string{"default/web-0 pending of ReplicaSet web", "default/web-x bound on n1 of ReplicaSet web"}},
		"a Deployment leaves the pods to its ReplicaSet": {`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:` + podTemplate + `
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web-abc, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: u, controller: true}]}
spec:` + podTemplate, []string{"default/web-abc-0 pending of ReplicaSet web-abc"}},
		"pods of a Deployment count without its ReplicaSet": {`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:` + podTemplate + `
---
apiVersion: v1
kind: Pod
metadata: {name: web-abc-x, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-abc, uid: u, controller: true}]}
spec: {nodeName: n1}
`, []string{"default/web-abc-x bound on n1 of ReplicaSet web-abc"}},
		"Job": {`
apiVersion: batch/v1
kind: Job
metadata: {name: sum}
spec:
  parallelism: 3
  completions: 4` + podTemplate + `
status: {succeeded: 2}
`, []string{"default/sum-0 pending of Job sum", "default/sum-1 pending of Job sum"}},
		"a Job without completions": {`
apiVersion: batch/v1
kind: Job
metadata: {name: sum}
spec:
  parallelism: 2` + podTemplate + `
status: {active: 2}
`, []string{"default/sum-0 pending of Job sum", "default/sum-1 pending of Job sum"}},
		"a Job without completions, after a success": {`
apiVersion: batch/v1
kind: Job
metadata: {name: sum}
spec:
  parallelism: 3` + podTemplate + `
status: {succeeded: 2, active: 1}
`, []string{"default/sum-0 pending of Job sum"}},
		"suspended Job": {`
apiVersion: batch/v1
kind: Job
metadata: {name: sum}
spec:
  suspend: true` + podTemplate, nil},
		"a Job that has finished": {`
apiVersion: batch/v1
kind: Job
metadata: {name: sum}
spec:
  parallelism: 3` + podTemplate + `
status: {succeeded: 3, conditions: [{type: SuccessCriteriaMet, status: "True"}, {type: Complete, status: "True"}]}
`, nil},
		"a Job that has failed": {`
apiVersion: batch/v1
kind: Job
metadata: {name: sum}
spec:
  completions: 1` + podTemplate + `
status: {failed: 1, conditions: [{type: Suspended, status: "False"}, {type: Failed, status: "True"}]}
`, nil},
		"a Deployment that is being deleted": {`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [foregroundDeletion]}
spec:` + podTemplate, nil},
		"CronJob": {nightly, []string{"default/nightly-0 pending of Job nightly", "default/nightly-1 pending of Job nightly"}},
		"a CronJob beside a Job of it that has ended": {nightly + `---
apiVersion: batch/v1
kind: Job
metadata: {name: nightly-1, ownerReferences: [{apiVersion: batch/v1, kind: CronJob, name: nightly, uid: u, controller: true}]}
spec: {template: {spec: {containers: []}}}
status: {succeeded: 1, conditions: [{type: Complete, status: "True"}]}
`, []string{"default/nightly-0 pending of Job nightly", "default/nightly-1 pending of Job nightly"}},
		"gated pods wait": {`
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web}
spec: {template: {spec: {schedulingGates: [{name: g}], containers: []}}}
`, []string{"default/web-0 waiting of ReplicaSet web"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, podLines(parse(t, c.text).Snapshot.Pods)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// Files without pods get a remark about each object that might have had some, and files with
// pods get none.
func TestNoPods(t *testing.T) {
	const text = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 0` + podTemplate + `
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, deletionTimestamp: "2026-01-01T00:00:00Z"}
spec:` + podTemplate + `
---
apiVersion: batch/v1
kind: Job
metadata: {name: report}
spec:
  suspend: true` + podTemplate + `
---
apiVersion: batch/v1
kind: Job
metadata: {name: sum}
spec:
  completions: 2` + podTemplate + `
status: {succeeded: 2}
---
apiVersion: batch/v1
kind: Job
metadata: {name: total}
spec:` + podTemplate + `
status: {conditions: [{type: Failed, status: "True"}]}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  suspend: true
  jobTemplate: {spec: {template: {spec: {containers: []}}}}
---
apiVersion: v1
kind: Pod
metadata: {name: once}
status: {phase: Succeeded}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: log}
spec:` + podTemplate
	want := []string{
		"in.yaml:6: document 1: Deployment default/web: spec.replicas: leaves no pods to create (2 objects in all)",
		"in.yaml:14: document 2: StatefulSet default/db: metadata.deletionTimestamp: says that it is being deleted, so it gets no pods",
		"in.yaml:25: document 3: Job default/report: spec.suspend: is true, so there are no pods (2 objects in all)",
		"in.yaml:50: document 5: Job default/total: status.conditions: say that the Job has ended, so it gets no pods",
		"in.yaml:62: document 7: Pod default/once: status.phase: says that the pod has finished",
		"in.yaml:64: document 8: DaemonSet default/log: its pods come with the nodes that other pods need, so no machine is bought for them",
	}
	if diff := cmp.Diff(want, parse(t, text).Warnings()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if got := parse(t, text+"---\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\n").Warnings(); len(got) > 0 {
		t.Errorf("with a pod: %q", got)
	}
}

// Pods that exist keep their requests when a template is edited, and a remark says so. What admission has added
// to them is no edit.
func TestEditedTemplate(t *testing.T) {
	const files = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  template: {spec: {containers: [{name: main, resources: {requests: {cpu: CPU}}}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: web-5d-a, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-5d, uid: w, controller: true}]}
spec:
  nodeName: one
  containers: [{name: main, resources: {requests: {cpu: 500m, memory: 1Gi}}}, {name: added, resources: {requests: {cpu: 1}}}]
status: {phase: Running}
`
	const set = `---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web-5d, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: d, controller: true}]}
spec: {replicas: 1, template: {spec: {containers: [{name: main, resources: {requests: {cpu: 0.5}}}]}}}
`
	edited := []string{"in.yaml:7: document 1: Deployment default/web: spec.template.spec.containers[0].resources: some of its pods exist with another specification, and count as they are; to plan for its template, leave out these pods or give it another name"}
	for cpu, want := range map[string][]string{"0.5": nil, "8": edited} {
		for _, rest := range []string{"", set} {
			got := parse(t, strings.Replace(files, "CPU", cpu, 1)+rest)
			if diff := cmp.Diff(want, got.Warnings()); diff != "" || len(got.Snapshot.Pods) != 1 {
				t.Errorf("%s: %v\n%s", cpu, podLines(got.Snapshot.Pods), diff)
			}
		}
	}
}

func TestDeployment(t *testing.T) {
	const text = `
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: shop, name: web}
spec:
  replicas: 3` + podTemplate
	pods := parse(t, text).Snapshot.Pods
	if len(pods) != 3 {
		t.Fatalf("got %d pods, want 3", len(pods))
	}
	hash := pods[0].Template.Labels["pod-template-hash"]
	if hash == "" || pods[0].Owner.Name != "web-"+hash || pods[0].Name != "web-"+hash+"-0" {
		t.Errorf("got pod %s of %s with the hash %q", pods[0].Name, pods[0].Owner.Name, hash)
	}
	if pods[0].Template != pods[2].Template {
		t.Error("replicas do not share their template")
	}
	if diff := cmp.Diff(pods, parse(t, text).Snapshot.Pods); diff != "" {
		t.Errorf("reading again gives other pods: -want +got\n%s", diff)
	}
	other := parse(t, strings.Replace(text, "cpu: 1", "cpu: 2", 1)).Snapshot.Pods
	if other[0].Name == pods[0].Name {
		t.Error("another template has the same hash")
	}
}

func TestStatefulSet(t *testing.T) {
	set := parse(t, `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  ordinals: {start: 5}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {storageClassName: fast}`+podTemplate+`
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data-db-5}
spec: {volumeName: pv-5}
`)
	pods := set.Snapshot.Pods
	if diff := cmp.Diff([]string{"default/db-5 pending of StatefulSet db", "default/db-6 pending of StatefulSet db"}, podLines(pods)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	wantLabels := map[string]string{"app": "web", "apps.kubernetes.io/pod-index": "6", "statefulset.kubernetes.io/pod-name": "db-6"}
	if diff := cmp.Diff(wantLabels, pods[1].Template.Labels); diff != "" {
		t.Errorf("labels: -want +got\n%s", diff)
	}
	var claims []string
	for _, c := range set.Snapshot.Claims {
		claims = append(claims, c.Name+"="+c.VolumeName)
	}
	if diff := cmp.Diff([]string{"data-db-5=pv-5", "data-db-6="}, claims); diff != "" {
		t.Errorf("claims: -want +got\n%s", diff)
	}
	if got := pods[1].Template.Claims; len(got) != 1 || got[0].Name != "data-db-6" {
		t.Errorf("got claims %+v of the second pod", got)
	}
}

func TestStatefulSetGoesOnAfterItsPods(t *testing.T) {
	pods := parse(t, `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2`+podTemplate+`
---
apiVersion: v1
kind: Pod
metadata: {name: db-0, ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: u, controller: true}]}
spec: {nodeName: n1}
`).Snapshot.Pods
	if diff := cmp.Diff([]string{"default/db-0 bound on n1 of StatefulSet db", "default/db-1 pending of StatefulSet db"}, podLines(pods)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestStatefulSetFillsItsGaps: the pods that are missing are created, whatever their ordinals;
// one beyond the replicas is about to go.
func TestStatefulSetFillsItsGaps(t *testing.T) {
	pods := parse(t, `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 3`+podTemplate+`
---
apiVersion: v1
kind: Pod
metadata: {name: db-1, ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: u, controller: true}]}
spec: {nodeName: n1}
---
apiVersion: v1
kind: Pod
metadata: {name: db-7, ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: u, controller: true}]}
spec: {nodeName: n1}
`).Snapshot.Pods
	want := []string{
		"default/db-0 pending of StatefulSet db", "default/db-1 bound on n1 of StatefulSet db",
		"default/db-2 pending of StatefulSet db", "default/db-7 bound on n1 of StatefulSet db",
	}
	if diff := cmp.Diff(want, podLines(pods)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestEphemeralClaimsBelongToThePod(t *testing.T) {
	pods := parse(t, `
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web}
spec:
  replicas: 2
  template:
    spec:
      containers: []
      volumes: [{name: tmp, ephemeral: {volumeClaimTemplate: {spec: {}}}}]
`).Snapshot.Pods
	var got []string
	for _, p := range pods {
		got = append(got, p.Template.Claims[0].Name)
	}
	if diff := cmp.Diff([]string{"web-0-tmp", "web-1-tmp"}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestIndexedJob(t *testing.T) {
	pods := parse(t, `
apiVersion: batch/v1
kind: Job
metadata: {name: sum}
spec: {parallelism: 2, completions: 2, completionMode: Indexed, template: {spec: {containers: []}}}
`).Snapshot.Pods
	want := map[string]string{"batch.kubernetes.io/job-completion-index": "1", "batch.kubernetes.io/job-name": "sum", "job-name": "sum"}
	if diff := cmp.Diff(want, pods[1].Template.Labels); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestIndexesThatNeedNoPod: an indexed Job creates no pod for an index that has completed, has
// failed for good or has a pod.
func TestIndexesThatNeedNoPod(t *testing.T) {
	const job = `
apiVersion: batch/v1
kind: Job
metadata: {name: sum}
spec: {parallelism: 4, completions: 9, completionMode: Indexed, backoffLimitPerIndex: 1, template: {spec: {containers: []}}}
status: {completedIndexes: "0,3-4", failedIndexes: "2"}
---
apiVersion: v1
kind: Pod
metadata:
  name: sum-6-x
  annotations: {batch.kubernetes.io/job-completion-index: "6"}
  ownerReferences: [{apiVersion: batch/v1, kind: Job, name: sum, uid: u, controller: true}]
spec: {nodeName: n1}
`
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"as many as may run":  {job, []string{"1 pending", "5 pending", "6-x bound on n1", "7 pending"}},
		"as many as are left": {strings.Replace(job, "parallelism: 4", "parallelism: 100", 1), []string{"1 pending", "5 pending", "6-x bound on n1", "7 pending", "8 pending"}},
		"the rest has failed": {strings.Replace(job, `failedIndexes: "2"`, `failedIndexes: "1-2,5,7-8"`, 1), []string{"6-x bound on n1"}},
	} {
		t.Run(name, func(t *testing.T) {
			var want []string
			for _, line := range c.want {
				want = append(want, "default/sum-"+line+" of Job sum")
			}
			if diff := cmp.Diff(want, podLines(parse(t, c.text).Snapshot.Pods)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestDaemonSet(t *testing.T) {
	set := parse(t, `
apiVersion: apps/v1
kind: DaemonSet
metadata: {namespace: kube-system, name: logs}
spec:`+podTemplate+`
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Pod
  metadata: {namespace: kube-system, name: logs-old, creationTimestamp: "2026-01-01T00:00:00Z", ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: logs, uid: u, controller: true}]}
  spec: {nodeName: n1, containers: [{name: c, resources: {requests: {cpu: 5}}}]}
- apiVersion: v1
  kind: Pod
  metadata: {namespace: kube-system, name: logs-new, creationTimestamp: "2026-02-01T00:00:00Z", ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: logs, uid: u, controller: true}]}
  spec: {nodeName: n2, containers: [{name: c, resources: {requests: {cpu: 3}}}]}
`)
	if len(set.Snapshot.DaemonSets) != 1 || set.Snapshot.DaemonSets[0].Template.Requests["cpu"] != 3000 {
		t.Errorf("got %+v, want the requests of the newest pod, which are larger than the template's", set.Snapshot.DaemonSets)
	}
	if len(set.Snapshot.Pods) != 2 {
		t.Errorf("got %d pods, want only those that exist", len(set.Snapshot.Pods))
	}
}

// A file that was written by kubectl has the number of the template that the pods have, and the template may have been
// edited since.
func TestEditedDaemonSet(t *testing.T) {
	set := parse(t, `
apiVersion: apps/v1
kind: DaemonSet
metadata: {namespace: kube-system, name: logs, annotations: {deprecated.daemonset.template.generation: "1"}}
spec: {selector: {matchLabels: {app: logs}}, template: {metadata: {labels: {app: logs}}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 4}}}]}}}
---
apiVersion: v1
kind: Pod
metadata: {namespace: kube-system, name: logs-a, labels: {app: logs, pod-template-generation: "1"}, ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: logs, uid: u, controller: true}]}
spec: {nodeName: n1, containers: [{name: c, image: i, resources: {requests: {cpu: 3}}}]}
`)
	if got := set.Snapshot.DaemonSets[0].Template.Requests["cpu"]; got != 4000 {
		t.Errorf("%dm CPU count, want the 4 of the template", got)
	}
}
