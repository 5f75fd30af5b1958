package live

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/adopt"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/eventqueue"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/groups"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/irsa"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/noderole"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/interruption"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// account is the AWS account.
type account struct {
	finder   *groups.Finder
	roles    *irsa.Roles
	profiles *noderole.Profiles
	entries  *noderole.Entries
	queues   *eventqueue.Queues
}

func newAccount(cfg aws.Config) account {
	identities := iam.NewFromConfig(cfg)
	return account{
		groups.NewFinder(cfg), irsa.NewRoles(identities), noderole.NewProfiles(identities), noderole.NewEntries(eks.NewFromConfig(cfg)),
		eventqueue.NewQueues(sqs.NewFromConfig(cfg), eventbridge.NewFromConfig(cfg)),
	}
}

// Groups returns the cluster's groups of machines.
func (a account) Groups(ctx context.Context, cluster string) ([]offer.Group, error) {
	return a.finder.Find(ctx, cluster)
}

// Roles returns the names and trust policies of all roles.
func (a account) Roles(ctx context.Context) ([]adopt.Role, error) {
	all, err := a.roles.List(ctx)
	out := make([]adopt.Role, len(all))
	for i, r := range all {
		out[i] = adopt.Role{Name: r.Name, Trust: r.Trust}
	}
	return out, err
}

// Role returns a whole role.
func (a account) Role(ctx context.Context, name string) (adopt.Role, error) {
	r, arn, err := a.roles.Read(ctx, name)
	return adopt.Role{
		Name: r.Name, ARN: arn, Path: r.Path, Description: r.Description, Boundary: r.Boundary, MaxSession: r.MaxSession,
		Trust: r.Trust, Inline: r.Inline, Attached: r.Attached, Tags: r.Tags,
	}, err
}

// NodeRoles returns the roles by which the cluster admits machines.
func (a account) NodeRoles(ctx context.Context, cluster string) ([]adopt.NodeRole, error) {
	entries, err := a.entries.List(ctx, cluster, "EC2_LINUX", "EC2_WINDOWS")
	if err != nil {
		return nil, err
	}
	var out []adopt.NodeRole
	for _, entry := range entries {
		role, err := a.Role(ctx, nameIn(entry.Principal))
		if errors.Is(err, fs.ErrNotExist) {
			continue // an entry outlives its role
		}
		if err != nil {
			return nil, err
		}
		profiles, err := a.ProfilesOf(ctx, role.Name)
		if err != nil {
			return nil, err
		}
		out = append(out, adopt.NodeRole{Role: role, Entry: entry.Type, Profiles: profiles})
	}
	return out, nil
}

// ProfilesOf returns the instance profiles that hold a role.
func (a account) ProfilesOf(ctx context.Context, role string) ([]adopt.Profile, error) {
	names, err := a.profiles.Holding(ctx, role)
	if err != nil {
		return nil, err
	}
	out := make([]adopt.Profile, len(names))
	for i, name := range names {
		live, _, err := a.profiles.Read(ctx, name)
		if err != nil {
			return nil, err
		}
		out[i] = adopt.Profile{Name: name, Path: live.Path, Tags: live.Tags}
	}
	return out, nil
}

// Queues returns the queues of the account that rules put interruptions on.
func (a account) Queues(ctx context.Context) ([]adopt.Queue, error) {
	fed, err := a.queues.Fed(ctx, interruption.Patterns())
	if err != nil {
		return nil, err
	}
	var out []adopt.Queue
	for _, target := range slices.Sorted(maps.Keys(fed)) {
		live, _, arn, err := a.queues.Read(ctx, nameIn(target))
		if errors.Is(err, fs.ErrNotExist) || err == nil && arn != target {
			continue // a rule outlives its queue, or feeds that of another account
		}
		if err != nil {
			return nil, err
		}
		out = append(out, adopt.Queue{
			Name: live.Name, ARN: arn, Policy: live.Policy, Retention: live.Retention, Visibility: live.Visibility, Key: live.Key, Tags: live.Tags,
			Rules: fed[target],
		})
	}
	return out, nil
}

// nameIn is the name at the end of an ARN, behind its path.
func nameIn(arn string) string {
	return arn[strings.LastIndexAny(arn, ":/")+1:]
}
