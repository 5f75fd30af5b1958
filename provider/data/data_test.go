package data_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/data"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// platform answers with what it is given; what it is not given it refuses.
type platform struct {
	session.Platform
	survey  *cluster.Survey
	nodes   offer.NodeOptions // of the agent
	account *session.Account
	facts   *asset.Cluster
	found   *onboard.Found
}

var errRefused = errors.New("access denied")

func given[T any](value *T) (*T, error) {
	if value == nil {
		return nil, errRefused
	}
	return value, nil
}

func (p *platform) Account(context.Context) (*session.Account, error) { return given(p.account) }
func (p *platform) Facts(context.Context) (*asset.Cluster, error)     { return given(p.facts) }
func (p *platform) Stock(context.Context, offer.NodeOptions) (*session.Stock, error) {
	return nil, errRefused
}

func (p *platform) Discover(context.Context) (*onboard.Found, error) { return given(p.found) }

func (p *platform) Cluster(context.Context) (session.Cluster, error) {
	if p.survey == nil {
		return nil, errRefused
	}
	return live{survey: p.survey, nodes: p.nodes}, nil
}

// live is a cluster that can be looked at and nothing else.
type live struct {
	session.Cluster
	survey *cluster.Survey
	nodes  offer.NodeOptions
}

func (l live) Installation() session.Installation { return agent{nodes: l.nodes} }

// agent is an installation that has options and nothing else.
type agent struct {
	session.Installation
	nodes offer.NodeOptions
}

func (a agent) NodeOptions(context.Context) (offer.NodeOptions, error) { return a.nodes, nil }

func (l live) Survey(context.Context) (*cluster.Survey, error) { return l.survey, nil }

// roles knows the roles of an account by their names.
type roles struct {
	session.Roles
	arns map[string]string
}

func (r roles) ARN(_ context.Context, name string) (string, error) {
	if arn, ok := r.arns[name]; ok {
		return arn, nil
	}
	return "", fmt.Errorf("find role %q: %w", name, fs.ErrNotExist)
}

// answer is what a data source has returned.
type answer struct {
	state tfsdk.State
	diags diag.Diagnostics
}

// read reads a data source with a configuration; what it does not name is null.
func read(t *testing.T, source datasource.DataSource, p *platform, config map[string]tftypes.Value) answer {
	t.Helper()
	ctx := t.Context()
	shared := session.New(session.Config{ClusterName: "prod", AWS: session.AWS{Region: "eu-west-1"}}, func(session.Config) session.Platform { return p })
	source.(datasource.DataSourceWithConfigure).Configure(ctx, datasource.ConfigureRequest{ProviderData: shared}, &datasource.ConfigureResponse{})
	var schema datasource.SchemaResponse
	source.Schema(ctx, datasource.SchemaRequest{}, &schema)
	whole := schema.Schema.Type().TerraformType(ctx).(tftypes.Object)
	values := map[string]tftypes.Value{}
	for name, of := range whole.AttributeTypes {
		values[name] = tftypes.NewValue(of, nil)
		if value, ok := config[name]; ok {
			values[name] = value
		}
	}
	resp := datasource.ReadResponse{State: tfsdk.State{Schema: schema.Schema, Raw: tftypes.NewValue(whole, nil)}}
	source.Read(ctx, datasource.ReadRequest{Config: tfsdk.Config{Schema: schema.Schema, Raw: tftypes.NewValue(whole, values)}}, &resp)
	return answer{resp.State, resp.Diagnostics}
}

// get returns what stands at a path of the answer.
func get[T any](t *testing.T, a answer, at path.Path) T {
	t.Helper()
	var out T
	if diags := append(a.diags.Errors(), a.state.GetAttribute(t.Context(), at, &out)...); diags.HasError() {
		t.Fatalf("%s: %v", at, diags)
	}
	return out
}

// want compares what stands at a path.
func want[T any](t *testing.T, a answer, at path.Path, wanted T) {
	t.Helper()
	if diff := cmp.Diff(wanted, get[T](t, a, at)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", at, diff)
	}
}

