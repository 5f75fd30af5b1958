package podrole

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/call"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
)

// Update changes a role from the declaration before to the declaration now. Policies and
// tags that are in neither stay as they are.
func (r *Roles) Update(ctx context.Context, before, now asset.Role) error {
	for _, step := range []func(context.Context, asset.Role, asset.Role) error{
		r.updateTrust, r.updateSettings, r.updateBoundary, r.updateTags, r.updatePolicies,
	} {
		if err := step(ctx, before, now); err != nil {
			return fmt.Errorf("update role %q: %w", now.Name, err)
		}
	}
	return nil
}

func (r *Roles) updateTrust(ctx context.Context, before, now asset.Role) error {
	if before.Trust == now.Trust {
		return nil
	}
	err := call.Change(ctx, call.UnknownPrincipal, r.client.UpdateAssumeRolePolicy, &iam.UpdateAssumeRolePolicyInput{
		RoleName: aws.String(now.Name), PolicyDocument: aws.String(now.Trust),
	})
	return call.Explain("set its trust policy", err)
}

func (r *Roles) updateSettings(ctx context.Context, before, now asset.Role) error {
	if before.Description == now.Description && before.MaxSession == now.MaxSession {
		return nil
	}
	err := call.Change(ctx, nil, r.client.UpdateRole, &iam.UpdateRoleInput{
		RoleName: aws.String(now.Name), Description: aws.String(now.Description), MaxSessionDuration: aws.Int32(now.MaxSession),
	})
	return call.Explain("set its description and maximum session duration", err)
}

func (r *Roles) updateBoundary(ctx context.Context, before, now asset.Role) error {
	var err error
	switch now.Boundary {
	case before.Boundary:
	case "":
		err = call.Change(ctx, nil, r.client.DeleteRolePermissionsBoundary, &iam.DeleteRolePermissionsBoundaryInput{RoleName: aws.String(now.Name)})
		err = call.IgnoreMissing(err)
	default:
		err = call.Change(ctx, nil, r.client.PutRolePermissionsBoundary, &iam.PutRolePermissionsBoundaryInput{
			RoleName: aws.String(now.Name), PermissionsBoundary: aws.String(now.Boundary),
		})
	}
	return call.Explain("set its permissions boundary", err)
}

func (r *Roles) updateTags(ctx context.Context, before, now asset.Role) error {
	return call.Retag(call.Tagging{What: "it", Before: before.Tags, Now: now.Tags}, func() error {
		return call.Change(ctx, nil, r.client.TagRole, &iam.TagRoleInput{RoleName: aws.String(now.Name), Tags: call.TagList(now.Tags)})
	}, func(keys []string) error {
		return call.Change(ctx, nil, r.client.UntagRole, &iam.UntagRoleInput{RoleName: aws.String(now.Name), TagKeys: keys})
	})
}

// updatePolicies adds the policies that are declared now, and then removes those that were
// declared only before. If IAM's limits do not allow both together, it removes them first, and
// puts them back if the role has no room for the new ones even then.
func (r *Roles) updatePolicies(ctx context.Context, before, now asset.Role) error {
	gone := asset.Role{Name: now.Name, Attached: sets.List(sets.New(before.Attached...).Delete(now.Attached...)), Inline: maps.Clone(before.Inline)}
	maps.DeleteFunc(gone.Inline, func(name, _ string) bool { _, kept := now.Inline[name]; return kept })
	err := r.addPolicies(ctx, before, now)
	exceeded := call.Code(err) == call.LimitExceeded
	if err != nil && !exceeded {
		return err
	}
	if err := r.removePolicies(ctx, gone); err != nil || !exceeded {
		return err
	}
	err = r.addPolicies(ctx, before, now)
	if err != nil { // for example because of policies of others; pods go on with the old ones
		_ = r.addPolicies(ctx, asset.Role{}, gone) // err says what is wrong
	}
	return err
}

// addPolicies puts and attaches the policies that are declared now. It waits until IAM knows
// a role that was just created. Inline policies that shrink make room for those that grow.
func (r *Roles) addPolicies(ctx context.Context, before, now asset.Role) error {
	growth := func(name string) int { return policy.Size(now.Inline[name]) - policy.Size(before.Inline[name]) }
	names := slices.SortedFunc(maps.Keys(now.Inline), func(a, b string) int {
		return cmp.Or(growth(a)-growth(b), strings.Compare(a, b))
	})
	for _, name := range names {
		if before.Inline[name] == now.Inline[name] {
			continue
		}
		err := call.Change(ctx, call.IsMissing, r.client.PutRolePolicy, &iam.PutRolePolicyInput{
			RoleName: aws.String(now.Name), PolicyName: aws.String(name), PolicyDocument: aws.String(now.Inline[name]),
		})
		if err != nil {
			return call.Explain(fmt.Sprintf("put policy %q", name), err)
		}
	}
	for _, arn := range sets.List(sets.New(now.Attached...).Delete(before.Attached...)) {
		err := call.Change(ctx, call.IsMissing, r.client.AttachRolePolicy, &iam.AttachRolePolicyInput{RoleName: aws.String(now.Name), PolicyArn: aws.String(arn)})
		if err != nil {
			return call.Explain("attach "+arn, err)
		}
	}
	return nil
}

// removePolicies removes the declared policies that the role still has.
func (r *Roles) removePolicies(ctx context.Context, role asset.Role) error {
	for _, name := range slices.Sorted(maps.Keys(role.Inline)) {
		err := call.Change(ctx, nil, r.client.DeleteRolePolicy, &iam.DeleteRolePolicyInput{RoleName: aws.String(role.Name), PolicyName: aws.String(name)})
		if err = call.IgnoreMissing(err); err != nil {
			return call.Explain(fmt.Sprintf("delete policy %q", name), err)
		}
	}
	for _, arn := range role.Attached {
		err := call.Change(ctx, nil, r.client.DetachRolePolicy, &iam.DetachRolePolicyInput{RoleName: aws.String(role.Name), PolicyArn: aws.String(arn)})
		if err = call.IgnoreMissing(err); err != nil {
			return call.Explain("detach "+arn, err)
		}
	}
	return nil
}
