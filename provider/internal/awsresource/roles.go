package awsresource

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-jsontypes/jsontypes"
	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/attribute"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/kubevalue"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/value"
)

// RoleModel is the part of a state that all roles have.
type RoleModel struct {
	Name                types.String         `tfsdk:"name"`
	Path                types.String         `tfsdk:"path"`
	Description         types.String         `tfsdk:"description"`
	PermissionsBoundary types.String         `tfsdk:"permissions_boundary"`
	Tags                types.Map            `tfsdk:"tags"`
	TagsAll             types.Map            `tfsdk:"tags_all"`
	ARN                 types.String         `tfsdk:"arn"`
	AssumeRolePolicy    jsontypes.Normalized `tfsdk:"assume_role_policy"`
	Policies            types.Map            `tfsdk:"policies"`
	PolicyARNs          types.Set            `tfsdk:"policy_arns"`
	Timeouts            timeouts.Value       `tfsdk:"timeouts"`
}

// Declared returns the declared role. The model must have no unknown values.
func (m *RoleModel) Declared() asset.Role {
	return asset.Role{
		Name:        m.Name.ValueString(),
		Path:        m.Path.ValueString(),
		Description: m.Description.ValueString(),
		Boundary:    m.PermissionsBoundary.ValueString(),
		MaxSession:  asset.DefaultSession,
		Trust:       m.AssumeRolePolicy.ValueString(),
		Inline:      value.Strings(m.Policies),
		Attached:    value.Elements(m.PolicyARNs),
		Tags:        value.Strings(m.TagsAll),
	}
}

// RefreshRole sets the declared attributes to the live values.
func (m *RoleModel) RefreshRole(live asset.Role) {
	m.Path = types.StringValue(live.Path)
	m.Description = value.Declared(m.Description, live.Description)
	m.PermissionsBoundary = value.Declared(m.PermissionsBoundary, live.Boundary)
	m.AssumeRolePolicy = jsontypes.NewNormalizedValue(live.Trust)
	if !m.Policies.IsNull() {
		m.Policies = Documents(Common(value.Strings(m.Policies), live.Inline), true)
	}
	if !m.PolicyARNs.IsNull() {
		m.PolicyARNs = Attached(m.PolicyARNs, live)
	}
	m.Tags, m.TagsAll = RefreshTags(m.Tags, live.Tags), RefreshTags(m.TagsAll, live.Tags)
}

// SpeltAs returns a policy in the present spelling if that says the same. IAM keeps the spelling of others, such as lists
// of one action, so that another one would be a change without an effect.
func SpeltAs(now jsontypes.Normalized, wanted string) jsontypes.Normalized {
	if policy.SamePolicy(now.ValueString(), wanted) {
		return now
	}
	return jsontypes.NewNormalizedValue(wanted)
}

// KnownARN returns the ARN of the role in the state. It looks it up for a state that was moved and not refreshed, which
// has none.
func (m *RoleModel) KnownARN(ctx context.Context, lookUp func(ctx context.Context, name string) (arn string, err error)) (types.String, error) {
	if !m.ARN.IsNull() {
		return m.ARN, nil
	}
	arn, err := lookUp(ctx, m.Name.ValueString())
	return types.StringValue(arn), err
}

// Attached returns those of the declared managed policies that are attached to the live role.
func Attached(declared types.Set, live asset.Role) types.Set {
	return types.SetValueMust(types.StringType, slices.DeleteFunc(declared.Elements(), func(arn attr.Value) bool {
		return !arn.IsNull() && !slices.Contains(live.Attached, value.TextOf(arn))
	}))
}

// RoleARNs returns the ARNs of roles that are given by name or ARN. It looks names up in IAM with session.Roles.ARN,
// because the ARN also contains the role's path. If there is no such role, the error is fs.ErrNotExist.
func RoleARNs(ctx context.Context, lookUp func(ctx context.Context, name string) (arn string, err error), given types.Set) ([]string, error) {
	var out []string
	for _, role := range value.Elements(given) {
		if strings.HasPrefix(role, "arn:") {
			out = append(out, role)
			continue
		}
		arn, err := lookUp(ctx, role)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, missingRoleError(role)
		}
		if err != nil {
			return nil, fmt.Errorf("node_roles: %w (an ARN needs no lookup)", err)
		}
		out = append(out, arn)
	}
	return out, nil
}

// missingRoleError is the name of a node role that does not exist. As an error, it is fs.ErrNotExist.
type missingRoleError string

func (m missingRoleError) Error() string {
	return fmt.Sprintf("node_roles: IAM role %q does not exist: create it first, and refer to it as packhorse_node_role.<name>.arn", string(m))
}

func (missingRoleError) Is(target error) bool { return target == fs.ErrNotExist }

// PlanLookup is the time limit of lookups during a plan. A lookup of a role waits if the role does not
// exist.
const PlanLookup = 5 * time.Second

