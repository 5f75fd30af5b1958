package simulate

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/manifest/manifesttest"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/retire"
)

func input(t *testing.T, region string, files ...string) (decide.Input, []string, error) {
	t.Helper()
	catalogue, err := offer.ReadCatalogue(bytes.NewReader(offer.EmbeddedCSV()))
	if err != nil {
		t.Fatal(err)
	}
	set, err := manifesttest.Parse("cluster.yaml", []byte(strings.Join(files, "\n---\n")))
	if err != nil {
		t.Fatal(err)
	}
	s := Source{Set: set, Catalogue: catalogue, Region: region, Now: time.Unix(0, 0)}
	return s.Input()
}

const refers = `
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: refers}
spec:
  providerRef: {name: big-disk}
  kubeletConfiguration: {maxPods: 7}
`

const bigDisk = `
apiVersion: karpenter.k8s.aws/v1alpha1
kind: AWSNodeTemplate
metadata: {name: big-disk}
spec:
  subnetSelector: {team: a}
  securityGroupSelector: {team: a}
  amiFamily: Bottlerocket
  blockDeviceMappings:
    - {deviceName: /dev/xvda, ebs: {volumeSize: 4Gi}}
    - {deviceName: /dev/xvdb, ebs: {volumeSize: 500Gi}}
`

func TestInput(t *testing.T) {
	in, warnings, err := input(t, "us-east-1", refers, bigDisk)
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%v, %v", err, warnings)
	}
	if len(in.Provisioners) != 1 || in.Provisioners[0].Blocked != "" || len(in.Provisioners[0].Types) < 500 {
		t.Fatalf("%d provisioners; %+v", len(in.Provisioners), in.Provisioners[0].Blocked)
	}
	for _, ty := range in.Provisioners[0].Types {
		if ty.Name != "m5.large" {
			continue
		}
		got := amount.List{amount.Pods: ty.Capacity[amount.Pods], amount.EphemeralStorage: ty.Capacity[amount.EphemeralStorage]}
		if diff := cmp.Diff(amount.List{amount.Pods: 7, amount.EphemeralStorage: 500 << 30}, got); diff != "" {
			t.Errorf("m5.large follows neither maxPods nor the volumes: -want +got\n%s", diff)
		}
	}
	if len(in.Provisioners[0].Spec.Spec.Requirements) == 0 {
		t.Error("the defaults were not added")
	}
}

const reserving = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: reserving}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: reserving}
      requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [reserved, on-demand]}]
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: reserving}
spec:
  instanceProfile: nodes
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {a: b}}]
  securityGroupSelectorTerms: [{tags: {a: b}}]
  capacityReservationSelectorTerms: [{id: cr-0123456789abcdef0}]
`

func TestAssumptions(t *testing.T) {
	for name, c := range map[string]struct {
		files []string
		want  string
		block bool
	}{
		"no provisioner":  {[]string{bigDisk}, `there is no Provisioner in the files`, false},
		"missing nodes":   {[]string{bigDisk, "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {nodeName: n1}\n"}, `pods run on nodes that are in no file, such as default/a on n1 (1 in all): they are left out`, false},
		"missing profile": {[]string{refers}, `AWSNodeTemplate big-disk, which is not among the files`, false},
		"reservations":    {[]string{reserving}, `EC2NodeClass reserving selects capacity reservations`, false},
		"invalid":         {[]string{strings.Replace(refers, "maxPods: 7", "maxPods: -7", 1), bigDisk}, `Provisioner refers is invalid and is left out: spec.kubeletConfiguration.maxPods: Invalid value: -7`, true},
	} {
		t.Run(name, func(t *testing.T) {
			in, warnings, err := input(t, "us-east-1", c.files...)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(strings.Join(warnings, "\n"), c.want) {
				t.Errorf("got the warnings %q, want one with %q", warnings, c.want)
			}
			if got := in.Provisioners[0].Blocked != ""; got != c.block {
				t.Errorf("blocked: %q", in.Provisioners[0].Blocked)
			}
		})
	}
}

const poolOfOne = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: reserving}
      requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]
`

