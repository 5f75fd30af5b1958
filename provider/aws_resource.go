package provider

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// What the resources in AWS have in common.

// declaredKey is where the private state holds that a resource was declared. One
// of which nothing is recorded has just been imported.
const declaredKey = "declared"

func markDeclared(ctx context.Context, private privateState) diag.Diagnostics {
	return private.SetKey(ctx, declaredKey, []byte("true"))
}

// imported reports whether the resource is to be taken over as it is.
func imported(ctx context.Context, private privateState, diags *diag.Diagnostics) bool {
	raw, found := private.GetKey(ctx, declaredKey)
	diags.Append(found...)
	return len(raw) == 0
}

// What stands before an error of the access, and after it.
const (
	noCluster      = "no access to the cluster"
	noAWS          = "no access to AWS"
	nothingChanged = "Nothing has been changed."
)

// tellOnce reports that a refresh or a plan has no access, for one resource of all.
func tellOnce(s *session.Session, what string, err error, diags *diag.Diagnostics) {
	if !s.First("no access") { // to the cluster is often none to AWS
		return
	}
	detail := nothingChanged
	if errors.Is(err, session.ErrWrongAccess) {
		detail += " If the same apply makes the cluster or the credentials, take their values from the resources that make them, so that they are known only after apply."
	}
	diags.AddError(what+": "+err.Error(), detail)
}

func accountOf(ctx context.Context, s *session.Session, diags *diag.Diagnostics) *session.Account {
	account, err := s.Account(ctx)
	if err != nil {
		diags.AddError(noAWS+": "+err.Error(), nothingChanged)
	}
	return account
}

// unanswered is what to add to an error of AWS after which it is open what was done.
func unanswered(err error) string {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return "Whether AWS has carried out the last call is open. The next plan reads what is there; if it then says that it exists already, import it."
	}
	return ""
}

// awsError is a diagnostic about something in AWS.
func awsError(what string, err error) diag.Diagnostic {
	summary, detail := summarise(what + ": " + err.Error())
	return diag.NewErrorDiagnostic(summary, strings.TrimSpace(detail+"\n"+unanswered(err)))
}

// notRefreshed says why the state stays as it is.
func notRefreshed(what string, err error) diag.Diagnostic {
	return diag.NewWarningDiagnostic(what+" was not refreshed", fmt.Sprintf("The state stays as it was recorded: %s.", err))
}

func pathAttribute(what string) schema.StringAttribute {
	return schema.StringAttribute{
		Optional: true, Computed: true, Default: stringdefault.StaticString("/"),
		MarkdownDescription: "Path of the " + what + ". `/` by default. Changing it forces a replacement.",
		PlanModifiers:       []planmodifier.String{stringplanmodifier.RequiresReplace()},
		Validators:          []validator.String{formed(policy.Path), stringvalidator.LengthAtMost(maxPath)},
	}
}

// maxPath is how long a path of IAM may be.
const maxPath = 512

// roleAttributes are what all roles have in common.
func roleAttributes(pathOf string) attributes {
	name := nameAttribute("Name of the role.")
	name.Validators = []validator.String{formed(policy.RoleName)}
	return attributes{
		"name": name,
		"path": pathAttribute(pathOf),
		"description": schema.StringAttribute{
			Optional: true, MarkdownDescription: "Description of the role.", Validators: []validator.String{description()},
		},
		"permissions_boundary": formedText("ARN of the permissions boundary of the role.", policy.PolicyARN),
		"arn":                  computedARN("ARN of the role."),
	}
}

// formedText is an optional name or ARN of something in AWS.
func formedText(description string, form policy.Form) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, MarkdownDescription: description, Validators: []validator.String{formed(form)}}
}

func computedARN(description string) schema.StringAttribute {
	return schema.StringAttribute{
		Computed: true, MarkdownDescription: description,
		PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
	}
}
