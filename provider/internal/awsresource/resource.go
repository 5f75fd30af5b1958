package awsresource

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
)

// MarkDeclared records that the configuration has declared the resource.
func MarkDeclared(ctx context.Context, private lifecycle.PrivateState) diag.Diagnostics {
	return private.SetKey(ctx, lifecycle.DeclaredKey, []byte("true"))
}

// Imported reports whether the resource has just been imported or moved, so that its state must take over
// everything that exists. Then the state has no ARN yet. Private state does not tell: Terraform plans the
// replacement of a tainted resource without it, and if the deletion fails, the state is left without it too.
func Imported(arn types.String) bool { return arn.IsNull() }
