package eks

import (
	"net/http"

	"github.com/aws/aws-sdk-go-v2/service/eks"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
)

func (c *EKS) entryARN(e *AccessEntry) string {
	return "arn:aws:eks:" + c.Region + ":" + c.AccountID + ":access-entry/" + c.Cluster.Name + "/role/" + c.AccountID + "/" +
		roleNameOf(e.Principal) + "/" + account.FixedID("ae", e.Principal)
}

// onTagged is the permission for a call about the resource named by ResourceArn.
func onTagged[In any](action string) func(*EKS, *In) []account.Access {
	return func(_ *EKS, input *In) []account.Access {
		return []account.Access{{Action: action, Resource: account.TextMember(input, "ResourceArn")}}
	}
}

// tagsIn finds the tags of the access entry or pod identity association by its
// own ARN. Other resources of EKS have no tags here.
func tagsIn[In any](c *EKS, in *In) (*map[string]string, error) {
	arn := account.TextMember(in, "ResourceArn")
	for _, e := range c.Entries {
		if c.entryARN(e) == arn {
			return &e.tags, nil
		}
	}
	for _, a := range c.Associations {
		if c.associationARN(a.id) == arn {
			return &a.tags, nil
		}
	}
	return nil, account.Fail("NotFoundException", "Resource was not found for resourceArn: %s", arn).With(http.StatusNotFound)
}

func (c *EKS) tagEKS(tags *map[string]string, in *eks.TagResourceInput) (*eks.TagResourceOutput, error) {
	if *tags == nil {
		*tags = map[string]string{}
	}
	return &eks.TagResourceOutput{}, account.Retag(*tags, in.Tags, nil)
}

func (c *EKS) untagEKS(tags *map[string]string, in *eks.UntagResourceInput) (*eks.UntagResourceOutput, error) {
	return &eks.UntagResourceOutput{}, account.Retag(*tags, nil, in.TagKeys)
}