// wantError checks that the answer is an error which says something.
func wantError(t *testing.T, a answer, parts ...string) {
	t.Helper()
	if len(a.diags.Errors()) == 0 {
		t.Fatal("there is no error")
	}
	for _, part := range parts {
		if summary := a.diags.Errors()[0].Summary(); !strings.Contains(summary, part) {
			t.Errorf("error = %q, want %q in it", summary, part)
		}
	}
}

func text(s string) tftypes.Value { return tftypes.NewValue(tftypes.String, s) }

func texts(of tftypes.Type, items ...string) tftypes.Value {
	values := []tftypes.Value{}
	for _, item := range items {
		values = append(values, text(item))
	}
	return tftypes.NewValue(of, values)
}

var (
	listOfTexts = tftypes.List{ElementType: tftypes.String}
	setOfTexts  = tftypes.Set{ElementType: tftypes.String}
)

// Without access, each data source names what it could not read, and why.
func TestRefusedAccessIsNamed(t *testing.T) {
	tests := map[string]struct {
		source datasource.DataSource
		want   string
	}{
		"cluster":      {data.NewCluster(), "no facts about the cluster: access denied"},
		"discovery":    {data.NewDiscovery(), "nothing was discovered: access denied"},
		"nodes":        {data.NewNodes(), "no access to the cluster: access denied"},
		"simulation":   {data.NewSimulation(), "no access to the cluster: access denied"},
		"IAM policies": {data.NewIAMPolicies(), "no policies: access denied"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { wantError(t, read(t, tt.source, &platform{}, nil), tt.want) })
	}
}

func TestClusterLeavesOutWhatItDoesNotHave(t *testing.T) {
	a := read(t, data.NewCluster(), &platform{facts: &asset.Cluster{Name: "prod", Subnets: []string{"subnet-1"}}}, nil)
	want(t, a, path.Root("name"), "prod")
	want(t, a, path.Root("subnet_ids"), []string{"subnet-1"})
	want(t, a, path.Root("security_group_ids"), []string{})
	want(t, a, path.Root("discovery_tags"), map[string]string{"kubernetes.io/cluster/prod": "*"})
	for _, absent := range []string{"oidc_issuer_url", "oidc_provider_arn", "vpc_id", "service_cidr"} {
		want(t, a, path.Root(absent), types.StringNull())
	}
}

func TestClusterNamesTheProviderOfItsIssuer(t *testing.T) {
	a := read(t, data.NewCluster(), &platform{facts: &asset.Cluster{ARN: "arn:aws-cn:eks:cn-north-1:123456789012:cluster/prod", Issuer: "https://oidc.example.com/id/1"}}, nil)
	want(t, a, path.Root("oidc_provider_arn"), "arn:aws-cn:iam::123456789012:oidc-provider/oidc.example.com/id/1")
}

// importable are import ids by resource type, with an empty list for each type of which nothing was found, so that
// `for_each` can refer to it.
func importable(found map[string][]string) map[string][]string {
	out := map[string][]string{
		"packhorse_provisioner": {}, "packhorse_node_profile": {}, "packhorse_irsa_role": {}, "packhorse_node_role": {}, "packhorse_interruption_queue": {},
	}
	maps.Copy(out, found)
	return out
}

// What cannot be imported is found too, but has no id to import it by.
func TestDiscovery(t *testing.T) {
	a := read(t, data.NewDiscovery(), &platform{found: &onboard.Found{Denied: onboard.DeniedError{"role a: iam:GetRole"}, Items: []onboard.Item{
		{Kind: "Provisioner", Name: "a", Resource: "packhorse_provisioner", ImportID: "a"},
		{Kind: "NodePool", Name: "b", Resource: "packhorse_provisioner", Notes: []string{"is converted"}},
		{Kind: "Provisioner", Name: "c", Resource: "packhorse_provisioner", ImportID: "c"},
		{Kind: "node role", Name: "nodes", Resource: "packhorse_node_role", ImportID: "nodes"},
	}}}, nil)
	if warnings := a.diags.Warnings(); len(warnings) != 1 || !strings.Contains(warnings[0].Summary(), "role a: iam:GetRole") {
		t.Errorf("warnings %v", warnings)
	}
	want(t, a, path.Root("import_ids"), importable(map[string][]string{"packhorse_provisioner": {"a", "c"}, "packhorse_node_role": {"nodes"}}))
	second := path.Root("items").AtListIndex(1)
	want(t, a, second.AtName("import_id"), types.StringNull())
	want(t, a, second.AtName("notes"), []string{"is converted"})
	want(t, a, path.Root("items").AtListIndex(0).AtName("notes"), []string{})

	none := read(t, data.NewDiscovery(), &platform{found: &onboard.Found{}}, nil)
	want(t, none, path.Root("import_ids"), importable(nil))
}

