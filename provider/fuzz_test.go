package provider_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// oddTexts and oddNumbers are what configurations hold by mistake.
var (
	oddTexts = []string{
		"", " ", "-1", "-0", "0", "1", "1e3", "1e400", "1.5", "0x10", "+1", "1_000", "NaN", "Inf", "100%", "101%", "5.5%", "-5%", "%", "1Ki", "1K", "1k",
		"99999999999Ti", "0.0000000000001", "1m", "1s", "1d", "1h1h", "-1s", "9999999h", "a b", "a/b/c", "/", "a/", "ä", "“a”", "A", "a.", ".a", "x=y",
		"${a}", "true", "null", "*", "*,", "a,b", ",", "@daily", "* * * * *", "61 * * * *", "Custom", "AL2", "Windows2022", "gp2", "io2", "standard", "spot",
		"karpenter.sh/provisioner-name", "kubernetes.io/arch", "node.kubernetes.io/instance-type", "aws::ids", "aws::name", "karpenter.sh/discovery",
		strings.Repeat("a", 64), strings.Repeat("a", 300), strings.Repeat("a", 17<<10), "Gt", "In", "Exists", "NoSchedule", "NoExecute", "a\nb", "\x00",
	}
	oddNumbers = []float64{-1, 0, 1, 2, 63, 64, 65, 100, 101, 125, 2999, 3000, 80001, 1 << 31, 1<<31 - 1, -(1 << 31), 1 << 53}
)

// spoil replaces, removes or doubles something of what was drawn.
func spoil(t *rapid.T, in arguments) {
	var ways []func()
	var walk func(value any, set func(any), drop func())
	walk = func(value any, set func(any), drop func()) {
		switch value := value.(type) {
		case arguments:
			for _, name := range slices.Sorted(maps.Keys(value)) {
				walk(value[name], func(v any) { value[name] = v }, func() { delete(value, name) })
			}
			ways = append(ways, func() {
				value[rapid.SampledFrom(oddTexts).Draw(t, "key")] = rapid.SampledFrom(oddTexts).Draw(t, "entry")
			})
		case []any:
			for i := range value {
				walk(value[i], func(v any) { value[i] = v }, drop)
			}
			ways = append(ways, func() { set(append(value, value[0])) }, func() { set([]any{}) })
		case string:
			ways = append(ways, func() { set(rapid.SampledFrom(oddTexts).Draw(t, "text")) }, drop)
		case int:
			ways = append(ways, func() { set(rapid.SampledFrom(oddNumbers).Draw(t, "number")) }, drop)
		case bool:
			ways = append(ways, func() { set(!value) }, drop)
		}
	}
	walk(in, func(any) {}, func() {})
	for range rapid.IntRange(1, 3).Draw(t, "ways") {
		rapid.SampledFrom(ways).Draw(t, "way")()
	}
}

// trial takes configurations through validation and creation.
type trial struct {
	server   tfprotov6.ProviderServer
	typeName string
	kind     schema.GroupVersionResource
	typ      tftypes.Type
	draw     *rapid.Generator[arguments]
}

func newTrial(t testing.TB, typeName string, kind schema.GroupVersionResource, draw *rapid.Generator[arguments]) trial {
	t.Helper()
	server := configured(t)
	schemas := schemasOf(t, server)
	return trial{server, typeName, kind, schemas.ResourceSchemas[typeName].ValueType(), draw}
}

// tried numbers the objects, whose names have to differ.
var tried atomic.Int64

// run fails if what validation lets pass is refused by the API server.
func (r trial) run(t *rapid.T) {
	drawn := r.draw.Draw(t, "arguments")
	spoil(t, drawn)
	name := fmt.Sprintf("fuzzed-%d", tried.Add(1))
	drawn["name"] = name
	raw, err := json.Marshal(drawn)
	if err != nil {
		t.Fatal(err)
	}
	value, err := tftypes.ValueFromJSON(raw, r.typ) //nolint:staticcheck // it is how raw states are read, too
	if err != nil {
		return // of another type, which Terraform itself refuses
	}
	config := r.value(t, value)
	validated, err := r.server.ValidateResourceConfig(context.Background(), &tfprotov6.ValidateResourceConfigRequest{TypeName: r.typeName, Config: config})
	if err != nil {
		t.Fatal(err)
	}
	if hasError(validated.Diagnostics) {
		return
	}
	prior, proposed := r.value(t, tftypes.NewValue(r.typ, nil)), r.value(t, r.withUnknowns(t, value))
	planned, err := r.server.PlanResourceChange(context.Background(), &tfprotov6.PlanResourceChangeRequest{
		TypeName: r.typeName, PriorState: prior, ProposedNewState: proposed, Config: config,
	})
	if err != nil {
		t.Fatal(err)
	}
	if !hasError(planned.Diagnostics) {
		proposed = planned.PlannedState
	}
	// What a plan refuses is applied too: validation alone has to be strict enough.
	applied, err := r.server.ApplyResourceChange(context.Background(), &tfprotov6.ApplyResourceChangeRequest{
		TypeName: r.typeName, PriorState: prior, PlannedState: proposed, Config: config,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range applied.Diagnostics {
		if d.Severity == tfprotov6.DiagnosticSeverityError {
			t.Errorf("validation let pass what was refused: %s\n%s\n%s", d.Summary, d.Detail, raw)
		}
	}
	if !hasError(applied.Diagnostics) {
		if err := objects.Resource(r.kind).Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

func (r trial) value(t *rapid.T, v tftypes.Value) *tfprotov6.DynamicValue {
	out, err := tfprotov6.NewDynamicValue(r.typ, v)
	if err != nil {
		t.Fatal(err)
	}
	return &out
}

// withUnknowns is what Terraform proposes for what the provider computes.
func (r trial) withUnknowns(t *rapid.T, v tftypes.Value) tftypes.Value {
	attributes := map[string]tftypes.Value{}
	if err := v.As(&attributes); err != nil {
		t.Fatal(err)
	}
	for _, computed := range []string{"effective_requirements", "plan_preview"} {
		if now, ok := attributes[computed]; ok {
			attributes[computed] = tftypes.NewValue(now.Type(), tftypes.UnknownValue)
		}
	}
	return tftypes.NewValue(r.typ, attributes)
}

func hasError(diags []*tfprotov6.Diagnostic) bool {
	return slices.ContainsFunc(diags, func(d *tfprotov6.Diagnostic) bool { return d.Severity == tfprotov6.DiagnosticSeverityError })
}

// What validation lets pass, the API server takes.
func TestValidationIsAsStrictAsTheServer(t *testing.T) {
	for name, r := range map[string]trial{
		"provisioner":  newTrial(t, "packhorse_provisioner", api.ProvisionerGVR, aProvisioner()),
		"node profile": newTrial(t, "packhorse_node_profile", api.NodeTemplateGVR, aNodeProfile()),
	} {
		t.Run(name, func(t *testing.T) { rapid.Check(t, r.run) })
	}
}

// The same for a fuzzer, which finds what drawing does not.

func FuzzProvisioner(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(newTrial(f, "packhorse_provisioner", api.ProvisionerGVR, aProvisioner()).run))
}

func FuzzNodeProfile(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(newTrial(f, "packhorse_node_profile", api.NodeTemplateGVR, aNodeProfile()).run))
}
