package cloud

import (
	"net/http"

	"github.com/aws/aws-sdk-go-v2/service/eks"
)

func (c *Cloud) entryARN(e *accessEntry) string {
	return "arn:aws:eks:" + c.region + ":" + c.account + ":access-entry/" + c.cluster.Name + "/role/" + c.account + "/" +
		roleNameOf(e.principal) + "/" + fixedID("ae", e.principal)
}

// onTagged is the permission for a call about the resource named by ResourceArn.
func onTagged[In any](action string) accesses[In] {
	return func(_ *Cloud, input *In) []access {
		return []access{{action: action, resource: textMember(input, "ResourceArn")}}
	}
}

// taggedEntry finds the access entry by its own ARN. Other resources of EKS have
// no tags here.
func (c *Cloud) taggedEntry(arn *string) (*accessEntry, error) {
	for _, e := range c.entries {
		if c.entryARN(e) == deref(arn) {
			return e, nil
		}
	}
	return nil, fail("NotFoundException", "Resource was not found for resourceArn: %s", deref(arn)).with(http.StatusNotFound)
}

func (c *Cloud) tagAccessEntry(_ *call, in *eks.TagResourceInput) (*eks.TagResourceOutput, error) {
	e, err := c.taggedEntry(in.ResourceArn)
	if err != nil {
		return nil, err
	}
	if e.tags == nil {
		e.tags = map[string]string{}
	}
	return &eks.TagResourceOutput{}, retag(e.tags, in.Tags, nil)
}

func (c *Cloud) untagAccessEntry(_ *call, in *eks.UntagResourceInput) (*eks.UntagResourceOutput, error) {
	e, err := c.taggedEntry(in.ResourceArn)
	if err != nil {
		return nil, err
	}
	return &eks.UntagResourceOutput{}, retag(e.tags, nil, in.TagKeys)
}
