package provider

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/value"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/wire"
)

// providerModel is the provider block. Its objects are not decoded, because any part of them may be unknown.
type providerModel struct {
	ClusterName    types.String `tfsdk:"cluster_name"`
	Region         types.String `tfsdk:"region"`
	Profile        types.String `tfsdk:"profile"`
	AssumeRole     types.Object `tfsdk:"assume_role"`
	DefaultTags    types.Map    `tfsdk:"default_tags"`
	Endpoints      types.Object `tfsdk:"endpoints"`
	Kubernetes     types.Object `tfsdk:"kubernetes"`
	FieldManager   types.String `tfsdk:"field_manager"`
	ForceConflicts types.Bool   `tfsdk:"force_conflicts"`
	PlanChecks     types.String `tfsdk:"plan_checks"`
	CatalogueFile  types.String `tfsdk:"catalogue_file"`
}

// config converts what is known of the block.
func (m providerModel) config(unknown []string) (session.Config, diag.Diagnostics) {
	cfg := session.Config{Unknown: unknown, PlanChecks: m.PlanChecks.ValueString()}
	var diags diag.Diagnostics
	cfg.ClusterName, cfg.EmptyName = m.ClusterName.ValueString(), m.ClusterName.Equal(types.StringValue(""))
	cfg.AWS = session.AWS{Region: m.Region.ValueString(), Profile: m.Profile.ValueString(), Endpoints: value.Fields(m.Endpoints)}
	cfg.AWS.Assume = m.role(&diags)
	cfg.Kubernetes = m.kubernetes()
	cfg.DefaultTags = value.Strings(m.DefaultTags)
	cfg.FieldManager, cfg.ForceConflicts = cmp.Or(m.FieldManager.ValueString(), defaultFieldManager), m.ForceConflicts.ValueBool()
	cfg.CatalogueFile = m.CatalogueFile.ValueString()
	if _, err := cfg.Source(); err != nil && cfg.Known() == nil && !errors.Is(err, session.ErrNoCluster) {
		diags.AddError(err.Error(), "")
	}
	return cfg, diags
}

func (m providerModel) role(diags *diag.Diagnostics) *session.AssumedRole {
	if m.AssumeRole.IsNull() {
		return nil
	}
	given := value.Fields(m.AssumeRole)
	role := &session.AssumedRole{ARN: given["role_arn"], SessionName: given["session_name"], ExternalID: given["external_id"]}
	if given["duration"] != "" {
		length, err := time.ParseDuration(given["duration"])
		if err != nil {
			diags.AddAttributeError(path.Root("assume_role"), "assume_role.duration: "+err.Error(), `Set a duration such as "30m" or "1h".`)
		}
		role.Duration = length
	}
	return role
}

func (m providerModel) kubernetes() *session.Kubernetes {
	if m.Kubernetes.IsNull() {
		return nil
	}
	given := value.Fields(m.Kubernetes)
	out := &session.Kubernetes{
		ConfigPath:        given["config_path"],
		ConfigContext:     given["config_context"],
		Host:              given["host"],
		CA:                given["cluster_ca_certificate"],
		TLSServerName:     given["tls_server_name"],
		ProxyURL:          given["proxy_url"],
		Token:             given["token"],
		ClientCertificate: given["client_certificate"],
		ClientKey:         given["client_key"],
	}
	exec, ok := m.Kubernetes.Attributes()["exec"].(types.Object)
	if !ok || exec.IsNull() {
		return out
	}
	program := value.Fields(exec)
	out.Exec = &session.Exec{APIVersion: program["api_version"], Command: program["command"]}
	if args, ok := exec.Attributes()["args"].(types.List); ok {
		out.Exec.Args = value.Listed(args)
	}
	if env, ok := exec.Attributes()["env"].(types.Map); ok {
		out.Exec.Env = value.Strings(env)
	}
	return out
}

// unknownAttributes returns the names of the attributes that have an unknown part.
func unknownAttributes(block tftypes.Value) []string {
	var out []string
	for name, value := range wire.Attributes(block) {
		if !value.IsFullyKnown() {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
