package podrole

import (
	"context"
	"fmt"
	"maps"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/call"
)

// EKS's error codes that mean something here.
const (
	codeMissing = "ResourceNotFound"
	codeInvalid = "InvalidParameter"
)

// Associations keeps pod identity associations of clusters.
type Associations struct{ client *eks.Client }

// NewAssociations returns the associations of the client's clusters.
func NewAssociations(client *eks.Client) *Associations { return &Associations{client} }

// Find returns the id of the association that gives the pods of the
// ServiceAccount the role; it is empty if there is none, or not even the cluster,
// or if they get another role.
func (a *Associations) Find(ctx context.Context, wanted asset.Association) (id string, err error) {
	live, err := a.of(ctx, wanted)
	if err != nil || live == nil || aws.ToString(live.RoleArn) != wanted.Role {
		return "", err
	}
	return aws.ToString(live.AssociationId), nil
}

// Ensure makes the association and returns its id. One that is there with the
// role is brought to the wanted tags; those in before that are not wanted any more
// go. Pods that get another role keep it: that is an error.
func (a *Associations) Ensure(ctx context.Context, before map[string]string, wanted asset.Association) (id string, err error) {
	live, err := a.of(ctx, wanted)
	switch {
	case err != nil:
		return "", err
	case live == nil:
		return a.create(ctx, wanted)
	case aws.ToString(live.RoleArn) != wanted.Role:
		return "", fmt.Errorf("pods of ServiceAccount %s/%s in cluster %q get role %s by pod identity association %s already: delete that, or leave the ServiceAccount out",
			wanted.Account.Namespace, wanted.Account.Name, wanted.Cluster, aws.ToString(live.RoleArn), aws.ToString(live.AssociationId))
	}
	return aws.ToString(live.AssociationId), a.retag(ctx, live, before, wanted.Tags)
}

// create waits for EKS to learn of a new role and its trust policy.
func (a *Associations) create(ctx context.Context, wanted asset.Association) (id string, err error) {
	unknownRole := func(err error) bool {
		return call.Code(err) == codeInvalid && (call.Says(err, "Role provided") || call.Says(err, "Trust policy"))
	}
	var out *eks.CreatePodIdentityAssociationOutput
	err = call.Eventually(ctx, unknownRole, func(ctx context.Context) (err error) {
		out, err = a.client.CreatePodIdentityAssociation(ctx, &eks.CreatePodIdentityAssociationInput{
			ClusterName: aws.String(wanted.Cluster), Namespace: aws.String(wanted.Account.Namespace),
			ServiceAccount: aws.String(wanted.Account.Name), RoleArn: aws.String(wanted.Role), Tags: wanted.Tags,
		})
		return err
	})
	if err != nil {
		return "", call.Explain("create "+wanted.String(), err)
	}
	return aws.ToString(out.Association.AssociationId), nil
}

func (a *Associations) retag(ctx context.Context, live *types.PodIdentityAssociation, before, now map[string]string) error {
	arn := aws.ToString(live.AssociationArn)
	if !maps.Equal(before, now) && len(now) > 0 {
		if _, err := a.client.TagResource(ctx, &eks.TagResourceInput{ResourceArn: aws.String(arn), Tags: now}); err != nil {
			return fmt.Errorf("tag pod identity association %s: %w", arn, err)
		}
	}
	if gone := call.DroppedTags(before, now); len(gone) > 0 {
		if _, err := a.client.UntagResource(ctx, &eks.UntagResourceInput{ResourceArn: aws.String(arn), TagKeys: gone}); err != nil {
			return fmt.Errorf("untag pod identity association %s: %w", arn, err)
		}
	}
	return nil
}

// Delete deletes the association unless the pods get another role meanwhile. One
// that is gone already is fine.
func (a *Associations) Delete(ctx context.Context, association asset.Association) error {
	id, err := a.Find(ctx, association)
	if err != nil || id == "" {
		return err
	}
	err = call.Eventually(ctx, nil, func(ctx context.Context) error {
		_, err := a.client.DeletePodIdentityAssociation(ctx, &eks.DeletePodIdentityAssociationInput{
			ClusterName: aws.String(association.Cluster), AssociationId: aws.String(id),
		})
		if call.Code(err) == codeMissing {
			return nil
		}
		return err
	})
	return call.Explain("delete "+association.String(), err)
}

// of returns the association of a ServiceAccount, of which there is at most one,
// whichever role it gives; nil if there is none, or not even the cluster.
func (a *Associations) of(ctx context.Context, wanted asset.Association) (*types.PodIdentityAssociation, error) {
	ctx, cancel := context.WithTimeout(ctx, call.ReadTimeout)
	defer cancel()
	cluster := aws.String(wanted.Cluster)
	found, err := a.client.ListPodIdentityAssociations(ctx, &eks.ListPodIdentityAssociationsInput{
		ClusterName: cluster, Namespace: aws.String(wanted.Account.Namespace), ServiceAccount: aws.String(wanted.Account.Name),
	})
	if call.Code(err) == codeMissing || err == nil && len(found.Associations) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", wanted, err)
	}
	out, err := a.client.DescribePodIdentityAssociation(ctx, &eks.DescribePodIdentityAssociationInput{
		ClusterName: cluster, AssociationId: found.Associations[0].AssociationId,
	})
	if call.Code(err) == codeMissing {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", wanted, err)
	}
	return out.Association, nil
}
