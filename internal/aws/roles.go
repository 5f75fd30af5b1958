package aws

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/call"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// How long the instance profiles of a role are believed. They hardly ever change, but
// somebody may be waiting for one that was missing.
const (
	profilesDue      = time.Minute
	profilesOutdated = 24 * time.Hour
)

// roles finds the instance profiles of the roles that EC2NodeClasses name.
type roles struct {
	client   *iam.Client
	profiles *memo[roleProfile]
}

// roleProfile is the instance profile of a role, or why there is none.
type roleProfile struct{ name, missing string }

func newRoles(cfg awssdk.Config, now func() time.Time) *roles {
	return &roles{iam.NewFromConfig(cfg), newMemo[roleProfile](now, profilesDue, profilesOutdated)}
}

// profileOf returns the instance profile that machines of a role get. All profiles of a
// role give the same rights; those that Karpenter or EKS have made, and would delete, are
// the last choice.
func (r *roles) profileOf(ctx context.Context, role string) (roleProfile, error) {
	found, err := r.profiles.get(ctx, role, func(ctx context.Context) (roleProfile, error) { return r.lookUp(ctx, role) })
	if refusalReasons[errorCode(err)] == offer.RefusedUnauthorized {
		return roleProfile{missing: fmt.Sprintf("the agent may not look up the instance profile of the role %s (iam:ListInstanceProfilesForRole)", role)}, nil
	}
	return found, err
}

func (r *roles) lookUp(ctx context.Context, role string) (roleProfile, error) {
	var all []types.InstanceProfile
	pages := iam.NewListInstanceProfilesForRolePaginator(r.client, &iam.ListInstanceProfilesForRoleInput{RoleName: &role})
	err := eachPage(ctx, pages, func(page *iam.ListInstanceProfilesForRoleOutput) { all = append(all, page.InstanceProfiles...) })
	if call.IsMissing(err) {
		return roleProfile{missing: "the account has no role " + role}, nil
	}
	if err != nil {
		return roleProfile{}, fmt.Errorf("list the instance profiles of role %s: %w", role, err)
	}
	if len(all) == 0 {
		return roleProfile{missing: fmt.Sprintf("the role %s has no instance profile", role)}, nil
	}
	kept := func(p types.InstanceProfile) int {
		if strings.HasPrefix(awssdk.ToString(p.Path), "/karpenter/") || strings.HasPrefix(awssdk.ToString(p.InstanceProfileName), "eks-") {
			return 1
		}
		return 0
	}
	best := slices.MinFunc(all, func(a, b types.InstanceProfile) int {
		return cmp.Or(cmp.Compare(kept(a), kept(b)), cmp.Compare(*a.InstanceProfileName, *b.InstanceProfileName))
	})
	return roleProfile{name: *best.InstanceProfileName}, nil
}
