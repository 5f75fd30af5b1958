package provider_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/provider"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/cmd/platform"
)

// plainly is how many generated configurations are compared.
const plainly = 60

// pair is a server that answers by itself, and the plugin framework's.
type pair struct{ ours, frameworks tfprotov6.ProviderServer }

// newPair configures both. Ours cannot ask the framework any more.
func newPair(t *testing.T, checks string) pair {
	t.Helper()
	p := pair{provider.NewServer(newProvider())(), providerserver.NewProtocol6(newProvider())()}
	typ := schemasOf(t, p.ours).Provider.ValueType().(tftypes.Object)
	block := wireJSON(t, typ, arguments{"cluster_name": box.ClusterName, "plan_checks": checks})
	for _, server := range []tfprotov6.ProviderServer{p.ours, p.frameworks} {
		done, err := server.ConfigureProvider(t.Context(), &tfprotov6.ConfigureProviderRequest{Config: &block})
		if err != nil || len(done.Diagnostics) > 0 {
			t.Fatal(err, done)
		}
	}
	provider.Detach(p.ours)
	return p
}

var newProvider = provider.New("test", platform.Connect)

// wireJSON is an object in the wire protocol. What it does not name is null.
func wireJSON(t *testing.T, typ tftypes.Type, in arguments) tfprotov6.DynamicValue {
	t.Helper()
	v, err := tfprotov6.RawState{JSON: rawJSON(t, in)}.Unmarshal(typ)
	if err != nil {
		t.Fatal(err)
	}
	out, err := tfprotov6.NewDynamicValue(typ, v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func rawJSON(t *testing.T, in any) []byte {
	t.Helper()
	raw, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// both asks both servers for the same and returns the framework's answer.
func both[Q, A any](t *testing.T, p pair, typ tftypes.Type, what string, call func(tfprotov6.ProviderServer, *Q) (*A, error), ask Q) *A {
	t.Helper()
	mine, yours := ask, ask
	want, err := call(p.frameworks, &yours)
	if err != nil {
		t.Fatal(err)
	}
	got, err := call(p.ours, &mine)
	if err != nil {
		t.Fatal(err)
	}
	// The order of a map's entries in the wire protocol is chance.
	decoded := cmp.Transformer("decoded", func(v *tfprotov6.DynamicValue) string {
		if v == nil {
			return ""
		}
		out, err := v.Unmarshal(typ)
		if err != nil {
			out, err = v.Unmarshal(tftypes.Object{AttributeTypes: map[string]tftypes.Type{"name": tftypes.String}}) // an identity
		}
		if err != nil {
			t.Fatal(err)
		}
		return out.String()
	})
	if diff := cmp.Diff(want, got, decoded); diff != "" {
		t.Errorf("%s, -the framework's +ours:\n%s\nasked for %+v", what, diff, ask)
	}
	return want
}

// TestPlainAnswersAreTheFrameworks follows generated objects from their validation
// to a refresh: what the server answers by itself is what the framework would.
func TestPlainAnswersAreTheFrameworks(t *testing.T) {
	p := newPair(t, "off")
	var reads []tfprotov6.ReadResourceRequest
	for i := range plainly {
		typeName, kind, config := aPlainObject(i)
		typ := schemasOf(t, p.frameworks).ResourceSchemas[typeName].ValueType()
		reads = append(reads, created(t, p, typeName, typ, config))
		defer remove(t, kind, config["name"].(string))

		upgrade := tfprotov6.UpgradeResourceStateRequest{TypeName: typeName, Version: 2, RawState: &tfprotov6.RawState{JSON: rawJSON(t, config)}}
		both(t, p, typ, "upgrade", func(s tfprotov6.ProviderServer, q *tfprotov6.UpgradeResourceStateRequest) (*tfprotov6.UpgradeResourceStateResponse, error) {
			return s.UpgradeResourceState(t.Context(), q)
		}, upgrade)
	}
	for _, read := range reads {
		typ := schemasOf(t, p.frameworks).ResourceSchemas[read.TypeName].ValueType()
		both(t, p, typ, "read", func(s tfprotov6.ProviderServer, q *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
			return s.ReadResource(t.Context(), q)
		}, read)
	}
}

// aPlainObject draws an object without timeouts, which are left to the framework.
func aPlainObject(i int) (typeName string, kind schema.GroupVersionResource, config arguments) {
	typeName, kind, config = "packhorse_provisioner", api.ProvisionerGVR, aProvisioner().Example(i)
	if i%3 == 2 {
		typeName, kind, config = "packhorse_node_profile", api.NodeTemplateGVR, aNodeProfile().Example(i)
	}
	delete(config, "timeouts")
	config["name"] = fmt.Sprintf("plain-%03d", i)
	return typeName, kind, config
}

// created validates, plans and makes a new object. It returns how to read it.
func created(t *testing.T, p pair, typeName string, typ tftypes.Type, in arguments) tfprotov6.ReadResourceRequest {
	t.Helper()
	config, none := wireJSON(t, typ, in), nothingOf(t, typ)
	both(t, p, typ, "validation", func(s tfprotov6.ProviderServer, q *tfprotov6.ValidateResourceConfigRequest) (*tfprotov6.ValidateResourceConfigResponse, error) {
		return s.ValidateResourceConfig(t.Context(), q)
	}, tfprotov6.ValidateResourceConfigRequest{TypeName: typeName, Config: &config})
	planned := both(t, p, typ, "plan", func(s tfprotov6.ProviderServer, q *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
		return s.PlanResourceChange(t.Context(), q)
	}, tfprotov6.PlanResourceChangeRequest{TypeName: typeName, PriorState: &none, Config: &config, ProposedNewState: &config})
	made, err := p.frameworks.ApplyResourceChange(t.Context(), &tfprotov6.ApplyResourceChangeRequest{
		TypeName: typeName, PriorState: &none, Config: &config, PlannedState: planned.PlannedState, PlannedIdentity: planned.PlannedIdentity,
	})
	if err != nil || len(made.Diagnostics) > 0 {
		t.Fatal(err, made)
	}
	return tfprotov6.ReadResourceRequest{TypeName: typeName, CurrentState: made.NewState, Private: made.Private, CurrentIdentity: made.NewIdentity}
}

func nothingOf(t *testing.T, typ tftypes.Type) tfprotov6.DynamicValue {
	t.Helper()
	out, err := tfprotov6.NewDynamicValue(typ, tftypes.NewValue(typ, nil))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestPlainPlansLookAhead compares the plans of new objects with what looking ahead
// has to say about them.
func TestPlainPlansLookAhead(t *testing.T) {
	for _, checks := range []string{"warn", "error"} {
		p, told := newPair(t, checks), 0
		for i := range plainly / 4 {
			typeName, _, in := aPlainObject(i)
			typ := schemasOf(t, p.frameworks).ResourceSchemas[typeName].ValueType()
			config, none := wireJSON(t, typ, in), nothingOf(t, typ)
			planned := both(t, p, typ, "plan", func(s tfprotov6.ProviderServer, q *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
				return s.PlanResourceChange(t.Context(), q)
			}, tfprotov6.PlanResourceChangeRequest{TypeName: typeName, PriorState: &none, Config: &config, ProposedNewState: &config})
			told += len(planned.Diagnostics)
		}
		if told == 0 {
			t.Error("no plan has anything to tell, so that its words were not compared")
		}
	}
}
