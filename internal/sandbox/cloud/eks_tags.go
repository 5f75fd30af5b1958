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

// tagsOfEKS finds the tags of the access entry or pod identity association by its
// own ARN. Other resources of EKS have no tags here.
func (c *Cloud) tagsOfEKS(arn *string) (*map[string]string, error) {
	for _, e := range c.entries {
		if c.entryARN(e) == deref(arn) {
			return &e.tags, nil
		}
	}
	for _, a := range c.associations {
		if c.associationARN(a.id) == deref(arn) {
			return &a.tags, nil
		}
	}
	return nil, fail("NotFoundException", "Resource was not found for resourceArn: %s", deref(arn)).with(http.StatusNotFound)
}

func (c *Cloud) tagEKS(_ *call, in *eks.TagResourceInput) (*eks.TagResourceOutput, error) {
	tags, err := c.tagsOfEKS(in.ResourceArn)
	if err != nil {
		return nil, err
	}
	if *tags == nil {
		*tags = map[string]string{}
	}
	return &eks.TagResourceOutput{}, retag(*tags, in.Tags, nil)
}

func (c *Cloud) untagEKS(_ *call, in *eks.UntagResourceInput) (*eks.UntagResourceOutput, error) {
	tags, err := c.tagsOfEKS(in.ResourceArn)
	if err != nil {
		return nil, err
	}
	return &eks.UntagResourceOutput{}, retag(*tags, nil, in.TagKeys)
}
