package assets

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/call"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/eksauth"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/eventqueue"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/noderole"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/podrole"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
)

// Account reads one region of an AWS account for package onboard.
type Account struct {
	clusters *eks.Client
	region   string
	scaling  describeGroups
	roles    *podrole.Roles
	profiles *noderole.Profiles
	entries  *noderole.Entries
	queues   *eventqueue.Queues
}

// New returns a reader of the configuration's account and region.
func New(cfg aws.Config) *Account {
	clusters, identities := eks.NewFromConfig(cfg), iam.NewFromConfig(cfg)
	return &Account{
		clusters: clusters, region: cfg.Region,
		scaling: autoscaling.NewFromConfig(cfg).DescribeAutoScalingGroups,
		roles:   podrole.NewRoles(identities), profiles: noderole.NewProfiles(identities), entries: noderole.NewEntries(clusters),
		queues: eventqueue.NewQueues(sqs.NewFromConfig(cfg), eventbridge.NewFromConfig(cfg)),
	}
}

// Scope returns what identifies a cluster in AWS.
func (a *Account) Scope(ctx context.Context, cluster string) (onboard.Scope, error) {
	found, err := eksauth.Find(ctx, a.clusters, cluster)
	if err != nil {
		return onboard.Scope{}, err
	}
	return onboard.Scope{ClusterName: cluster, Region: a.region, ARN: found.ARN, Issuer: found.Issuer}, nil
}

// Roles returns all roles of the account, without policies and ARNs.
func (a *Account) Roles(ctx context.Context) ([]onboard.Role, error) {
	all, err := a.roles.List(ctx)
	out := make([]onboard.Role, len(all))
	for i, r := range all {
		out[i] = onboard.Role{Role: r}
	}
	return out, denied("roles of ServiceAccounts", err)
}

// Role returns the role of the name with its policies.
func (a *Account) Role(ctx context.Context, name string) (onboard.Role, error) {
	r, arn, err := a.roles.Read(ctx, name)
	return onboard.Role{Role: r, ARN: arn}, denied("role "+name, err)
}

// NodeRoles returns the roles that the cluster's access entries admit as nodes.
func (a *Account) NodeRoles(ctx context.Context, cluster string) ([]onboard.NodeRole, error) {
	entries, err := a.entries.List(ctx, cluster, "EC2_LINUX", "EC2_WINDOWS")
	if err != nil {
		return nil, denied("roles of nodes", err)
	}
	var out []onboard.NodeRole
	var left onboard.DeniedError
	for _, entry := range entries {
		role, err := a.Role(ctx, asset.NameIn(entry.Principal))
		if errors.Is(err, fs.ErrNotExist) {
			continue // the entry stays when its role is deleted
		}
		var profiles []asset.Profile
		if err == nil {
			profiles, err = a.ProfilesOf(ctx, role.Name)
		}
		switch {
		case left.Has(err):
		case err != nil:
			return nil, err
		default:
			out = append(out, onboard.NodeRole{Role: role, Entry: entry.Type, Profiles: profiles})
		}
	}
	return out, left.Err()
}

// ProfilesOf returns the instance profiles that contain a role.
func (a *Account) ProfilesOf(ctx context.Context, role string) ([]asset.Profile, error) {
	names, err := a.profiles.Holding(ctx, role)
	if err != nil {
		return nil, denied("instance profiles of role "+role, err)
	}
	out := make([]asset.Profile, len(names))
	for i, name := range names {
		live, _, err := a.profiles.Read(ctx, name)
		if err != nil {
			return nil, denied("instance profile "+name+" of role "+role, err)
		}
		out[i] = live
	}
	return out, nil
}

// Queues returns the queues of the account to which rules send interruption notices.
func (a *Account) Queues(ctx context.Context) ([]onboard.Queue, error) {
	var left onboard.DeniedError
	fed, err := a.queues.FedBut(ctx, policy.InterruptionPatterns(), func(rule string, err error) bool { return left.Has(denied("rule "+rule, err)) })
	if err != nil {
		return nil, denied("interruption queues", err)
	}
	var out []onboard.Queue
	for _, target := range slices.Sorted(maps.Keys(fed)) {
		live, _, arn, err := a.queues.Read(ctx, asset.NameIn(target))
		if errors.Is(err, fs.ErrNotExist) || err == nil && arn != target {
			continue // the queue was deleted, or is in another account or region
		}
		switch err = denied("queue "+asset.NameIn(target), err); {
		case left.Has(err):
		case err != nil:
			return nil, err
		default:
			out = append(out, onboard.Queue{Queue: live, ARN: arn, Rules: fed[target]})
		}
	}
	return out, left.Err()
}

// denied returns onboard.DeniedError for an error by which AWS denies to read something, and any other error as it is.
func denied(what string, err error) error {
	if permission, ok := call.Denied(err); ok {
		return onboard.DeniedError{what + ": " + permission}
	}
	return err
}
