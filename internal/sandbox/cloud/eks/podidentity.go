package eks

import (
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/policy"
)

const podIdentityService = "pods.eks.amazonaws.com"

// Association gives the pods of a ServiceAccount a role.
type Association struct {
	id                string
	namespace, name   string // of the ServiceAccount
	role              string // ARN
	created, modified time.Time
	tags              map[string]string
}

func addPodIdentity(s *account.Service, c *EKS) {
	account.AddOn(s, c, onCluster, account.Found(clusterIn, (*EKS).listPodIdentityAssociations))
	account.Add(s, c, passingRole[eks.CreatePodIdentityAssociationInput](onCluster[eks.CreatePodIdentityAssociationInput]("eks:CreatePodIdentityAssociation")),
		account.Found(clusterIn, (*EKS).createPodIdentityAssociation))
	account.AddOn(s, c, onAssociation, account.Found(associationIn, (*EKS).describePodIdentityAssociation))
	account.Add(s, c, passingRole[eks.UpdatePodIdentityAssociationInput](onAssociation[eks.UpdatePodIdentityAssociationInput]("eks:UpdatePodIdentityAssociation")),
		account.Found(associationIn, (*EKS).updatePodIdentityAssociation))
	account.AddOn(s, c, onAssociation, account.Found(associationIn, (*EKS).deletePodIdentityAssociation))
}

// passingRole adds the permission to give the role to EKS, if one is given.
func passingRole[In any](needs func(*EKS, *In) []account.Access) func(*EKS, *In) []account.Access {
	return func(c *EKS, input *In) []account.Access {
		role := account.TextMember(input, "RoleArn")
		if role == "" {
			return needs(c, input)
		}
		return append(needs(c, input), account.Access{Action: "iam:PassRole", Resource: role, Context: map[string][]string{"iam:PassedToService": {podIdentityService}}})
	}
}

func onAssociation[In any](action string) func(*EKS, *In) []account.Access {
	return func(c *EKS, input *In) []account.Access {
		return []account.Access{{Action: action, Resource: c.associationARN(account.TextMember(input, "AssociationId"))}}
	}
}

func (c *EKS) associationARN(id string) string {
	return "arn:aws:eks:" + c.Region + ":" + c.AccountID + ":podidentityassociation/" + c.Cluster.Name + "/" + id
}

// associationIn finds the association that an input names.
func associationIn[In any](c *EKS, in *In) (*Association, error) {
	if _, err := clusterIn(c, in); err != nil {
		return nil, err
	}
	id := account.TextMember(in, "AssociationId")
	a := c.Associations[id]
	if a == nil {
		return nil, account.Fail("ResourceNotFoundException", "No association found for ID: %s", id).With(http.StatusNotFound)
	}
	return a, nil
}

// checkPodRole returns InvalidParameterException unless pod identity may assume
// the role for the association.
func (c *EKS) checkPodRole(arn string, a *Association) error {
	r := c.iam.RoleByARN(arn)
	if r == nil {
		return account.Fail("InvalidParameterException", "Role provided in the request does not exist.")
	}
	for _, action := range []string{"sts:AssumeRole", "sts:TagSession"} {
		decision := policy.Evaluate([]policy.Document{r.TrustDocument}, policy.Request{
			Action: action, Principal: policy.Principal{Kind: "Service", Name: podIdentityService},
			Context: policy.ContextKeys{
				"aws:RequestTag/eks-cluster-arn": {c.clusterARN(c.Cluster.Name)}, "aws:RequestTag/eks-cluster-name": {c.Cluster.Name},
				"aws:RequestTag/kubernetes-namespace": {a.namespace}, "aws:RequestTag/kubernetes-service-account": {a.name},
			},
		})
		if decision != policy.Allowed {
			return account.Fail("InvalidParameterException", "Trust policy of the role provided is invalid")
		}
	}
	return nil
}

func (c *EKS) createPodIdentityAssociation(_ *account.Cluster, in *eks.CreatePodIdentityAssociationInput) (*eks.CreatePodIdentityAssociationOutput, error) {
	for _, other := range c.Associations {
		if other.namespace == account.Deref(in.Namespace) && other.name == account.Deref(in.ServiceAccount) {
			return nil, account.Fail("ResourceInUseException", "Association already exists: %s", other.id).With(http.StatusConflict)
		}
	}
	a := &Association{
		id: "a-" + strings.ToLower(c.NewToken(17)), namespace: account.Deref(in.Namespace), name: account.Deref(in.ServiceAccount), role: account.Deref(in.RoleArn),
		created: c.Now(), modified: c.Now(), tags: maps.Clone(in.Tags),
	}
	if err := c.checkPodRole(a.role, a); err != nil {
		return nil, err
	}
	c.Associations[a.id] = a
	return &eks.CreatePodIdentityAssociationOutput{Association: c.describedAssociation(a)}, nil
}

func (c *EKS) describedAssociation(a *Association) *types.PodIdentityAssociation {
	return &types.PodIdentityAssociation{
		AssociationArn: aws.String(c.associationARN(a.id)), AssociationId: &a.id, ClusterName: &c.Cluster.Name, Namespace: &a.namespace,
		ServiceAccount: &a.name, RoleArn: &a.role, CreatedAt: &a.created, ModifiedAt: &a.modified, Tags: a.tags,
	}
}

func (c *EKS) describePodIdentityAssociation(a *Association, _ *eks.DescribePodIdentityAssociationInput) (*eks.DescribePodIdentityAssociationOutput, error) {
	return &eks.DescribePodIdentityAssociationOutput{Association: c.describedAssociation(a)}, nil
}

func (c *EKS) updatePodIdentityAssociation(a *Association, in *eks.UpdatePodIdentityAssociationInput) (*eks.UpdatePodIdentityAssociationOutput, error) {
	if in.RoleArn != nil {
		if err := c.checkPodRole(*in.RoleArn, a); err != nil {
			return nil, err
		}
		a.role = *in.RoleArn
	}
	a.modified = c.Now()
	return &eks.UpdatePodIdentityAssociationOutput{Association: c.describedAssociation(a)}, nil
}

func (c *EKS) deletePodIdentityAssociation(a *Association, _ *eks.DeletePodIdentityAssociationInput) (*eks.DeletePodIdentityAssociationOutput, error) {
	delete(c.Associations, a.id)
	return &eks.DeletePodIdentityAssociationOutput{Association: c.describedAssociation(a)}, nil
}

func (c *EKS) listPodIdentityAssociations(_ *account.Cluster, in *eks.ListPodIdentityAssociationsInput) (*eks.ListPodIdentityAssociationsOutput, error) {
	var matching []types.PodIdentityAssociationSummary
	for _, id := range account.SortedKeys(c.Associations) {
		a := c.Associations[id]
		if in.Namespace != nil && *in.Namespace != a.namespace || in.ServiceAccount != nil && *in.ServiceAccount != a.name {
			continue
		}
		matching = append(matching, types.PodIdentityAssociationSummary{
			AssociationArn: aws.String(c.associationARN(id)), AssociationId: &a.id, ClusterName: &c.Cluster.Name, Namespace: &a.namespace, ServiceAccount: &a.name,
		})
	}
	part, next, err := page(matching, in.NextToken, in.MaxResults)
	return &eks.ListPodIdentityAssociationsOutput{Associations: part, NextToken: next}, err
}