// node is one of a Provisioner, with what the agent has noted as its price.
func node(name, provisioner, price string) cluster.Node {
	n := cluster.Node{Name: name, Provisioner: provisioner}
	if price != "" {
		n.Annotations = map[string]string{api.AnnotationHourlyPrice: price}
	}
	return n
}

func pod(name, node string, of cluster.Template) cluster.Pod {
	return cluster.Pod{PodKey: cluster.PodKey{Namespace: "web", Name: name}, NodeName: node, Template: &of}
}

// Only nodes of Provisioners count, with the prices that are known and the pods of
// workloads.
func TestNodes(t *testing.T) {
	whole := &platform{survey: &cluster.Survey{Snapshot: &cluster.Snapshot{
		Nodes: []cluster.Node{
			node("a", "web", "100000"), node("b", "web", ""), node("c", "batch", "300000"), node("d", "", "700000"),
			node("e", "batch", "99999999999999999999"), node("f", "batch", "much"),
		},
		Pods: []cluster.Pod{
			pod("1", "a", cluster.Template{}), pod("2", "a", cluster.Template{}), pod("3", "a", cluster.Template{DaemonSet: true}),
			pod("4", "a", cluster.Template{Static: true}), pod("5", "", cluster.Template{}),
		},
	}}}
	unit := get[float64](t, read(t, data.NewNodes(), whole, map[string]tftypes.Value{"provisioner_name": text("web")}), path.Root("hourly_price"))
	tests := map[string]struct {
		config map[string]tftypes.Value
		names  []string
		price  float64
	}{
		"of all Provisioners": {nil, []string{"a", "b", "c", "e", "f"}, 4 * unit},
		"of one Provisioner":  {map[string]tftypes.Value{"provisioner_name": text("batch")}, []string{"c", "e", "f"}, 3 * unit},
		"of none":             {map[string]tftypes.Value{"provisioner_name": text("gone")}, nil, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := read(t, data.NewNodes(), whole, tt.config)
			var names []string
			for i := range get[types.List](t, a, path.Root("nodes")).Elements() {
				names = append(names, get[string](t, a, path.Root("nodes").AtListIndex(i).AtName("name")))
			}
			if diff := cmp.Diff(tt.names, names); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
			if price := get[float64](t, a, path.Root("hourly_price")); price < tt.price-1e-9 || price > tt.price+1e-9 {
				t.Errorf("price = %v, want %v", price, tt.price)
			}
		})
	}
	all := path.Root("nodes")
	a := read(t, data.NewNodes(), whole, nil)
	want(t, a, all.AtListIndex(0).AtName("pods"), int64(2))
	for _, unknown := range []int{1, 3, 4} {
		want(t, a, all.AtListIndex(unknown).AtName("hourly_price"), types.Float64Null())
	}
	if unit <= 0 {
		t.Errorf("price of a node = %v", unit)
	}
}