// ifKnown requires a replacement if the path changes. A state that was moved and not refreshed has no path.
func ifKnown(_ context.Context, req planmodifier.StringRequest, resp *stringplanmodifier.RequiresReplaceIfFuncResponse) {
	resp.RequiresReplace = !req.StateValue.IsNull()
}

func pathAttribute(what string) schema.StringAttribute {
	const changing = "Changing it forces a replacement."
	return schema.StringAttribute{
		Optional: true, Computed: true, Default: stringdefault.StaticString("/"),
		MarkdownDescription: "Path of the " + what + ". `/` by default. " + changing,
		PlanModifiers:       []planmodifier.String{stringplanmodifier.RequiresReplaceIf(ifKnown, changing, changing)},
		Validators:          []validator.String{attribute.Form(policy.Path), stringvalidator.LengthAtMost(maxPath)},
	}
}

// maxPath is IAM's limit for the length of a path.
const maxPath = 512

// RoleAttributes returns the attributes that all roles have. pathOf says in the description what has
// the path.
func RoleAttributes(pathOf string) attribute.Level {
	name := attribute.Name("Name of the role.")
	name.Validators = []validator.String{attribute.Form(policy.RoleName)}
	return attribute.Level{
		"name": name,
		"path": pathAttribute(pathOf),
		"description": schema.StringAttribute{
			Optional: true, MarkdownDescription: "Description of the role.", Validators: []validator.String{attribute.Description()},
		},
		"permissions_boundary": attribute.FormText("ARN of the permissions boundary of the role.", policy.PolicyARN),
		"policies": schema.MapAttribute{
			Optional: true, ElementType: jsontypes.NormalizedType{}, MarkdownDescription: "Inline policies of the role, as JSON by name.",
			PlanModifiers: []planmodifier.Map{kubevalue.KeepSpelling{}},
		},
		"arn": attribute.ComputedARN("ARN of the role."),
		"assume_role_policy": schema.StringAttribute{
			Computed: true, CustomType: jsontypes.NormalizedType{}, MarkdownDescription: "Trust policy of the role, as JSON.",
		},
	}
}

// CheckInline reports inline policies that IAM would refuse.
func CheckInline(policies types.Map) diag.Diagnostics {
	const larger = "All inline policies of a role together may have 10,240 characters. Attach managed policies with `policy_arns` instead."
	var diags diag.Diagnostics
	total := 0
	refuse := func(name, problem, advice string) {
		diags.AddAttributeError(path.Root("policies"), fmt.Sprintf("policies[%q]: %s", name, problem), advice)
	}
	documents := policies.Elements()
	for _, name := range slices.Sorted(maps.Keys(documents)) {
		if err := policy.PolicyName.Check(name); err != nil {
			refuse(name, err.Error(), "")
		}
		switch {
		case documents[name].IsNull():
			refuse(name, "has no document", "Remove the name, or give it a policy.")
			continue
		case documents[name].IsUnknown():
			continue
		}
		document := value.TextOf(documents[name])
		total += policy.Size(document)
		err := policy.CheckDocument(document)
		switch {
		case policy.Size(document) > policy.MaxInline:
			refuse(name, "larger than IAM accepts", larger)
		case err != nil:
			refuse(name, err.Error(), "")
		case total > policy.MaxInline:
			refuse(name, "larger than IAM accepts, together with the policies before it", larger)
		}
	}
	return diags
}

// Documents converts policies. Without any, it returns an empty map if keepEmpty is set, and else null.
func Documents(policies map[string]string, keepEmpty bool) types.Map {
	if len(policies) == 0 && !keepEmpty {
		return types.MapNull(jsontypes.NormalizedType{})
	}
	out := make(map[string]attr.Value, len(policies))
	for name, document := range policies {
		out[name] = jsontypes.NewNormalizedValue(document)
	}
	return types.MapValueMust(jsontypes.NormalizedType{}, out)
}

// EitherSet returns the elements of both sets. It is null if both are.
func EitherSet(before, now types.Set) types.Set {
	if before.IsNull() && now.IsNull() {
		return before
	}
	all := slices.Concat(value.Elements(before), value.Elements(now))
	slices.Sort(all)
	return value.Set(slices.Compact(all))
}

// EitherMap returns the elements of both maps, those of before where both have a key. It is null if both
// are.
func EitherMap(before, now types.Map) types.Map {
	if now.IsNull() || now.IsUnknown() {
		return before
	}
	all := now.Elements()
	maps.Copy(all, before.Elements())
	return types.MapValueMust(now.ElementType(context.Background()), all)
}

// Common returns the live values of the keys that are declared.
func Common(declared, live map[string]string) map[string]string {
	out := make(map[string]string, len(declared))
	for key := range declared {
		if value, ok := live[key]; ok {
			out[key] = value
		}
	}
	return out
}
