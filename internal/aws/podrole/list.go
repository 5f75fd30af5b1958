package podrole

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/call"
)

// maxPages bounds the pages of roles that are read: IAM allows an account at most
// 5,000 roles, a hundred to a page, unless more are asked for.
const maxPages = 500

// List returns all roles of the account in the order of their names. Only name,
// path and trust policy are filled in.
func (r *Roles) List(ctx context.Context) ([]asset.Role, error) {
	var out []asset.Role
	pages := iam.NewListRolesPaginator(r.client, &iam.ListRolesInput{})
	for page := 0; pages.HasMorePages(); page++ {
		if page == maxPages {
			return nil, fmt.Errorf("list roles: more than %d pages", maxPages)
		}
		found, err := r.page(ctx, pages)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	slices.SortFunc(out, func(a, b asset.Role) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

func (r *Roles) page(ctx context.Context, pages *iam.ListRolesPaginator) ([]asset.Role, error) {
	ctx, cancel := context.WithTimeout(ctx, call.ReadTimeout)
	defer cancel()
	page, err := pages.NextPage(ctx)
	if err != nil {
		return nil, fmt.Errorf("list roles: %w", err)
	}
	var out []asset.Role
	for _, role := range page.Roles {
		trust, err := url.QueryUnescape(aws.ToString(role.AssumeRolePolicyDocument))
		if err != nil {
			return nil, fmt.Errorf("list roles: trust policy of %s: %w", aws.ToString(role.RoleName), err)
		}
		out = append(out, asset.Role{Name: aws.ToString(role.RoleName), Path: aws.ToString(role.Path), Trust: trust})
	}
	return out, nil
}