func TestIAMPolicies(t *testing.T) {
	const inAccount = "arn:aws:iam::123456789012:role/nodes/node"
	place := func(account string, roles ...string) map[string]tftypes.Value {
		return map[string]tftypes.Value{
			"partition": text("aws"), "region": text("eu-west-1"), "account_id": text(account), "node_roles": texts(setOfTexts, roles...),
		}
	}
	account := &session.Account{Partition: "aws", ID: "123456789012", Region: "eu-central-1", Roles: roles{arns: map[string]string{"node": inAccount}}}
	byName := map[string]tftypes.Value{"node_roles": texts(setOfTexts, "node")}
	tests := map[string]struct {
		platform *platform
		config   map[string]tftypes.Value
		region   string
		problem  []string
	}{
		"without access to AWS":          {platform: &platform{}, config: place("123456789012", inAccount), region: "eu-west-1"},
		"in the provider's account":      {platform: &platform{account: account}, config: byName, region: "eu-central-1"},
		"a name without access to AWS":   {platform: &platform{}, config: place("123456789012", "node"), problem: []string{"node is a name", "an ARN needs no lookup", "access denied"}},
		"a name in another account":      {platform: &platform{account: account}, config: place("999999999999", "node"), problem: []string{"node is a name", "123456789012", "give the ARN of a role in 999999999999"}},
		"the name of no role":            {platform: &platform{account: account}, config: place("123456789012", "nobody"), problem: []string{`IAM role "nobody" does not exist`}},
		"an ARN and the name of no role": {platform: &platform{account: account}, config: place("123456789012", inAccount, "nobody"), problem: []string{`IAM role "nobody" does not exist`}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := read(t, data.NewIAMPolicies(), tt.platform, tt.config)
			if tt.problem != nil {
				wantError(t, a, tt.problem...)
				return
			}
			want(t, a, path.Root("cluster_name"), "prod")
			want(t, a, path.Root("account_id"), "123456789012")
			want(t, a, path.Root("region"), tt.region)
			sizes, passed := map[string]int64{}, false
			for name, document := range get[map[string]string](t, a, path.Root("policies")) {
				sizes[name] = int64(policy.Size(document))
				passed = passed || strings.Contains(document, inAccount)
			}
			want(t, a, path.Root("sizes"), sizes)
			if !passed {
				t.Errorf("no policy names the role %s", inAccount)
			}
		})
	}
}

// requirements are a list of one requirement.
func requirements(key, operator string, values ...string) map[string]tftypes.Value {
	one := tftypes.Object{AttributeTypes: map[string]tftypes.Type{"key": tftypes.String, "operator": tftypes.String, "values": listOfTexts}}
	return map[string]tftypes.Value{"requirements": tftypes.NewValue(tftypes.List{ElementType: one}, []tftypes.Value{
		tftypes.NewValue(one, map[string]tftypes.Value{"key": text(key), "operator": text(operator), "values": texts(listOfTexts, values...)}),
	})}
}

// Without access to AWS, the embedded table answers and says so.
func TestInstanceTypes(t *testing.T) {
	a := read(t, data.NewInstanceTypes(), &platform{}, requirements(api.LabelInstanceType, "In", "m5.xlarge", "m5.large"))
	want(t, a, path.Root("names"), []string{"m5.large", "m5.xlarge"})
	want(t, a, path.Root("catalogue").AtName("source"), "embedded")
	want(t, a, path.Root("catalogue").AtName("note"), "AWS was not asked: access denied")
	first := path.Root("instance_types").AtListIndex(0)
	want(t, a, first.AtName("capacity").AtMapKey("cpu"), "2")
	cheapest := get[float64](t, a, first.AtName("hourly_price"))
	for i := range get[types.List](t, a, first.AtName("offerings")).Elements() {
		if price := get[float64](t, a, first.AtName("offerings").AtListIndex(i).AtName("hourly_price")); price < cheapest {
			t.Errorf("offering %d costs %v, which is less than %v", i, price, cheapest)
		}
	}

	none := read(t, data.NewInstanceTypes(), &platform{}, requirements(api.LabelInstanceType, "In", "m5.tiny"))
	want(t, none, path.Root("names"), []string{})
	wantError(t, read(t, data.NewInstanceTypes(), &platform{}, requirements(api.LabelCapacityType, "In", "rented")), `"rented"`)
}

const (
	pending = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: web}\nspec: {containers: [{name: a, image: a, resources: {requests: {cpu: 1}}}]}\n"
	offered = "apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: default}\nspec: {}\n"
)

