package takeover

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/simulate"
)

var update = flag.Bool("update", false, "write the goldens")

const classes = `
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  instanceProfile: prod-node
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: prod}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: prod}}]
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: efa}
spec:
  instanceProfile: prod-node
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: prod}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: prod}}]
  placementGroupSelector: {name: training}
`

const pool = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: NAME}
spec:
  disruption: {consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: 1m}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: CLASS}
      requirements:
        - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
`

func documents(t *testing.T, text string) []map[string]any {
	t.Helper()
	var out []map[string]any
	for one := range strings.SplitSeq(text, "\n---\n") {
		var document map[string]any
		if err := yaml.Unmarshal([]byte(one), &document); err != nil {
			t.Fatal(err)
		}
		out = append(out, document)
	}
	return out
}

// large is a cluster of 20 NodePools with 15 nodes each. Of the NodePools, one is static
// and one has an EC2NodeClass with a placement group, which are not served.
func large(t *testing.T) Input {
	t.Helper()
	in := Input{Documents: documents(t, classes), Now: time.Unix(1_800_000_000, 0), Survey: &cluster.Survey{Snapshot: &cluster.Snapshot{}}}
	in.Survey.Snapshot.Namespaces = []cluster.Namespace{{Name: "default"}}
	sizes := []string{"m5.xlarge", "m5.2xlarge", "c5.2xlarge", "r5.xlarge", "m6i.4xlarge"}
	templates := cluster.NewTemplates()
	for i := range 20 {
		name := fmt.Sprintf("team-%02d", i)
		text := strings.NewReplacer("NAME", name, "CLASS", map[bool]string{true: "efa", false: "default"}[i == 7]).Replace(pool)
		if i == 13 {
			text = strings.Replace(text, "spec:\n", "spec:\n  replicas: 15\n", 1)
			text = strings.Replace(text, "  disruption: {consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: 1m}\n", "", 1)
		}
		in.Documents = append(in.Documents, documents(t, text)...)
		for j := range 15 {
			in.node(name, fmt.Sprintf("ip-10-0-%d-%d.ec2.internal", i, j), sizes[(i+j)%len(sizes)], "us-east-1"+string("abc"[j%3]), templates)
		}
	}
	catalogue, err := offer.ReadCatalogue(bytes.NewReader(offer.EmbeddedCSV()))
	if err != nil {
		t.Fatal(err)
	}
	in.Market = simulate.CatalogueMarket{Catalogue: catalogue, Region: "us-east-1"}
	return in
}

// node adds a node of Karpenter with two pods.
func (in *Input) node(pool, name, instanceType, zone string, templates *cluster.Templates) {
	provider := "aws:///" + zone + "/" + name
	in.Survey.Snapshot.Nodes = append(in.Survey.Snapshot.Nodes, cluster.Node{
		Name: name, ProviderID: provider, Initialized: true, Ready: true, Finalizers: []string{api.Finalizer},
		Labels: map[string]string{
			api.LabelNodePool: pool, api.LabelInstanceType: instanceType, api.LabelZone: zone, api.LabelCapacityType: api.CapacityOnDemand, api.LabelHostname: name,
		},
	})
	in.Claims = append(in.Claims, cluster.NodeClaim{Name: pool + "-" + name, UID: name, Pool: pool, Node: name, ProviderID: provider})
	for i := range 2 {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("%s-%d", name, i), UID: types.UID(fmt.Sprintf("%s-%d", name, i))},
			Spec: corev1.PodSpec{
				NodeName: name, NodeSelector: map[string]string{api.LabelNodePool: pool},
				Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
					corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("2Gi"),
				}}}},
			},
			Status: corev1.PodStatus{Phase: corev1.PodRunning},
		}
		if converted, ok := templates.Pod(pod); ok {
			in.Survey.Snapshot.Pods = append(in.Survey.Snapshot.Pods, converted)
		}
	}
}

// A cluster of 300 nodes and 20 NodePools: what will be served, what will not, and the
// prices. The page about moving shows the list.
func TestPreview(t *testing.T) {
	in := large(t)
	got, err := Of(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if got.Unplaced > 0 || got.FreshPrice <= 0 || got.FreshPrice >= got.Price || len(got.Nodes) != 300 {
		t.Errorf("price %f, fresh %f on %d nodes, %d pods unplaced", got.Price, got.FreshPrice, got.FreshNodes, got.Unplaced)
	}
	const golden = "testdata/preview.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got.Text()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.Text() != string(want) {
		t.Errorf("the text differs from %s: run with -update and read the difference", golden)
	}
	for _, o := range got.NodePools {
		why := map[string]string{"team-07": "spec.template.spec.nodeClassRef", "team-13": "spec.replicas"}[o.Name]
		if o.Served != (why == "") || why != "" && !strings.HasPrefix(o.Why[0], why) || o.Nodes != 15 {
			t.Errorf("NodePool %s: %+v", o.Name, o)
		}
	}
}

// Nothing depends on the order in which the API server returns objects.
func TestPreviewInAnyOrder(t *testing.T) {
	want, err := Of(t.Context(), large(t))
	if err != nil {
		t.Fatal(err)
	}
	in := large(t)
	slices.Reverse(in.Documents)
	slices.Reverse(in.Claims)
	got, err := Of(t.Context(), in)
	if err != nil || got.Text() != want.Text() {
		t.Errorf("in another order the preview is another one: %v", err)
	}
}

// What is not Karpenter's, or not there, is named.
func TestPreviewOfStrangers(t *testing.T) {
	in := large(t)
	in.Documents = append(in.Documents, documents(t, strings.NewReplacer("NAME", "auto", "CLASS", "default", "karpenter.k8s.aws,", "eks.amazonaws.com,", "kind: EC2NodeClass", "kind: NodeClass").Replace(pool))...)
	in.Documents = append(in.Documents, documents(t, strings.NewReplacer("NAME", "classless", "CLASS", "gone").Replace(pool))...)
	in.Claims = in.Claims[1:]
	in.Survey.Snapshot.Nodes[1].Labels[api.LabelNodePool] = "gone"
	in.Survey.Snapshot.Nodes[2].Deleting = true
	in.Survey.Snapshot.Nodes[3].Provisioner = "team-00" // taken over already
	in.Karpenter = "Karpenter is running: karpenter-1 renews the Lease kube-system/karpenter-leader-election"
	got, err := Of(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	text := got.Text()
	for _, want := range []string{
		"Karpenter is running: karpenter-1 renews the Lease kube-system/karpenter-leader-election. Nothing is taken over before it is stopped.",
		"NodePool auto is not served: spec.template.spec.nodeClassRef: its nodes are those of ",
		"NodePool classless is not served: spec.template.spec.nodeClassRef: there is no EC2NodeClass gone",
		"stays as it is: no NodeClaim knows it: Karpenter has not launched it",
		"stays as it is: there is no NodePool gone",
		"taken over: Karpenter is taking it away, which is finished",
		"of 299 will be taken over",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q", want)
		}
	}
	if t.Failed() {
		t.Log(text[:2000])
	}
}

// docs/guides/moving-from-karpenter.md shows lines of the list as they are.
func TestPreviewInDocs(t *testing.T) {
	page, err := os.ReadFile("../../../docs/guides/moving-from-karpenter.md")
	if err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile("testdata/preview.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, ok := strings.Cut(string(page), "```text\nNodePools: ")
	shown, _, closed := strings.Cut("NodePools: "+shown, "```")
	if !ok || !closed {
		t.Fatal("the page does not show the list")
	}
	known := strings.Split(string(list), "\n")
	for line := range strings.Lines(shown) {
		if line = strings.TrimSuffix(line, "\n"); strings.TrimSpace(line) != "…" && !slices.Contains(known, line) {
			t.Errorf("the page shows %q, which is not in the list", line)
		}
	}
}
