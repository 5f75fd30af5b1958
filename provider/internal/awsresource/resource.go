package awsresource

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
)

// MarkDeclared records that the configuration has declared the resource, so that it does not count as imported any more.
func MarkDeclared(ctx context.Context, private lifecycle.PrivateState) diag.Diagnostics {
	return private.SetKey(ctx, lifecycle.DeclaredKey, []byte("true"))
}

// Imported reports whether the resource is to be taken over as it is.
func Imported(ctx context.Context, private lifecycle.PrivateState, diags *diag.Diagnostics) bool {
	raw, found := private.GetKey(ctx, lifecycle.DeclaredKey)
	diags.Append(found...)
	return len(raw) == 0
}

// Error is a diagnostic about something in AWS.
func Error(what string, err error) diag.Diagnostic {
	summary, detail := lifecycle.Summarise(what + ": " + err.Error())
	return diag.NewErrorDiagnostic(summary, strings.TrimSpace(detail+"\n"+lifecycle.Unanswered(err)))
}
