package awsresource

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
)

// MarkDeclared records that the configuration has declared the resource, so that Imported is false
// from then on.
func MarkDeclared(ctx context.Context, private lifecycle.PrivateState) diag.Diagnostics {
	return private.SetKey(ctx, lifecycle.DeclaredKey, []byte("true"))
}

// Imported reports whether the resource has just been imported, so that its state must take over
// everything that exists.
func Imported(ctx context.Context, private lifecycle.PrivateState, diags *diag.Diagnostics) bool {
	raw, found := private.GetKey(ctx, lifecycle.DeclaredKey)
	diags.Append(found...)
	return len(raw) == 0
}
