package takeover

import (
	"bytes"
	"flag"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/takeover/example"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/simulate"
)

var update = flag.Bool("update", false, "write the goldens")

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

// large is the cluster of package example, as a survey reads it.
func large(t *testing.T) Input {
	t.Helper()
	whole, err := example.New()
	if err != nil {
		t.Fatal(err)
	}
	in := Input{Now: time.Unix(1_800_000_000, 0), Survey: &cluster.Survey{Snapshot: &cluster.Snapshot{}}}
	in.Documents = slices.Concat(whole.NodeClasses, whole.NodePools)
	for _, s := range karpenter.StandIns(in.Documents) {
		if s.NodeTemplate != nil {
			in.Survey.NodeTemplates = append(in.Survey.NodeTemplates, s.NodeTemplate)
		} else {
			in.Survey.Provisioners = append(in.Survey.Provisioners, s.Provisioner)
		}
	}
	in.Survey.Snapshot.Namespaces = []cluster.Namespace{{Name: "default"}}
	for _, n := range whole.Nodes {
		in.Survey.Snapshot.Nodes = append(in.Survey.Snapshot.Nodes, cluster.FromNode(n, nil))
	}
	templates := cluster.NewTemplates()
	for _, pod := range whole.Pods {
		pod.UID = types.UID(pod.Name)
		if converted, ok := templates.Pod(pod); ok {
			in.Survey.Snapshot.Pods = append(in.Survey.Snapshot.Pods, converted)
		}
	}
	for _, c := range whole.NodeClaims {
		in.Claims = append(in.Claims, kube.NodeClaimOf(c))
	}
	catalogue, err := offer.ReadCatalogue(bytes.NewReader(offer.EmbeddedCSV()))
	if err != nil {
		t.Fatal(err)
	}
	in.Market = simulate.CatalogueMarket{Catalogue: catalogue, Region: example.Region}
	return in
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

// A node with Windows costs its licence, too, as those of the fresh plan do.
func TestPreviewPricesTheLicenceOfWindows(t *testing.T) {
	in := large(t)
	price := func() float64 {
		got, err := Of(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(got.Nodes, func(n Node) bool { return n.Name == in.Survey.Snapshot.Nodes[0].Name })
		return got.Nodes[i].Price
	}
	in.Survey.Snapshot.Nodes[0].Labels[api.LabelInstanceType] = "m5.large"
	linux := price()
	in.Survey.Snapshot.Nodes[0].Labels[api.LabelOS] = "windows"
	if got, want := price(), linux+2*0.046; linux == 0 || math.Abs(got-want) > 1e-9 {
		t.Errorf("with Windows, an m5.large costs %v, want %v", got, want)
	}
}

// TestPreviewWithoutPrices: nodes without a price do not count as free, neither if the market does not sell
// some of them nor if there is no market.
func TestPreviewWithoutPrices(t *testing.T) {
	in := large(t)
	in.Survey.Snapshot.Nodes[0].Labels[api.LabelInstanceType] = "m5.unknown"
	for _, c := range []struct {
		market   simulate.Market
		noPrices string
		want     []string
	}{
		{in.Market, "", []string{"/h, without 1 node whose price is not known\n", "Price of a fresh plan: $"}},
		{nil, "nobody knows them", []string{"15 nodes  no price\n", "There are no prices, and no fresh plan: nobody knows them.\n"}},
	} {
		in.Market, in.NoPrices = c.market, c.noPrices
		got, err := Of(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if !strings.Contains(got.Text(), want) {
				t.Errorf("the text lacks %q", want)
			}
		}
		if c.market == nil && strings.Contains(got.Text(), "$") {
			t.Error("the text has prices")
		}
	}
}

// Who has a Karpenter that ends the machines which it finds again learns of it before the takeover.
func TestPreviewWarnsOfOldKarpenter(t *testing.T) {
	for _, machines := range []bool{true, false} {
		in := large(t)
		in.Machines = machines
		got, err := Of(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		if text := got.Text(); strings.Contains(text, "Karpenter 0.28 to 0.32") != machines {
			t.Errorf("with the kind Machine %t: %s", machines, text[:300])
		}
	}
}

// TestPreviewNamesOptions: pods that request what machines have only with an option of the agent are counted.
func TestPreviewNamesOptions(t *testing.T) {
	in := large(t)
	request := func(resource string, pods ...int) {
		for _, i := range pods {
			template := *in.Survey.Snapshot.Pods[i].Template
			template.Requests = maps.Clone(template.Requests)
			template.Requests[resource] = 1
			in.Survey.Snapshot.Pods[i].Template = &template
		}
	}
	request("vpc.amazonaws.com/pod-eni", 3, 4)
	request("vpc.amazonaws.com/efa", 5)
	request("vpc.amazonaws.com/PrivateIPv4Address", 6)
	got, err := Of(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	want := []Option{{"efa", "vpc.amazonaws.com/efa", 1}, {"pod-eni", "vpc.amazonaws.com/pod-eni", 2}}
	if !slices.Equal(got.Options, want) {
		t.Errorf("options %+v, want %+v", got.Options, want)
	}
	if line := "Option pod-eni is needed for 2 pods that request vpc.amazonaws.com/pod-eni"; !strings.Contains(got.Text(), line) {
		t.Errorf("the text lacks %q", line)
	}
}

// TestPreviewNamesWebhooks: what would refuse the changes of the agent comes with the command that deletes it.
func TestPreviewNamesWebhooks(t *testing.T) {
	in := large(t)
	in.Webhooks = []string{"mutatingwebhookconfigurations/a", "validatingwebhookconfigurations/b"}
	got, err := Of(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if line := "kubectl delete mutatingwebhookconfigurations/a validatingwebhookconfigurations/b\n"; !strings.Contains(got.Text(), line) {
		t.Errorf("the text lacks %q", line)
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
	in.Documents = append(in.Documents, documents(t, strings.NewReplacer("karpenter.k8s.aws,", "eks.amazonaws.com,", "kind: EC2NodeClass", "kind: NodeClass").Replace(example.Pool("auto", "default")))...)
	in.Documents = append(in.Documents, documents(t, example.Pool("classless", "gone"))...)
	in.Claims = in.Claims[1:]
	in.Survey.Snapshot.Nodes[1].Labels[api.LabelNodePool] = "gone"
	in.Survey.Snapshot.Nodes[2].Deleting = true
	in.Survey.Snapshot.Nodes[3].Provisioner = "team-00" // taken over already
	drifted := &in.Survey.Snapshot.Nodes[4]
	drifted.Labels[api.LabelCapacityType] = "reserved"
	// One NodePool has come to require a label that no node has, and to give its nodes another one.
	changed := in.Survey.Provisioners[slices.IndexFunc(in.Survey.Provisioners, func(p *api.Provisioner) bool { return p.Name == "team-05" })]
	changed.Spec.Labels["example.com/tier"] = "web"
	changed.Spec.Requirements = append(changed.Spec.Requirements, api.Requirement{Key: "example.com/team", Operator: api.OpExists},
		api.Requirement{Key: "example.com/tier", Operator: api.OpExists}, api.Requirement{Key: api.LabelInstanceCPU, Operator: api.OpExists})
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
		"stays as it is: it has no NodeClaim: Karpenter has not launched it",
		"stays as it is: there is no NodePool gone",
		"taken over: Karpenter is already removing it; the agent will finish that",
		"taken over: it has drifted and will be replaced: NodePool " + drifted.Labels[api.LabelNodePool] + " now requires karpenter.sh/capacity-type",
		"taken over: it has drifted and will be replaced: NodePool team-05 now requires example.com/team Exists, the node has no value",
		"of 299 will be taken over; the takeover restarts no pod\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q", want)
		}
	}
	for _, added := range []string{"example.com/tier", api.LabelInstanceCPU} {
		if strings.Contains(text, "now requires "+added) {
			t.Errorf("the text names nodes without the label %s, which the takeover adds", added)
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
