package platform

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/eksauth"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/eventqueue"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/noderole"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/podrole"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// newAccount connects the adapters for an account with their clients.
func (p *platform) newAccount(cfg aws.Config, partition, id string) *session.Account {
	identities, queues, events := iam.NewFromConfig(cfg), sqs.NewFromConfig(cfg), eventbridge.NewFromConfig(cfg)
	roles := podrole.NewRoles(identities)
	return &session.Account{
		Partition: partition,
		ID:        id,
		Region:    cfg.Region,
		Roles:     roles,
		Issuers: issuers{roles, func(ctx context.Context, name string) (*asset.Cluster, error) {
			return eksauth.Find(ctx, eks.NewFromConfig(cfg), name)
		}},
		Profiles:     noderole.NewProfiles(identities),
		Entries:      noderole.NewEntries(eks.NewFromConfig(cfg)),
		Associations: podrole.NewAssociations(eks.NewFromConfig(cfg)),
		Queues:       eventqueue.NewQueues(queues, events),

		AssociationLag: podrole.AssociationLag,
	}
}

// issuers implements session.Issuers.
type issuers struct {
	*podrole.Roles
	find func(context.Context, string) (*asset.Cluster, error)
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