// The nodes that Karpenter has made count for their NodePool, and for no Provisioner of its name.
func TestNodesOfNodePools(t *testing.T) {
	node := func(label string) string {
		return "apiVersion: v1\nkind: Node\nmetadata: {name: " + label + ", labels: {karpenter.sh/nodepool: " + label + ", karpenter.sh/initialized: \"true\"}}\nstatus: {capacity: {cpu: 4, memory: 8Gi, pods: 9}}\n"
	}
	in, _, err := input(t, "us-east-1", poolOfOne, reserving, refers, bigDisk, node("general"), node("refers"), node("unknown"))
	if err != nil {
		t.Fatal(err)
	}
	for _, due := range decide.Decide(in).Removals {
		if due.Reason == retire.Expired {
			t.Errorf("%+v: a node whose age is not known has not expired", due)
		}
	}
	got := map[string]string{}
	for _, n := range in.Snapshot.Nodes {
		got[n.Name] = n.Provisioner
		if n.Labels[api.LabelProvisioner] != n.Provisioner { // as after a takeover; it would drift otherwise
			t.Errorf("%s has the labels %v", n.Name, n.Labels)
		}
	}
	if diff := cmp.Diff(map[string]string{"general": "general", "refers": "", "unknown": ""}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// Reading the catalogue for each of hundreds of Provisioners would take longer than planning.
func TestProvisionersOfTheSameMachinesShareTheMarket(t *testing.T) {
	in, _, err := input(t, "us-east-1", bigDisk, refers, strings.Replace(refers, "name: refers", "name: second", 1))
	if err != nil {
		t.Fatal(err)
	}
	if a, b := in.Provisioners[0], in.Provisioners[1]; a.Index != b.Index {
		t.Errorf("%s and %s have markets of their own", a.Spec.Name, b.Spec.Name)
	}
}

func TestUnknownRegion(t *testing.T) {
	if _, _, err := input(t, "moon-1", bigDisk); err == nil || !strings.Contains(err.Error(), "moon-1") {
		t.Errorf("got %v, want an error that names the region", err)
	}
}

// How many volumes a new machine can attach is not known, and a plan says so where it matters.
func TestEstimatesOfVolumes(t *testing.T) {
	for replicas, want := range map[int]int{20: 0, 60: 1} {
		in, _, err := input(t, "us-east-1", `
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: default}
spec:
  requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [m5.xlarge]}]
`, `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: gp3}
provisioner: ebs.csi.aws.com
volumeBindingMode: WaitForFirstConsumer
`, fmt.Sprintf(`
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: %d
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c, image: c, resources: {requests: {cpu: 10m}}}]}}
  volumeClaimTemplates: [{metadata: {name: data}, spec: {storageClassName: gp3, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]
`, replicas))
		if err != nil {
			t.Fatal(err)
		}
		plan := decide.Decide(in)
		warnings := Estimates(&plan, in.Snapshot, offer.Embedded().Regions["us-east-1"])
		if len(plan.Machines) == 0 || len(warnings) != want {
			t.Fatalf("%d pods on %d machines: %q", replicas, len(plan.Machines), warnings)
		}
		if want > 0 && (!strings.Contains(warnings[0], "(m5.xlarge) with ") || !strings.Contains(warnings[0], "about 26 of ebs.csi.aws.com")) {
			t.Errorf("warning: %s", warnings[0])
		}
	}
}

// A workload of files and the same one in the cluster are one: its live pods count for it, and its claims
// stay where their volumes are.
func TestCombineCountsLivePods(t *testing.T) {
	const files = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {replicas: 5, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: c}]}}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 3
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c, image: c}]}}
  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: alone}
