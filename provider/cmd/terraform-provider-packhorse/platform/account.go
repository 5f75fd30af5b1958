package platform

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/eksauth"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/eventqueue"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/noderole"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/podrole"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// newAccount gives the adapters of the account their clients.
func (p *platform) newAccount(cfg aws.Config, partition, id string) *session.Account {
	identities, queues, events := iam.NewFromConfig(cfg), sqs.NewFromConfig(cfg), eventbridge.NewFromConfig(cfg)
	roles := podrole.NewRoles(identities)
	return &session.Account{
		Partition: partition,
		ID:        id,
		Region:    cfg.Region,
		Roles:     accountRoles{roles},
		Issuers: issuers{roles, func(ctx context.Context, name string) (*eksauth.Cluster, error) {
			return eksauth.Find(ctx, eks.NewFromConfig(cfg), name)
		}},
		Profiles:     profiles{noderole.NewProfiles(identities)},
		Entries:      entries{noderole.NewEntries(eks.NewFromConfig(cfg))},
		Associations: associations{podrole.NewAssociations(eks.NewFromConfig(cfg))},
		Queues:       eventQueues{eventqueue.NewQueues(queues, events)},
	}
}

// accountRoles are the IAM roles of the account.
type accountRoles struct{ roles *podrole.Roles }

func (r accountRoles) Create(ctx context.Context, role session.Role) (arn string, err error) {
	return r.roles.Create(ctx, podrole.Role(role))
}

func (r accountRoles) Read(ctx context.Context, name string) (role session.Role, arn string, err error) {
	live, arn, err := r.roles.Read(ctx, name)
	return session.Role(live), arn, err
}

func (r accountRoles) ARN(ctx context.Context, name string) (string, error) {
	return r.roles.ARN(ctx, name)
}

func (r accountRoles) Update(ctx context.Context, before, now session.Role) error {
	return r.roles.Update(ctx, podrole.Role(before), podrole.Role(now))
}

func (r accountRoles) Delete(ctx context.Context, role session.Role) error {
	return r.roles.Delete(ctx, podrole.Role(role))
}

func (r accountRoles) List(ctx context.Context) ([]session.Role, error) {
	all, err := r.roles.List(ctx)
	out := make([]session.Role, len(all))
	for i, role := range all {
		out[i] = session.Role(role)
	}
	return out, err
}

// issuers are the OIDC issuers of clusters.
type issuers struct {
	*podrole.Roles
	find func(context.Context, string) (*eksauth.Cluster, error)
}

func (i issuers) Of(ctx context.Context, name string) (url string, err error) {
	found, err := i.find(ctx, name)
	if err != nil {
		return "", err
	}
	if found.Issuer == "" {
		return "", fmt.Errorf("cluster %q has no OIDC issuer", name)
	}
	return found.Issuer, nil
}

// profiles are the instance profiles of the account.
type profiles struct{ *noderole.Profiles }

func (p profiles) Create(ctx context.Context, profile session.Profile) (arn string, err error) {
	return p.Profiles.Create(ctx, noderole.Profile(profile))
}

func (p profiles) Read(ctx context.Context, name string) (profile session.Profile, arn string, err error) {
	live, arn, err := p.Profiles.Read(ctx, name)
	return session.Profile(live), arn, err
}

func (p profiles) Update(ctx context.Context, before, now session.Profile) error {
	return p.Profiles.Update(ctx, noderole.Profile(before), noderole.Profile(now))
}

func (p profiles) Delete(ctx context.Context, profile session.Profile) error {
	return p.Profiles.Delete(ctx, noderole.Profile(profile))
}

// entries are the access entries of the account's clusters.
type entries struct{ *noderole.Entries }

func (e entries) Create(ctx context.Context, entry session.Entry) error {
	return e.Entries.Create(ctx, noderole.Entry(entry))
}

func (e entries) Read(ctx context.Context, cluster, principal string) (session.Entry, error) {
	live, err := e.Entries.Read(ctx, cluster, principal)
	return session.Entry(live), err
}

func (e entries) Update(ctx context.Context, before, now session.Entry) error {
	return e.Entries.Update(ctx, noderole.Entry(before), noderole.Entry(now))
}

// associations are the pod identity associations of the account's clusters.
type associations struct{ *podrole.Associations }

func (a associations) Find(ctx context.Context, association session.Association) (id string, err error) {
	return a.Associations.Find(ctx, podrole.Association(association))
}

func (a associations) Ensure(ctx context.Context, before map[string]string, wanted session.Association) (id string, err error) {
	return a.Associations.Ensure(ctx, before, podrole.Association(wanted))
}

func (a associations) Delete(ctx context.Context, association session.Association) error {
	return a.Associations.Delete(ctx, podrole.Association(association))
}

// eventQueues are the queues of the account and the rules that fill them.
type eventQueues struct{ *eventqueue.Queues }

func (q eventQueues) Create(ctx context.Context, queue session.Queue) (url string, err error) {
	return q.Queues.Create(ctx, eventqueue.Queue(queue))
}

func (q eventQueues) Read(ctx context.Context, name string) (queue session.Queue, url, arn string, err error) {
	live, url, arn, err := q.Queues.Read(ctx, name)
	return session.Queue(live), url, arn, err
}

func (q eventQueues) Update(ctx context.Context, url string, before, now session.Queue) error {
	return q.Queues.Update(ctx, url, eventqueue.Queue(before), eventqueue.Queue(now))
}

func (q eventQueues) PutRule(ctx context.Context, before, now session.Rule) (arn string, err error) {
	return q.Queues.PutRule(ctx, eventqueue.Rule(before), eventqueue.Rule(now))
}

func (q eventQueues) ReadRule(ctx context.Context, rule session.Rule) (arn string, err error) {
	return q.Queues.ReadRule(ctx, eventqueue.Rule(rule))
}
