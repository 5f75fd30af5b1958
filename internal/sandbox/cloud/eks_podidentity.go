package cloud

import (
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/policy"
)

const podIdentityService = "pods.eks.amazonaws.com"

// association gives the pods of a ServiceAccount a role.
type association struct {
	id                string
	namespace, name   string // of the ServiceAccount
	role              string // ARN
	created, modified time.Time
	tags              map[string]string
}

func addPodIdentity(s *service) {
	add(s, onCluster[eks.ListPodIdentityAssociationsInput]("eks:ListPodIdentityAssociations"), (*Cloud).listPodIdentityAssociations)
	add(s, passingRole[eks.CreatePodIdentityAssociationInput](onCluster[eks.CreatePodIdentityAssociationInput]("eks:CreatePodIdentityAssociation")),
		(*Cloud).createPodIdentityAssociation)
	add(s, onAssociation[eks.DescribePodIdentityAssociationInput]("eks:DescribePodIdentityAssociation"), (*Cloud).describePodIdentityAssociation)
	add(s, passingRole[eks.UpdatePodIdentityAssociationInput](onAssociation[eks.UpdatePodIdentityAssociationInput]("eks:UpdatePodIdentityAssociation")),
		(*Cloud).updatePodIdentityAssociation)
	add(s, onAssociation[eks.DeletePodIdentityAssociationInput]("eks:DeletePodIdentityAssociation"), (*Cloud).deletePodIdentityAssociation)
}

// passingRole adds the permission to give the role to EKS, if one is given.
func passingRole[In any](needs accesses[In]) accesses[In] {
	return func(c *Cloud, input *In) []access {
		role := textMember(input, "RoleArn")
		if role == "" {
			return needs(c, input)
		}
		return append(needs(c, input), access{action: "iam:PassRole", resource: role, context: map[string][]string{"iam:PassedToService": {podIdentityService}}})
	}
}

func onAssociation[In any](action string) accesses[In] {
	return func(c *Cloud, input *In) []access {
		return []access{{action: action, resource: c.associationARN(textMember(input, "AssociationId"))}}
	}
}

func (c *Cloud) associationARN(id string) string {
	return "arn:aws:eks:" + c.region + ":" + c.account + ":podidentityassociation/" + c.cluster.Name + "/" + id
}

func (c *Cloud) findAssociation(cluster, id *string) (*association, error) {
	if err := c.checkCluster(cluster); err != nil {
		return nil, err
	}
	a := c.associations[deref(id)]
	if a == nil {
		return nil, fail("ResourceNotFoundException", "No association found for ID: %s", deref(id)).with(http.StatusNotFound)
	}
	return a, nil
}

// checkPodRole returns InvalidParameterException unless pod identity may assume
// the role for the association.
func (c *Cloud) checkPodRole(arn string, a *association) error {
	r := c.roleByARN(arn)
	if r == nil {
		return fail("InvalidParameterException", "Role provided in the request does not exist.")
	}
	for _, action := range []string{"sts:AssumeRole", "sts:TagSession"} {
		decision := policy.Evaluate([]policy.Document{r.trustDocument}, policy.Request{
			Action: action, Principal: policy.Principal{Kind: "Service", Name: podIdentityService},
			Context: policy.ContextKeys{
				"aws:RequestTag/eks-cluster-arn": {c.clusterARN(c.cluster.Name)}, "aws:RequestTag/eks-cluster-name": {c.cluster.Name},
				"aws:RequestTag/kubernetes-namespace": {a.namespace}, "aws:RequestTag/kubernetes-service-account": {a.name},
			},
		})
		if decision != policy.Allowed {
			return fail("InvalidParameterException", "Trust policy of the role provided is invalid")
		}
	}
	return nil
}

