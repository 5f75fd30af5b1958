package noderole

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// leftProfiles returns the names of the instance profiles that were declared before and that the role is still in.
func leftProfiles(ctx context.Context, private lifecycle.PrivateState, diags *diag.Diagnostics) []string {
	if left := lifecycle.Recorded[[]string](ctx, private, lifecycle.ProfilesKey, diags); left != nil {
		return *left
	}
	return nil
}

// leave returns the names of the profiles that are left once the declared one has changed.
func leave(left []string, was, is types.String) []string {
	left = append(slices.Clone(left), was.ValueString())
	slices.Sort(left)
	return slices.DeleteFunc(slices.Compact(left), func(name string) bool { return name == "" || name == is.ValueString() })
}

// deleteLeft deletes a profile that was left, unless it has another role by now.
func deleteLeft(ctx context.Context, profiles session.Profiles, name, role string) error {
	live, _, err := profiles.Read(ctx, name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && live.Role != "" && live.Role != role {
		return nil
	}
	if err != nil {
		return err
	}
	return profiles.Delete(ctx, asset.Profile{Name: name, Role: live.Role})
}
