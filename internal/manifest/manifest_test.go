package manifest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
)

// read reads one file's content.
func read(text string) (*Set, error) {
	b := NewBuilder()
	b.Add("in.yaml", []byte(text))
	return b.Build()
}

func parse(t *testing.T, text string) *Set {
	t.Helper()
	set, err := read(text)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// podLines shows pods as "namespace/name state node owner".
func podLines(pods []cluster.Pod) []string {
	var out []string
	for _, p := range pods {
		line := fmt.Sprintf("%s %s", p.PodKey, p.State)
		if p.NodeName != "" {
			line += " on " + p.NodeName
		}
		if p.Owner.Kind != "" {
			line += " of " + p.Owner.Kind + " " + p.Owner.Name
		}
		out = append(out, line)
	}
	return out
}

const mixed = `# the user's own
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: spare}
spec: {weight: 1}
--- # next
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: default}
spec: {providerRef: {name: profile}}
---
# nothing but a comment
---
apiVersion: karpenter.k8s.aws/v1alpha1
kind: AWSNodeTemplate
metadata: {name: profile}
spec: {userData: "--BOUNDARY\n"}
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Pod
  metadata: {name: plain}
  spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}
- apiVersion: v1
  kind: Pod
  metadata: {namespace: shop, generateName: job-}
  spec: {nodeName: n1, containers: []}
- apiVersion: v1
  kind: Pod
  metadata: {name: new}
  status: {phase: Pending}
- apiVersion: v1
  kind: Pod
  metadata: {name: done}
  status: {phase: Succeeded}
---
{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "status": {"capacity": {"cpu": "2", "pods": 5}}}
---
apiVersion: storage.k8s.io/v1
kind: CSINode
metadata: {name: n1}
spec: {drivers: [{name: ebs.csi.aws.com, nodeID: i, allocatable: {count: 9}}]}
---
apiVersion: v1
kind: Namespace
metadata: {name: team, labels: {a: b}}
`

func TestParse(t *testing.T) {
	set := parse(t, mixed)
	var names []string
	for _, p := range set.Provisioners {
		names = append(names, p.Name)
	}
	for _, n := range set.NodeTemplates {
		names = append(names, n.Name)
	}
	if diff := cmp.Diff([]string{"default", "spare", "profile"}, names); diff != "" {
		t.Errorf("configuration: -want +got\n%s", diff)
	}
	want := []string{"default/new new", "default/plain pending", "shop/job-5 bound on n1"}
	if diff := cmp.Diff(want, podLines(set.Snapshot.Pods)); diff != "" {
		t.Errorf("pods: -want +got\n%s", diff)
	}
	node := set.Snapshot.Nodes[0]
	if !node.Ready || node.Allocatable["cpu"] != 2000 || node.VolumeLimits["ebs.csi.aws.com"] != 9 {
		t.Errorf("got node %+v", node)
	}
	wantNamespaces := []cluster.Namespace{
		{Name: "default", Labels: map[string]string{"kubernetes.io/metadata.name": "default"}},
		{Name: "shop", Labels: map[string]string{"kubernetes.io/metadata.name": "shop"}},
		{Name: "team", Labels: map[string]string{"kubernetes.io/metadata.name": "team", "a": "b"}},
	}
	if diff := cmp.Diff(wantNamespaces, set.Snapshot.Namespaces); diff != "" {
		t.Errorf("namespaces: -want +got\n%s", diff)
	}
	said := []string{"in.yaml:33: document 4: Pod default/new: status: the scheduler has not looked at these pods yet, so nothing is planned for them; remove the status to plan for them"}
	if diff := cmp.Diff(said, set.Warnings()); diff != "" {
		t.Errorf("warnings: -want +got\n%s", diff)
	}
}

func TestOtherObjects(t *testing.T) {
	set := parse(t, `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {namespace: shop, name: data}
spec: {volumeName: pv}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv}
spec: {csi: {driver: ebs.csi.aws.com, volumeHandle: v}}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: ebs.csi.aws.com
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {maxUnavailable: 0}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 1000
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: usual}
globalDefault: true
value: 10
---
apiVersion: v1
kind: Pod
metadata: {name: high}
spec: {priorityClassName: high, containers: []}
---
apiVersion: v1
kind: Pod
metadata: {name: system}
spec: {priorityClassName: system-node-critical, containers: []}
---
apiVersion: v1
kind: Pod
metadata: {name: usual}
spec: {containers: []}
`)
	s := set.Snapshot
	if diff := cmp.Diff([]cluster.Claim{{Namespace: "shop", Name: "data", VolumeName: "pv", Planned: true}}, s.Claims); diff != "" {
		t.Errorf("claims: -want +got\n%s", diff)
	}
	if diff := cmp.Diff([]cluster.Volume{{Name: "pv", Driver: "ebs.csi.aws.com"}}, s.Volumes); diff != "" {
		t.Errorf("volumes: -want +got\n%s", diff)
	}
	if diff := cmp.Diff([]cluster.StorageClass{{Name: "fast", Driver: "ebs.csi.aws.com"}}, s.StorageClasses); diff != "" {
		t.Errorf("storage classes: -want +got\n%s", diff)
	}
	if diff := cmp.Diff([]cluster.PodDisruptionBudget{{Namespace: "default", Name: "web"}}, s.PodDisruptionBudgets); diff != "" {
		t.Errorf("budgets: -want +got\n%s", diff)
	}
	got := map[string]int32{}
	for _, p := range s.Pods {
		got[p.Name] = p.Template.Priority
	}
	if diff := cmp.Diff(map[string]int32{"high": 1000, "system": 2_000_001_000, "usual": 10}, got); diff != "" {
		t.Errorf("priorities: -want +got\n%s", diff)
	}
}

// TestPriorityClassesOfNoFile: that a class is in no file is said once, with the object that
// names it first.
func TestPriorityClassesOfNoFile(t *testing.T) {
	set := parse(t, `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      priorityClassName: high
---
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  priorityClassName: high
---
apiVersion: v1
kind: Pod
metadata: {name: known}
spec: {priorityClassName: lower, priority: 7}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: log}
spec: {template: {spec: {priorityClassName: low}}}
`)
	want := []string{
		"in.yaml:13: document 2: Pod default/a: spec.priorityClassName: no file has the PriorityClass high, so its value counts as 0 (2 objects in all); add the file that declares it",
		"in.yaml:23: document 4: DaemonSet default/log: spec.template.spec.priorityClassName: no file has the PriorityClass low, so its value counts as 0; add the file that declares it",
	}
	if diff := cmp.Diff(want, set.Warnings()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestDoubts: what is planned as it is written, but is probably not what the author means, is
// said once. It is not said of pods that an API server has completed.
func TestDoubts(t *testing.T) {
	set := parse(t, `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      containers: [{name: a, resources: {requests: {memory: 2000m}}}, {name: b, resources: {requests: {memory: 100m}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: a}
spec: {runtimeClassName: gvisor, containers: [{name: a, resources: {requests: {memory: 10E}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: b}
spec: {runtimeClassName: gvisor, containers: [{name: a, resources: {requests: {memory: 100m}}}]}
status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: log}
spec:
  template:
    spec: {runtimeClassName: gvisor, initContainers: [{name: a, resources: {requests: {memory: 1500m}}}]}
`)
	want := []string{
		"in.yaml:7: document 1: Deployment default/web: spec.template.spec.containers[1].resources.requests[memory]: 100m is a fraction of a byte; use a unit such as Mi: m means a thousandth",
		"in.yaml:12: document 2: Pod default/a: spec.runtimeClassName: no file has the RuntimeClass gvisor, so its overhead, node selector and tolerations do not count (2 objects in all); add the file that declares it",
		"in.yaml:25: document 4: DaemonSet default/log: spec.template.spec.initContainers[0].resources.requests[memory]: 1500m is a fraction of a byte; use a unit such as Mi: m means a thousandth",
	}
	if diff := cmp.Diff(want, set.Warnings()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestStorageClassesOfNoFile: that the class of a claim is in no file is said once, with the
// object that names it first.
func TestStorageClassesOfNoFile(t *testing.T) {
	set := parse(t, `apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 3
  template: {spec: {volumes: [{name: tmp, ephemeral: {volumeClaimTemplate: {spec: {storageClassName: fast}}}}]}}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {storageClassName: slow}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: other}
spec: {storageClassName: slow}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: usual}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: bound}
spec: {storageClassName: slow, volumeName: pv}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
volumeBindingMode: WaitForFirstConsumer
`)
	want := []string{
		"in.yaml:9: document 1: StatefulSet default/db: spec.volumeClaimTemplates[0].spec.storageClassName: no file has the StorageClass slow, so pods with claims of it are not placed (2 objects in all); add the file that declares it",
		"in.yaml:16: document 3: PersistentVolumeClaim default/usual: spec: no file has a default StorageClass, so pods whose claims name no class are not placed; add the file that declares it, or set storageClassName",
	}
	if diff := cmp.Diff(want, set.Warnings()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestStorageClassesThatDoNotWait: pods whose volumes are made first have a place, and that is said. It is not if
// their claims are of a cluster already.
func TestStorageClassesThatDoNotWait(t *testing.T) {
	set := parse(t, `apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  template: {spec: {volumes: [{name: tmp, ephemeral: {volumeClaimTemplate: {spec: {storageClassName: fast}}}}], containers: []}}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: other, uid: u1}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
`)
	want := []string{
		"in.yaml:6: document 1: StatefulSet default/db: spec.template.spec.volumes[0].ephemeral.volumeClaimTemplate.spec: the StorageClass fast makes volumes before pods have nodes, in zones that are not known yet: its pods are planned as if it waited (2 objects in all); set volumeBindingMode: WaitForFirstConsumer",
	}
	if diff := cmp.Diff(want, set.Warnings()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	volumes := match.NewVolumes(set.Snapshot)
	for i := range set.Snapshot.Pods {
		if _, miss := volumes.Needs(set.Snapshot.Pods[i].Template, false); miss.Missed() {
			t.Errorf("%s: %s", set.Snapshot.Pods[i].Name, miss)
		}
	}
	_, miss := volumes.Needs(&cluster.Template{Namespace: "default", Claims: []cluster.ClaimRef{{Name: "other"}}}, false)
	if want := "does not wait for a node"; !strings.Contains(miss.String(), want) {
		t.Errorf("a claim of a cluster: %q, want %q", miss, want)
	}
}

// TestPodsOfOthers: that nothing is planned for a pod is said, and why.
func TestPodsOfOthers(t *testing.T) {
	set := parse(t, `apiVersion: v1
kind: Pod
metadata: {name: a}
spec: {schedulerName: theirs}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: b}
spec:
  jobTemplate:
    spec: {template: {spec: {schedulingGates: [{name: quota}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: c}
spec: {schedulerName: theirs}
status: {nominatedNodeName: n1}
---
apiVersion: v1
kind: Pod
metadata: {name: d}
status: {conditions: [{type: PodScheduled, status: "False", reason: SchedulerError}]}
`)
	want := []string{
		"in.yaml:4: document 1: Pod default/a: spec.schedulerName: the scheduler theirs places these pods, so nothing is planned for them",
		"in.yaml:11: document 2: CronJob default/b: spec.jobTemplate.spec.template.spec.schedulingGates: pods wait until their scheduling gates are removed, and nothing is planned for them until then; remove the gates to plan for them",
		"in.yaml:22: document 4: Pod default/d: status: the scheduler cannot bind these pods because of an error, so nothing is bought for them; remove the status to plan for them",
	}
	if diff := cmp.Diff(want, set.Warnings()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestProblemsHaveTheirPlace(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"syntax": {
			"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---\n\nkind: [\n",
			[]string{
				"in.yaml:6: document 2: is not valid YAML from this line on: did not find expected node content",
			},
		},
		"wrong types in a Provisioner, each with its line": {
			"# c\n---\napiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata:\n  name: p\nspec:\n  weight: x\n  labels:\n    example.com/a: true\n",
			[]string{
				"in.yaml:10: document 1: Provisioner p: spec.labels[example.com/a]: true is a boolean, and must be a string; quote it",
				`in.yaml:8: document 1: Provisioner p: spec.weight: "x" is a string, and must be a whole number`,
			},
		},
		"a wrong type in a Pod": {
			"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  priority: high\n",
			[]string{`in.yaml:5: document 1: Pod default/a: spec.priority: "high" is a string, and must be a whole number`},
		},
		"several wrong types in a Pod, each with its line": {
			"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  priority: 99999999999\n  containers:\n  - name: a\n  - name: b\n    resources:\n      requests:\n        cpu: 1 core\n        memory: []\n  nodeSelector:\n    fast: true\n",
			[]string{
				`in.yaml:11: document 1: Pod default/a: spec.containers[1].resources.requests[cpu]: "1 core": must be a quantity such as 500m or 2Gi; the nearest valid value is "1"`,
				`in.yaml:12: document 1: Pod default/a: spec.containers[1].resources.requests[memory]: []: must be a quantity such as 500m or 2Gi; write it as a number with an optional unit, such as 2Gi`,
				"in.yaml:14: document 1: Pod default/a: spec.nodeSelector[fast]: true is a boolean, and must be a string; quote it",
				"in.yaml:5: document 1: Pod default/a: spec.priority: 99999999999 is a number, and must be from -2147483648 to 2147483647",
			},
		},
		"a template of Terraform": {
			"kind: NodePool\nmetadata:\n  name: ${name}\nspec:\n  %{ if taints != \"\" ~}\n  taints: []\n  %{ endif ~}\n",
			[]string{`in.yaml:5: document 1: holds the template %{ if taints != "" ~}, which was not rendered; render the file first, for example with helm template, kustomize build or envsubst`},
		},
		"limits of a Provisioner in a NodePool": {
			"apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec:\n  limits:\n    resources: {cpu: 1000}\n  template: {spec: {nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: a}, requirements: []}}\n",
			[]string{`in.yaml:6: document 1: NodePool a: spec.limits[resources]: {"cpu":1000}: must be a quantity such as 500m or 2Gi; write it as a number with an optional unit, such as 2Gi`},
		},
		"a field twice in JSON": {
			`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"priority": 1, "priority": 2}}`,
			[]string{"in.yaml:1: document 1: Pod default/a: spec.priority: appears twice; remove one of the two"},
		},
		"no object": {
			"metadata: a\nkind: Pod\n",
			[]string{`in.yaml:1: document 1: metadata: "a" is a string, and must be an object`},
		},
		"a wrong item of a list": {
			"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: a}}\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: b}\n  spec: {priority: high}\n",
			[]string{`in.yaml:8: document 1: Pod default/b: spec.priority: "high" is a string, and must be a whole number`},
		},
		"the same object twice": {
			"kind: Pod\napiVersion: v1\nmetadata: {name: a}\n---\nkind: Pod\napiVersion: v1\nmetadata:\n  namespace: default\n  name: a\n",
			[]string{"in.yaml:9: document 2: Pod default/a: metadata.name: in.yaml, document 1, has an object of this kind and name; remove or rename one of the two"},
		},
		"too many replicas": {
			"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  replicas: 2000000000\n  template: {spec: {containers: [{name: a}]}}\n",
			[]string{"in.yaml:5: document 1: Deployment default/a: spec.replicas: 2000000000 pods are to be created, at most 1000000 are read"},
		},
		"a name that was not rendered": {
			"apiVersion: v1\nkind: Pod\nmetadata: {name: \"${NAME}\"}\n",
			[]string{`in.yaml:3: document 1: Pod default/${NAME}: metadata.name: "${NAME}" holds the template ${NAME}, which was not rendered; render the file first, for example with helm template, kustomize build or envsubst`},
		},
		"a name with a space": {
			"apiVersion: v1\nkind: Pod\nmetadata: {name: a b}\n",
			[]string{`in.yaml:3: document 1: Pod default/a b: metadata.name: Invalid value: "a b": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		},
		"no name": {
			"kind: Pod\napiVersion: v1\n",
			[]string{"in.yaml:1: document 1: Pod: metadata.name: is missing"},
		},
		"a version that was": {
			"kind: Deployment\nmetadata: {name: a}\napiVersion: extensions/v1beta1\n",
			[]string{`in.yaml:3: document 1: Deployment a: apiVersion: Invalid value: "extensions/v1beta1": API servers do not serve a Deployment in this version; write apps/v1`},
		},
		"a version that may come": {
			"apiVersion: apps/v7\nkind: Deployment\nmetadata: {name: a}\n",
			[]string{`in.yaml:1: document 1: Deployment a: apiVersion: Invalid value: "apps/v7": API servers do not serve a Deployment in this version; write apps/v1`},
		},
		"another group's version": {
			"apiVersion: v1\nkind: CronJob\nmetadata: {name: a}\n",
			[]string{`in.yaml:1: document 1: CronJob a: apiVersion: Invalid value: "v1": API servers do not serve a CronJob in this version; write batch/v1`},
		},
		"no version": {
			"kind: Pod\nmetadata: {name: a}\n",
			[]string{"in.yaml:1: document 1: Pod a: apiVersion: Required value; write v1"},
		},
		"no kind": {
			"a: b\n",
			[]string{"in.yaml:1: document 1: kind: is missing"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(c.text)
			var got []string
			for _, p := range Problems(err) {
				got = append(got, p.Error())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestOneBrokenDocumentLeavesTheOthers(t *testing.T) {
	set, err := read("kind: [\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\n")
	var problem *Error
	if !errors.As(err, &problem) || problem.Document != 1 {
		t.Errorf("got %v, want an *Error of document 1", err)
	}
	if diff := cmp.Diff([]string{"default/a pending"}, podLines(set.Snapshot.Pods)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestWarnings(t *testing.T) {
	set := parse(t, `apiVersion: v1
kind: Service
metadata: {name: web}
---
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
  - name: c
    imagee: x
---
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: p, namespace: x}
spec:
  userData: x
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: j}
---
apiVersion: v1
kind: Node
metadata: {name: bare}
status:
  capacity: {cpu: 4}
---
apiVersion: v1
kind: Deploymnt
metadata: {name: d}
`)
	want := []string{
		"in.yaml:11: document 2: Pod default/a: spec.containers[0].imagee: unknown field, ignored; did you mean image?",
		"in.yaml:17: document 3: Provisioner p: spec.userData: unknown field, ignored; it belongs to an AWSNodeTemplate, at spec.userData",
		"in.yaml:15: document 3: Provisioner p: metadata.namespace: Provisioners belong to no namespace, ignored; remove it",
		"in.yaml:27: document 5: Node bare: status.capacity: allows no pods, so none fits on the node; give their number, such as pods: 110",
		"in.yaml: ignored: Service web, Job j (of batch.volcano.sh/v1alpha1, not of batch/v1), Deploymnt d (did you mean Deployment?)",
	}
	if diff := cmp.Diff(want, set.Warnings()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.yaml"), filepath.Join(dir, "b.yaml")
	for path, name := range map[string]string{a: "first", b: "second"} {
		text := "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\n"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set, err := Read(a, filepath.Join(dir, "absent.yaml"), b)
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "absent.yaml") {
		t.Errorf("got error %v, want that absent.yaml does not exist", err)
	}
	if diff := cmp.Diff([]string{"default/first pending", "default/second pending"}, podLines(set.Snapshot.Pods)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestPriorityBesideACluster: pods get the priority of the cluster's classes, unless a file has the class too.
func TestPriorityBesideACluster(t *testing.T) {
	class := func(name string, value int32, fallback bool) *schedulingv1.PriorityClass {
		return &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value, GlobalDefault: fallback}
	}
	b := NewBuilder()
	b.Add("in.yaml", []byte(`
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: low}
value: 2
---
apiVersion: v1
kind: Pod
metadata: {name: a}
---
apiVersion: v1
kind: Pod
metadata: {name: b}
spec: {priorityClassName: low}
`))
	b.Beside(&cluster.Survey{Snapshot: &cluster.Snapshot{}, PriorityClasses: []*schedulingv1.PriorityClass{class("usual", 5, true), class("low", 1, false)}})
	set, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	if a, b := set.Snapshot.Pods[0].Template.Priority, set.Snapshot.Pods[1].Template.Priority; a != 5 || b != 2 {
		t.Errorf("priorities %d and %d, want 5 and 2", a, b)
	}
}

// TestLimitRange: containers that ask for nothing get the default requests of their namespace.
func TestLimitRange(t *testing.T) {
	const pod = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: NAME, namespace: IN}\nspec: {containers: [{name: a, resources: {HAS}}]}\n"
	text := "apiVersion: v1\nkind: LimitRange\nmetadata: {name: usual, namespace: shop}\nspec: {limits: [{type: Pod, min: {cpu: 1m}}, LIMITS]}\n"
	for _, p := range [][3]string{{"none", "shop", ""}, {"requests", "shop", "requests: {cpu: 2}"}, {"limits", "shop", "limits: {cpu: 3}"}, {"elsewhere", "other", ""}} {
		text += strings.NewReplacer("NAME", p[0], "IN", p[1], "HAS", p[2]).Replace(pod)
	}
	text += "---\napiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: set, namespace: shop}\nspec: {template: {spec: {containers: [{name: a}]}}}\n"
	for limits, cpu := range map[string]int64{
		"{type: Container, defaultRequest: {cpu: 500m}, default: {cpu: 2}}": 500, "{type: Container, default: {cpu: 2}, min: {cpu: 100m}}": 2000,
		"{type: Container, max: {cpu: 4}}": 4000, "{type: Container, min: {cpu: 100m}}": 100,
	} {
		set := parse(t, strings.Replace(text, "LIMITS", limits, 1))
		got := map[string]int64{}
		for _, p := range set.Snapshot.Pods {
			got[p.Name] = p.Template.Requests[amount.CPU]
		}
		if diff := cmp.Diff(map[string]int64{"none": cpu, "requests": 2000, "limits": 3000, "elsewhere": 0, "set-0": cpu}, got); diff != "" || len(set.Warnings()) > 0 {
			t.Errorf("%s: %q, -want +got\n%s", limits, set.Warnings(), diff)
		}
	}
}

// TestLimitRangesRefuse: pods that the API server would refuse because of a LimitRange are planned, and named.
func TestLimitRangesRefuse(t *testing.T) {
	const refuses = "the API server refuses these pods: the LimitRange usual demands "
	for limits, want := range map[string]string{
		"{type: Pod, max: {cpu: 3}}":                         "",
		"{type: Pod, max: {cpu: 2}}":                         refuses + "a limit, and at most 2 of cpu for each Pod (request: 1500m, limit: 3)",
		"{type: Pod, max: {memory: 1Gi}}":                    refuses + "a limit, and at most 1Gi of memory for each Pod (request: none, limit: none)",
		"{type: Pod, min: {cpu: 2}}":                         refuses + "at least 2 of cpu for each Pod (request: 1500m, limit: 3)",
		"{type: Pod, maxLimitRequestRatio: {cpu: 2}}":        "",
		"{type: Pod, maxLimitRequestRatio: {cpu: 1500m}}":    refuses + "a request and a limit, with a limit/request ratio of at most 1500m of cpu for each Pod (request: 1500m, limit: 3)",
		"{type: Container, max: {cpu: 1}}":                   refuses + "a limit, and at most 1 of cpu for each Container (request: 1, limit: 2)",
		"{type: Container, default: {memory: 1}}":            "",
		"{type: PersistentVolumeClaim, max: {storage: 1Gi}}": "",
	} {
		set := parse(t, "apiVersion: v1\nkind: LimitRange\nmetadata: {name: usual, namespace: shop}\nspec: {limits: ["+limits+"]}\n"+`---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  template:
    spec:
      containers:
      - {name: a, resources: {requests: {cpu: 1}, limits: {cpu: 2}}}
      - {name: b, resources: {requests: {cpu: 500m}, limits: {cpu: 1}}}
`)
		got := strings.Join(set.Warnings(), "\n")
		if len(set.Snapshot.Pods) != 3 || (want == "") != (got == "") || !strings.Contains(got, want) || want != "" && !strings.Contains(got, "Deployment shop/web: spec.template.spec: ") {
			t.Errorf("%s: %d pods, %q; want %q", limits, len(set.Snapshot.Pods), got, want)
		}
	}
}

// TestLimitRangesBeside: those of the cluster count, and one of the files takes the place of its namesake.
func TestLimitRangesBeside(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: shop}\nspec: {containers: [{name: a, resources: {requests: {cpu: 2}}}]}\n"
	own := "---\napiVersion: v1\nkind: LimitRange\nmetadata: {name: usual, namespace: shop}\nspec: {limits: [{type: Container, defaultRequest: {memory: 7}}]}\n"
	for file, want := range map[string]struct {
		memory int64
		text   string
	}{
		pod:       {5, "usual demands at most its default limit, 1, of cpu for each Container (request: 2, limit: none)"},
		pod + own: {7, ""},
	} {
		b := NewBuilder()
		b.Beside(&cluster.Survey{Snapshot: &cluster.Snapshot{}, LimitRanges: []*corev1.LimitRange{
			{ObjectMeta: metav1.ObjectMeta{Name: "usual", Namespace: "other"}, Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
				Type: corev1.LimitTypeContainer, DefaultRequest: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("3")},
			}}}},
			{ObjectMeta: metav1.ObjectMeta{Name: "usual", Namespace: "shop"}, Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
				Type: corev1.LimitTypeContainer, DefaultRequest: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("5")},
				Default: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
			}}}},
		}})
		b.Add("pods.yaml", []byte(file))
		set, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(set.Warnings(), "\n")
		if memory := set.Snapshot.Pods[0].Template.Requests[amount.Memory]; memory != want.memory || (want.text == "") != (got == "") || !strings.Contains(got, want.text) {
			t.Errorf("%d of memory, %q; want %+v", memory, got, want)
		}
	}
}

func TestFilesAndStandardInput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pod.yaml")
	if err := os.WriteFile(path, []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: read}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.WriteString("apiVersion: v1\nkind: Pod\nmetadata: {name: piped}\n"); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	before := os.Stdin
	os.Stdin = in
	defer func() { os.Stdin = before }()

	b := NewBuilder("theirs")
	b.AddFile(path)
	b.AddFile(path + ".absent")
	b.AddFile("-")
	b.AddFile("-")
	b.Add("other.yaml", []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: other}\nspec: {schedulerName: theirs}\n"))
	set, err := b.Build()
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got error %v, want that a file does not exist", err)
	}
	if twice := "-: the standard input is named twice"; err == nil || !strings.Contains(err.Error(), twice) {
		t.Errorf("got error %v, want %q", err, twice)
	}
	want := []string{"default/other pending", "default/piped pending", "default/read pending"}
	if diff := cmp.Diff(want, podLines(set.Snapshot.Pods)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
