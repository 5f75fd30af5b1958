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
	var strangers []string
	// IAM also refuses for a moment after the last policy is gone.
	lagging := func(err error) bool {
		if call.Code(err) != call.DeleteConflict {
			return false
		}
		strangers = r.strangers(ctx, role.Name)
		return len(strangers) == 0
	}
	err := call.Eventually(ctx, lagging, func(ctx context.Context) error {
		_, err := r.client.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: aws.String(role.Name)})
		return call.Gone(err)
	})
	if len(strangers) > 0 {
		return fmt.Errorf("delete role %q: it still has %s, which were given to it by somebody else: %w",
			role.Name, strings.Join(strangers, "; "), err)
	}
	if err != nil {
		return fmt.Errorf("delete role %q: %w", role.Name, err)
	}
	return nil
}

// strangers names what keeps a role from being deleted. What cannot be read is
// not named, since the deletion has been refused either way.
func (r *Roles) strangers(ctx context.Context, role string) []string {
	ctx, cancel := context.WithTimeout(ctx, call.ReadTimeout)
	defer cancel()
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