func (c *Cloud) createPodIdentityAssociation(_ *call, in *eks.CreatePodIdentityAssociationInput) (*eks.CreatePodIdentityAssociationOutput, error) {
	if err := c.checkCluster(in.ClusterName); err != nil {
		return nil, err
	}
	for _, other := range c.associations {
		if other.namespace == deref(in.Namespace) && other.name == deref(in.ServiceAccount) {
			return nil, fail("ResourceInUseException", "Association already exists: %s", other.id).with(http.StatusConflict)
		}
	}
	a := &association{
		id: "a-" + strings.ToLower(c.newToken(17)), namespace: deref(in.Namespace), name: deref(in.ServiceAccount), role: deref(in.RoleArn),
		created: c.now(), modified: c.now(), tags: maps.Clone(in.Tags),
	}
	if err := c.checkPodRole(a.role, a); err != nil {
		return nil, err
	}
	c.associations[a.id] = a
	return &eks.CreatePodIdentityAssociationOutput{Association: c.describedAssociation(a)}, nil
}

func (c *Cloud) describedAssociation(a *association) *types.PodIdentityAssociation {
	return &types.PodIdentityAssociation{
		AssociationArn: aws.String(c.associationARN(a.id)), AssociationId: &a.id, ClusterName: &c.cluster.Name, Namespace: &a.namespace,
		ServiceAccount: &a.name, RoleArn: &a.role, CreatedAt: &a.created, ModifiedAt: &a.modified, Tags: a.tags,
	}
}

func (c *Cloud) describePodIdentityAssociation(_ *call, in *eks.DescribePodIdentityAssociationInput) (*eks.DescribePodIdentityAssociationOutput, error) {
	a, err := c.findAssociation(in.ClusterName, in.AssociationId)
	if err != nil {
		return nil, err
	}
	return &eks.DescribePodIdentityAssociationOutput{Association: c.describedAssociation(a)}, nil
}

func (c *Cloud) updatePodIdentityAssociation(_ *call, in *eks.UpdatePodIdentityAssociationInput) (*eks.UpdatePodIdentityAssociationOutput, error) {
	a, err := c.findAssociation(in.ClusterName, in.AssociationId)
	if err != nil {
		return nil, err
	}
	if in.RoleArn != nil {
		if err := c.checkPodRole(*in.RoleArn, a); err != nil {
			return nil, err
		}
		a.role = *in.RoleArn
	}
	a.modified = c.now()
	return &eks.UpdatePodIdentityAssociationOutput{Association: c.describedAssociation(a)}, nil
}

func (c *Cloud) deletePodIdentityAssociation(_ *call, in *eks.DeletePodIdentityAssociationInput) (*eks.DeletePodIdentityAssociationOutput, error) {
	a, err := c.findAssociation(in.ClusterName, in.AssociationId)
	if err != nil {
		return nil, err
	}
	delete(c.associations, a.id)
	return &eks.DeletePodIdentityAssociationOutput{Association: c.describedAssociation(a)}, nil
}

func (c *Cloud) listPodIdentityAssociations(_ *call, in *eks.ListPodIdentityAssociationsInput) (*eks.ListPodIdentityAssociationsOutput, error) {
	if err := c.checkCluster(in.ClusterName); err != nil {
		return nil, err
	}
	var matching []types.PodIdentityAssociationSummary
	for _, id := range sortedKeys(c.associations) {
		a := c.associations[id]
		if in.Namespace != nil && *in.Namespace != a.namespace || in.ServiceAccount != nil && *in.ServiceAccount != a.name {
			continue
		}
		matching = append(matching, types.PodIdentityAssociationSummary{
			AssociationArn: aws.String(c.associationARN(id)), AssociationId: &a.id, ClusterName: &c.cluster.Name, Namespace: &a.namespace, ServiceAccount: &a.name,
		})
	}
	part, next, err := page(matching, in.NextToken, in.MaxResults, 100)
	if err != nil {
		return nil, fail("InvalidParameterException", "The nextToken is invalid.")
	}
	return &eks.ListPodIdentityAssociationsOutput{Associations: part, NextToken: next}, nil
}
