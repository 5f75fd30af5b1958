package podrole

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/call"
)

// List returns all roles of the account, sorted by name. Only name, path and trust policy
// are set.
func (r *Roles) List(ctx context.Context) ([]asset.Role, error) {
	var out []asset.Role
	var unread error
	err := call.EachPage(ctx, call.ReadTimeout, iam.NewListRolesPaginator(r.client, &iam.ListRolesInput{}), func(page *iam.ListRolesOutput) {
		for _, role := range page.Roles {
			trust, err := url.QueryUnescape(aws.ToString(role.AssumeRolePolicyDocument))
			if err != nil {
				unread = fmt.Errorf("trust policy of %s: %w", aws.ToString(role.RoleName), err)
			}
			out = append(out, asset.Role{Name: aws.ToString(role.RoleName), Path: aws.ToString(role.Path), Trust: trust})
		}
	})
	if err = errors.Join(err, unread); err != nil {
		return nil, fmt.Errorf("list roles: %w", err)
	}
	slices.SortFunc(out, func(a, b asset.Role) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}