// The live cluster takes part unless there are manifests, or as `live` says.
func TestSimulationOfManifestsNeedsNoCluster(t *testing.T) {
	manifests := texts(listOfTexts, offered, pending)
	a := read(t, data.NewSimulation(), &platform{}, map[string]tftypes.Value{"manifests": manifests})
	machine := path.Root("machines").AtListIndex(0)
	want(t, a, machine.AtName("pods"), []string{"web/a"})
	price := get[float64](t, a, path.Root("hourly_price"))
	want(t, a, machine.AtName("hourly_price"), price)
	want(t, a, path.Root("monthly_price"), price*730)
	want(t, a, path.Root("catalogue").AtName("source"), "embedded")
	if summary := get[string](t, a, path.Root("summary")); strings.Contains(summary, "decided in") {
		t.Errorf("the summary tells a time that was not taken: %s", summary)
	}
	const unknown = "nodes are sized with the default options of the agent, because its own could not be read: access denied"
	want(t, a, path.Root("warnings"), []string{unknown})
	if bound := get[float64](t, a, path.Root("lower_bound")); bound <= 0 || bound > price {
		t.Errorf("lower bound = %v, price = %v", bound, price)
	}

	isLive := tftypes.NewValue(tftypes.Bool, true)
	wantError(t, read(t, data.NewSimulation(), &platform{}, map[string]tftypes.Value{"manifests": manifests, "live": isLive}), "no access to the cluster: access denied")
	isLive = tftypes.NewValue(tftypes.Bool, false)
	nothing := read(t, data.NewSimulation(), &platform{}, map[string]tftypes.Value{"live": isLive})
	if machines := get[types.List](t, nothing, path.Root("machines")); len(machines.Elements()) > 0 {
		t.Errorf("machines for no pods = %s", machines)
	}
}

// Nothing is assumed of what the live cluster has, and no warning says so.
func TestSimulationBesideTheCluster(t *testing.T) {
	const stateful = `apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: web}
spec:
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {priorityClassName: high, runtimeClassName: gvisor, containers: [{name: a, image: a, resources: {requests: {cpu: 1}}}]}
  volumeClaimTemplates: [{metadata: {name: data}, spec: {storageClassName: gp3, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]
`
	live := &platform{survey: &cluster.Survey{
		Snapshot:        &cluster.Snapshot{StorageClasses: []cluster.StorageClass{{Name: "gp3", WaitForFirstConsumer: true}}},
		PriorityClasses: []*schedulingv1.PriorityClass{{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 7}},
		RuntimeClasses:  []*nodev1.RuntimeClass{{ObjectMeta: metav1.ObjectMeta{Name: "gvisor"}}},
	}}
	config := map[string]tftypes.Value{"manifests": texts(listOfTexts, offered, stateful), "live": tftypes.NewValue(tftypes.Bool, true)}
	a := read(t, data.NewSimulation(), live, config)
	want(t, a, path.Root("machines").AtListIndex(0).AtName("pods"), []string{"web/db-0"})
	want(t, a, path.Root("warnings"), []string{})
	live.survey.Snapshot.DaemonSets = []cluster.DaemonSet{{Namespace: "web", Name: "heavy", Template: &cluster.Template{Requests: amount.List{amount.CPU: 1e9}}}}
	if warnings := get[[]string](t, read(t, data.NewSimulation(), live, config), path.Root("warnings")); len(warnings) != 1 || !strings.Contains(warnings[0], "DaemonSet web/heavy fits on no machine of ") {
		t.Errorf("warnings %q", warnings)
	}
	live.survey.Snapshot.DaemonSets = nil
	live.survey.HiddenClasses, live.survey.PriorityClasses = []string{"hidden"}, nil
	if warnings := get[[]string](t, read(t, data.NewSimulation(), live, config), path.Root("warnings")); len(warnings) != 2 || warnings[0] != "hidden" {
		t.Errorf("warnings %q", warnings)
	}
}

// Nodes have what the options of the cluster's agent give them.
func TestSimulationWithTheOptionsOfTheAgent(t *testing.T) {
	branched := strings.Replace(pending, "cpu: 1", "cpu: 1, vpc.amazonaws.com/pod-eni: 1", 1)
	config := map[string]tftypes.Value{"manifests": texts(listOfTexts, offered, branched)}
	for unplaced, nodes := range []offer.NodeOptions{{PodENI: true}, {}} {
		a := read(t, data.NewSimulation(), &platform{survey: &cluster.Survey{Snapshot: &cluster.Snapshot{}}, nodes: nodes}, config)
		if pods := get[types.List](t, a, path.Root("unplaced")); len(pods.Elements()) != unplaced {
			t.Errorf("with %+v, pods without a place: %s", nodes, pods)
		}
		want(t, a, path.Root("warnings"), []string{})
	}
}

