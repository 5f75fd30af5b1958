package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// plain answers calls about the custom resources of one kind as the plugin framework
// would, where the framework adds nothing to what customResource says. Everything else,
// such as a configuration of which a part is not known yet, is left to the framework.
type plain struct {
	kind kind
	load func() forms
}

// forms are what a kind's schema comes to.
type forms struct {
	schema schema.Schema
	typ    tftypes.Object
	// open are the computed attributes of a new object, unknown.
	open map[string]tftypes.Value
	// nobody is an identity that is not known yet.
	nobody *tfprotov6.ResourceIdentityData
}

func newPlain(k kind) *plain {
	return &plain{kind: k, load: sync.OnceValue(func() forms {
		ctx := context.Background()
		f := forms{schema: k.schema(ctx), open: map[string]tftypes.Value{}, nobody: identityData(tftypes.NewValue(identityType, nil))}
		f.typ = f.schema.Type().TerraformType(ctx).(tftypes.Object)
		for name, attribute := range f.schema.Attributes {
			if attribute.IsComputed() {
				f.open[name] = tftypes.NewValue(f.typ.AttributeTypes[name], tftypes.UnknownValue)
			}
		}
		return f
	})}
}

// validate checks a configuration. It returns nil for one of which a part is not
// known yet.
func (p *plain) validate(req *tfprotov6.ValidateResourceConfigRequest) *tfprotov6.ValidateResourceConfigResponse {
	config := p.configuration(req.Config)
	if config == nil {
		return nil
	}
	return &tfprotov6.ValidateResourceConfigResponse{Diagnostics: told((&customResource{kind: p.kind}).judge(*config))}
}

// configuration returns nil for one that the framework has to look at.
func (p *plain) configuration(in *tfprotov6.DynamicValue) *tftypes.Value {
	f := p.load()
	config, err := unmarshal(in, f.typ)
	if err != nil || config.IsNull() || !config.IsFullyKnown() || !unremarkable(f.schema, config) {
		return nil
	}
	return &config
}

// create plans a new object. It returns nil for any other change, and for one of
// whose configuration a part is not known yet.
func (p *plain) create(ctx context.Context, shared *session.Session, req *tfprotov6.PlanResourceChangeRequest) *tfprotov6.PlanResourceChangeResponse {
	f := p.load()
	prior, err := unmarshal(req.PriorState, f.typ)
	if err != nil || !prior.IsNull() || len(req.PriorPrivate) > 0 || req.PriorIdentity != nil {
		return nil
	}
	config := p.configuration(req.Config)
	if config == nil {
		return nil
	}
	proposed := *config // which it is of a new object: what is computed is null in both
	if !same(req.Config, req.ProposedNewState) {
		if proposed, err = unmarshal(req.ProposedNewState, f.typ); err != nil || proposed.IsNull() {
			return nil
		}
	}
	plan := tfsdk.Plan{Schema: f.schema, Raw: withAttributes(proposed, f.open)}
	resp := resource.ModifyPlanResponse{Plan: plan}
	(&customResource{kind: p.kind, session: shared}).ModifyPlan(ctx, resource.ModifyPlanRequest{
		Config: tfsdk.Config{Schema: f.schema, Raw: *config}, Plan: plan, State: tfsdk.State{Schema: f.schema, Raw: prior},
	}, &resp)
	planned, err := tfprotov6.NewDynamicValue(f.typ, resp.Plan.Raw)
	if err != nil {
		return nil
	}
	return &tfprotov6.PlanResourceChangeResponse{PlannedState: &planned, PlannedIdentity: f.nobody, Diagnostics: told(resp.Diagnostics)}
}

// read refreshes an object that is in the cluster as the state has it.
func (p *plain) read(ctx context.Context, shared *session.Session, req *tfprotov6.ReadResourceRequest) *tfprotov6.ReadResourceResponse {
	if shared == nil || shared.Known() != nil {
		return nil
	}
	state, err := unmarshal(req.CurrentState, p.load().typ)
	if err != nil || state.IsNull() {
		return nil
	}
	identity := identityData(identityOfName(nameOf(state)))
	if was := req.CurrentIdentity; was != nil && (was.IdentityData == nil || !bytes.Equal(was.IdentityData.MsgPack, identity.IdentityData.MsgPack)) {
		return nil
	}
	if !(&customResource{kind: p.kind, session: shared}).current(ctx, state, req.Private) {
		return nil
	}
	return &tfprotov6.ReadResourceResponse{NewState: req.CurrentState, Private: req.Private, NewIdentity: identity}
}

// current reports whether a refresh would change nothing.
func (r *customResource) current(ctx context.Context, state tftypes.Value, private []byte) bool {
	var diags diag.Diagnostics
	ctx = r.session.Mask(ctx)
	cluster, objects := r.connect(ctx, &diags)
	if diags.HasError() || !bytes.Equal(private, privateOf(clusterRecord{UID: cluster.UID()})) {
		return false
	}
	live, err := objects.Recall(ctx, nameOf(state))
	return err == nil && r.refresh(state, live, false, &diags).Equal(state) && len(diags) == 0
}

// privateOf is the private state that holds a record and nothing else, as the
// framework spells it.
func privateOf(r clusterRecord) []byte {
	record, err := json.Marshal(r)
	if err != nil {
		return nil
	}
	private, err := json.Marshal(map[string][]byte{clusterKey: record})
	if err != nil {
		return nil
	}
	return private
}
