package podrole

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/call"
)

// AssociationLag is how long a new association may have no effect. A pod that is created
// before then never gets the role, not even when its containers restart. EKS does not tell when
// an association has taken effect (https://github.com/aws/amazon-eks-pod-identity-webhook/issues/264).
const AssociationLag = 10 * time.Second

// Associations manages pod identity associations of EKS clusters.
type Associations struct{ client *eks.Client }

// NewAssociations manages the associations of the clusters that the client reaches.
func NewAssociations(client *eks.Client) *Associations { return &Associations{client} }

// Find returns the id of the association that gives the wanted role to pods of the
// ServiceAccount. The id is empty if there is no such association or no such cluster, or if
// the association gives another role.
func (a *Associations) Find(ctx context.Context, wanted asset.Association) (id string, err error) {
	live, err := a.of(ctx, wanted)
	if err != nil || live == nil || aws.ToString(live.RoleArn) != wanted.Role {
		return "", err
	}
	return aws.ToString(live.AssociationId), nil
}

// Ensure creates the association and returns its id. If one with the role exists, Ensure
// changes its tags from before to the wanted ones; tags that are in neither stay as they
// are. If pods of the ServiceAccount get another role, Ensure changes nothing and returns an
// error.
func (a *Associations) Ensure(ctx context.Context, before map[string]string, wanted asset.Association) (id string, err error) {
	live, err := a.of(ctx, wanted)
	switch {
	case err != nil:
		return "", err
	case live == nil:
		return a.create(ctx, wanted)
	case aws.ToString(live.RoleArn) != wanted.Role:
		return "", fmt.Errorf("pods of ServiceAccount %s/%s in cluster %q already get role %s from pod identity association %s: delete the association, or remove the ServiceAccount from the configuration",
			wanted.Account.Namespace, wanted.Account.Name, wanted.Cluster, aws.ToString(live.RoleArn), aws.ToString(live.AssociationId))
	}
	tagging := call.Tagging{What: "pod identity association " + aws.ToString(live.AssociationArn), Before: before, Now: wanted.Tags}
	return aws.ToString(live.AssociationId), call.Retag(tagging, func() error {
		return call.Change(ctx, nil, a.client.TagResource, &eks.TagResourceInput{ResourceArn: live.AssociationArn, Tags: wanted.Tags})
	}, func(keys []string) error {
		return call.Change(ctx, nil, a.client.UntagResource, &eks.UntagResourceInput{ResourceArn: live.AssociationArn, TagKeys: keys})
	})
}

// create creates the association. It waits until EKS knows a new role and its trust policy.
func (a *Associations) create(ctx context.Context, wanted asset.Association) (id string, err error) {
	unknownRole := func(err error) bool {
		return call.Code(err) == call.InvalidParameter && (call.Says(err, "Role provided") || call.Says(err, "Trust policy"))
	}
	out, err := call.Invoke(ctx, unknownRole, a.client.CreatePodIdentityAssociation, &eks.CreatePodIdentityAssociationInput{
		ClusterName: aws.String(wanted.Cluster), Namespace: aws.String(wanted.Account.Namespace),
		ServiceAccount: aws.String(wanted.Account.Name), RoleArn: aws.String(wanted.Role), Tags: wanted.Tags,
	})
	if err != nil {
		return "", call.Explain("create "+wanted.String(), err)
	}
	return aws.ToString(out.Association.AssociationId), nil
}

// Delete deletes the association, unless it gives another role by now. It succeeds if there
// is no such association.
func (a *Associations) Delete(ctx context.Context, association asset.Association) error {
	id, err := a.Find(ctx, association)
	if err != nil || id == "" {
		return err
	}
	err = call.Change(ctx, nil, a.client.DeletePodIdentityAssociation, &eks.DeletePodIdentityAssociationInput{
		ClusterName: aws.String(association.Cluster), AssociationId: aws.String(id),
	})
	return call.Explain("delete "+association.String(), call.IgnoreMissing(err))
}

// of returns the association of a ServiceAccount, whichever role it gives. A ServiceAccount
// has at most one. It is nil if there is none, or no such cluster.
func (a *Associations) of(ctx context.Context, wanted asset.Association) (*types.PodIdentityAssociation, error) {
	cluster := aws.String(wanted.Cluster)
	var found []types.PodIdentityAssociationSummary
	err := call.EachPage(ctx, call.ReadTimeout, eks.NewListPodIdentityAssociationsPaginator(a.client, &eks.ListPodIdentityAssociationsInput{
		ClusterName: cluster, Namespace: aws.String(wanted.Account.Namespace), ServiceAccount: aws.String(wanted.Account.Name),
	}), func(page *eks.ListPodIdentityAssociationsOutput) { found = append(found, page.Associations...) })
	if call.IsMissing(err) || err == nil && len(found) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", wanted, err)
	}
	out, err := a.client.DescribePodIdentityAssociation(ctx, &eks.DescribePodIdentityAssociationInput{
		ClusterName: cluster, AssociationId: found[0].AssociationId,
	})
	if call.IsMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", wanted, err)
	}
	return out.Association, nil
}