// As in a list of a resource, an element that is null counts as not set.
func TestSimulationLeavesOutDraftsThatAreNull(t *testing.T) {
	missing := tupleOf(tftypes.NewValue(tftypes.DynamicPseudoType, nil))
	a := read(t, data.NewSimulation(), &platform{}, map[string]tftypes.Value{
		"manifests": texts(listOfTexts, offered, pending), "provisioners": missing, "node_profiles": missing,
	})
	want(t, a, path.Root("machines").AtListIndex(0).AtName("pods"), []string{"web/a"})
}

func TestSimulationNamesTheDraftThatIsWrong(t *testing.T) {
	draft := func(attributes map[string]tftypes.Value) tftypes.Value {
		of := tftypes.Object{AttributeTypes: map[string]tftypes.Type{}}
		for name, value := range attributes {
			of.AttributeTypes[name] = value.Type()
		}
		return tftypes.NewValue(of, attributes)
	}
	weight := tftypes.NewValue(tftypes.Number, 1)
	tests := map[string]struct {
		value tftypes.Value
		want  string
	}{
		"no list":             {text("small"), "provisioners: must be a list, not a string"},
		"no name":             {tupleOf(draft(map[string]tftypes.Value{"name": text("a")}), draft(map[string]tftypes.Value{"weight": weight})), "provisioners[1]: the draft has no name"},
		"no map":              {tupleOf(draft(map[string]tftypes.Value{"name": text("a"), "labels": text("b")})), "labels: must be a map, not a string"},
		"a misspelt argument": {tupleOf(draft(map[string]tftypes.Value{"name": text("a"), "wieght": weight})), "provisioners: [0]: wieght is not a known argument; did you mean weight?"},
		"an unknown operator": {tupleOf(draft(map[string]tftypes.Value{"name": text("a"), "requirements": tupleOf(draft(map[string]tftypes.Value{
			"key": text("kubernetes.io/arch"), "operator": text("in"), "values": texts(listOfTexts, "amd64"),
		}))})), `provisioners[0]: requirements[0].operator: Unsupported value: "in"`},
		"a weight outside its range": {tupleOf(draft(map[string]tftypes.Value{"name": text("a"), "weight": tftypes.NewValue(tftypes.Number, 1000)})), "provisioners[0]: weight: Invalid value: 1000"},
		"another argument":           {tupleOf(draft(map[string]tftypes.Value{"name": text("a"), "colour": text("red")})), "provisioners: [0]: colour is not a known argument; remove it"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			wantError(t, read(t, data.NewSimulation(), &platform{}, map[string]tftypes.Value{
				"manifests": texts(listOfTexts, pending), "provisioners": tt.value,
			}), tt.want)
		})
	}
}

// An invalid object buys nothing, so that it would seem to cost nothing.
func TestSimulationNamesTheManifestThatIsInvalid(t *testing.T) {
	for _, tt := range []struct{ manifest, want string }{
		{strings.Replace(offered, "spec: {}", "spec: {weight: 1000}", 1), "manifests[0]:4: document 1: Provisioner default: spec.weight: Invalid value: 1000"},
		{"apiVersion: karpenter.k8s.aws/v1alpha1\nkind: AWSNodeTemplate\nmetadata: {name: default}\nspec: {amiFamily: AL2024}\n", "AWSNodeTemplate default: spec.amiFamily: Unsupported value"},
	} {
		wantError(t, read(t, data.NewSimulation(), &platform{}, map[string]tftypes.Value{"manifests": texts(listOfTexts, tt.manifest, pending)}), tt.want)
	}
}

func tupleOf(items ...tftypes.Value) tftypes.Value {
	of := tftypes.Tuple{}
	for _, item := range items {
		of.ElementTypes = append(of.ElementTypes, item.Type())
	}
	return tftypes.NewValue(of, items)
}
