package lookup

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
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/client"
)

// How long answers about instance profiles are used. They rarely change, but somebody may
// just have created one that was missing.
const (
	profilesDue      = time.Minute
	profilesOutdated = 24 * time.Hour
)

// Roles finds the instance profiles of the roles that EC2NodeClasses name.
type Roles struct {
	client   *iam.Client
	profiles *client.Memo[Profile]
}

// Profile is the instance profile of a role, or the reason why there is none.
type Profile struct {
	Name, Missing string
	Doubt         error    // why it is not known whether the profile is one of the role
	all           []string // instance profiles of the role, the best first
}

// NewRoles returns a finder that asks IAM.
func NewRoles(cfg awssdk.Config, now func() time.Time) *Roles {
	return &Roles{iam.NewFromConfig(cfg), client.NewMemo[Profile](now, profilesDue, profilesOutdated)}
}

// ProfileOf returns the instance profile for machines with a role. All profiles of a role
// give the same permissions. Those that Karpenter or EKS created, and will delete, are used
// only if there is no other. The noted one, which may be empty, is used if it is one of the
// role. While IAM does not say so, it is used as well, because a cluster may have no route to IAM.
func (r *Roles) ProfileOf(ctx context.Context, role, noted string) (Profile, error) {
	found, err := r.profiles.Get(ctx, role, func(ctx context.Context) (Profile, error) { return r.lookUp(ctx, role) })
	denied := call.Code(err) == "AccessDenied"
	if denied {
		err = fmt.Errorf("the agent may not look up the instance profile of role %s: it lacks the permission iam:ListInstanceProfilesForRole", role)
	}
	switch {
	case err != nil && noted != "":
		return Profile{Name: noted, Doubt: err}, nil
	case denied:
		return Profile{Missing: err.Error()}, nil
	case slices.Contains(found.all, noted):
		found.Name = noted
	}
	return found, err
}

func (r *Roles) lookUp(ctx context.Context, role string) (Profile, error) {
	var all []types.InstanceProfile
	pages := iam.NewListInstanceProfilesForRolePaginator(r.client, &iam.ListInstanceProfilesForRoleInput{RoleName: &role})
	err := client.EachPage(ctx, pages, func(page *iam.ListInstanceProfilesForRoleOutput) { all = append(all, page.InstanceProfiles...) })
	if call.IsMissing(err) {
		return Profile{Missing: "the account has no role " + role}, nil
	}
	if err != nil {
		return Profile{}, fmt.Errorf("list the instance profiles of role %s: %w", role, err)
	}
	if len(all) == 0 {
		return Profile{Missing: fmt.Sprintf("the role %s has no instance profile", role)}, nil
	}
	temporary := func(p types.InstanceProfile) int {
		if strings.HasPrefix(awssdk.ToString(p.Path), "/karpenter/") || strings.HasPrefix(awssdk.ToString(p.InstanceProfileName), "eks-") {
			return 1
		}
		return 0
	}
	slices.SortFunc(all, func(a, b types.InstanceProfile) int {
		return cmp.Or(cmp.Compare(temporary(a), temporary(b)), cmp.Compare(*a.InstanceProfileName, *b.InstanceProfileName))
	})
	out := Profile{Name: *all[0].InstanceProfileName}
	for _, p := range all {
		out.all = append(out.all, *p.InstanceProfileName)
	}
	return out, nil
}
