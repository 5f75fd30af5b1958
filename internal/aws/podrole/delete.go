package podrole

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/call"
)

// Delete removes the declared policies and deletes the role. If the role has other policies
// or is in an instance profile, it is not deleted, and the error names these. Delete
// succeeds if there is no such role.
func (r *Roles) Delete(ctx context.Context, role asset.Role) error {
	if err := r.removePolicies(ctx, role); err != nil {
		return fmt.Errorf("delete role %q: %w", role.Name, err)
	}
	var others []string
	// IAM also refuses for a moment after the last policy has been removed.
	lagging := func(err error) bool {
		if call.Code(err) != call.DeleteConflict {
			return false
		}
		others = r.attachments(ctx, role.Name)
		return len(others) == 0
	}
	err := call.Change(ctx, lagging, r.client.DeleteRole, &iam.DeleteRoleInput{RoleName: aws.String(role.Name)})
	if len(others) > 0 {
		return fmt.Errorf("delete role %q: it still has %s, which are not declared with the role: %w",
			role.Name, strings.Join(others, "; "), err)
	}
	if err = call.IgnoreMissing(err); err != nil {
		return fmt.Errorf("delete role %q: %w", role.Name, err)
	}
	return nil
}

// attachments describes the policies and instance profiles of a role, which keep it from
// being deleted. What cannot be read is left out: IAM has refused the deletion anyway.
func (r *Roles) attachments(ctx context.Context, role string) []string {
	var found []string
	if names, err := r.inlineNames(ctx, role); err == nil && len(names) > 0 {
		found = append(found, "inline policies "+strings.Join(names, ", "))
	}
	if arns, err := r.attached(ctx, role); err == nil && len(arns) > 0 {
		found = append(found, "managed policies "+strings.Join(arns, ", "))
	}
	profiles, err := r.client.ListInstanceProfilesForRole(ctx, &iam.ListInstanceProfilesForRoleInput{RoleName: aws.String(role)})
	if err == nil && len(profiles.InstanceProfiles) > 0 {
		names := make([]string, len(profiles.InstanceProfiles))
		for i, p := range profiles.InstanceProfiles {
			names[i] = aws.ToString(p.InstanceProfileName)
		}
		found = append(found, "instance profiles "+strings.Join(names, ", "))
	}
	return found
}