spec: {containers: [{name: c, image: c}]}
---
apiVersion: v1
kind: Pod
metadata: {name: web-5d-a, uid: exported, labels: {app: web, pod-template-hash: 5d}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-5d, uid: w, controller: true}]}
spec: {nodeName: node, containers: [{name: c, image: c}]}
status: {phase: Running}
`
	set, err := manifesttest.Parse("cluster.yaml", []byte(files))
	if err != nil {
		t.Fatal(err)
	}
	of := func(name, kind, owner string, state cluster.PodState) cluster.Pod {
		labels := map[string]string{"app": "web", "pod-template-hash": "5d"}
		return cluster.Pod{
			PodKey: cluster.PodKey{Namespace: "default", Name: name, UID: "live"}, Owner: cluster.Owner{Kind: kind, Name: owner},
			State: state, NodeName: "n", Template: &cluster.Template{Labels: labels},
		}
	}
	live := &cluster.Survey{Snapshot: &cluster.Snapshot{
		Pods: []cluster.Pod{
			of("web-5d-a", "ReplicaSet", "web-5d", cluster.PodBound), of("web-5d-b", "ReplicaSet", "web-5d", cluster.PodBound),
			of("web-5d-c", "ReplicaSet", "web-5d", cluster.PodBound), of("web-5d-gone", "ReplicaSet", "web-5d", cluster.PodTerminating),
			of("db-1", "StatefulSet", "db", cluster.PodBound), of("alone", "", "", cluster.PodBound),
		},
		Claims: []cluster.Claim{{Namespace: "default", Name: "data-db-1", UID: "live", VolumeName: "pv"}},
	}}
	both := Combine(live, set).Snapshot
	waiting, uids := map[string]int{}, map[string]string{}
	for i := range both.Pods {
		p := &both.Pods[i]
		uids[p.Name] = p.UID
		if p.State == cluster.PodPending {
			waiting[workload(p)]++
		}
	}
	if diff := cmp.Diff(map[string]int{"default/Deployment/web": 2, "default/StatefulSet/db": 2, "default//": 1}, waiting); diff != "" {
		t.Errorf("pods that are to be created: -want +got\n%s", diff)
	}
	if uids["web-5d-a"] != "exported" || uids["web-5d-b"] != "live" || uids["db-1"] != "live" {
		t.Errorf("pods: %v", uids)
	}
	bound := map[string]string{}
	for _, c := range both.Claims {
		bound[c.Name] = c.VolumeName
	}
	if diff := cmp.Diff(map[string]string{"data-db-0": "", "data-db-1": "pv", "data-db-2": ""}, bound); diff != "" {
		t.Errorf("claims: -want +got\n%s", diff)
	}
}

// What a PodDisruptionBudget of files allows counts the live pods that it selects, and a Namespace of files takes
// the place of the live one.
func TestCombineAsAfterAnApply(t *testing.T) {
	set, err := manifesttest.Parse("cluster.yaml", []byte(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {replicas: 3, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: c}]}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: web}}}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {team: new}}
`))
	if err != nil {
		t.Fatal(err)
	}
	live := &cluster.Survey{Snapshot: &cluster.Snapshot{Namespaces: []cluster.Namespace{
		{Name: "default", Labels: map[string]string{"team": "live"}}, {Name: "shop", Labels: map[string]string{"team": "old"}},
	}}}
	for _, name := range []string{"web-5d-a", "web-5d-b", "web-5d-c"} {
		live.Snapshot.Pods = append(live.Snapshot.Pods, cluster.Pod{
			PodKey: cluster.PodKey{Namespace: "default", Name: name}, Owner: cluster.Owner{Kind: "ReplicaSet", Name: "web-5d"},
			State: cluster.PodBound, NodeName: "n", Ready: true, Template: &cluster.Template{Labels: map[string]string{"app": "web", "pod-template-hash": "5d"}},
		})
	}
	both := Combine(live, set).Snapshot
	if len(both.PodDisruptionBudgets) != 1 || both.PodDisruptionBudgets[0].DisruptionsAllowed != 1 {
		t.Errorf("budgets: %+v", both.PodDisruptionBudgets)
	}
	teams := map[string]string{}
	for _, n := range both.Namespaces {
		teams[n.Name] = n.Labels["team"]
	}
	if diff := cmp.Diff(map[string]string{"default": "live", "shop": "new"}, teams); diff != "" {
		t.Errorf("namespaces: -want +got\n%s", diff)
	}
}

// Which schedulers the agent serves besides kube-scheduler is not known, so what is left out is named.
func TestPodsOfOtherSchedulersAreNamed(t *testing.T) {
	pod := func(name, scheduler string, state cluster.PodState, change func(*cluster.Pod)) cluster.Pod {
		p := cluster.Pod{PodKey: cluster.PodKey{Namespace: "n", Name: name}, State: state, Template: &cluster.Template{SchedulerName: scheduler}}
		if change != nil {
			change(&p)
		}
		return p
	}
	live := &cluster.Survey{Snapshot: &cluster.Snapshot{Pods: []cluster.Pod{
		pod("gang-0", "volcano", cluster.PodWaiting, nil),
		pod("gang-1", "volcano", cluster.PodWaiting, nil),
		pod("runs", "volcano", cluster.PodBound, nil),
		pod("goes", "volcano", cluster.PodWaiting, func(p *cluster.Pod) { p.StopBy = time.Unix(1, 0) }),
		pod("daemon", "volcano", cluster.PodWaiting, func(p *cluster.Pod) { p.Template.DaemonSet = true }),
		pod("gated", "default-scheduler", cluster.PodWaiting, nil),
	}}}
	want := []string{"pods wait that the scheduler volcano places, such as n/gang-0 (2 in all): nothing is planned for them, because a simulation does not know the agent's option scheduler-name"}
	if diff := cmp.Diff(want, OfOthers(live)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
