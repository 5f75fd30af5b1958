package ec2

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
)

// LaunchTemplate has one version: the API for more is not modelled.
type LaunchTemplate struct {
	id, name    string
	created     time.Time
	createdBy   string
	description string
	Data        *types.RequestLaunchTemplateData
	tags        map[string]string
	token       string // ClientToken of the request that made it
}

// maxUserData is the size of user data in bytes, before base64.
const maxUserData = 16 * 1024

var templateName = regexp.MustCompile(`^[a-zA-Z0-9().\-/_]{3,128}$`)

func accessesOfCreateLaunchTemplate(c *EC2, in *ec2.CreateLaunchTemplateInput) []account.Access {
	tags := tagsFor(in.TagSpecifications, types.ResourceTypeLaunchTemplate)
	resource := c.ec2ARN("launch-template", "*")
	needed := []account.Access{{Action: "ec2:CreateLaunchTemplate", Resource: resource, Context: account.RequestTags(tags)}}
	return append(needed, taggingOnCreate("CreateLaunchTemplate", resource, tags)...)
}

// taggingOnCreate is the permission to tag what a call makes; untagged it is
// not needed.
func taggingOnCreate(creator, resource string, tags map[string]string) []account.Access {
	if len(tags) == 0 {
		return nil
	}
	keys := account.RequestTags(tags)
	keys["ec2:CreateAction"] = []string{creator}
	return []account.Access{{Action: "ec2:CreateTags", Resource: resource, Context: keys}}
}

// tagsFor returns the tags that specifications give to a type of resource.
func tagsFor(specifications []types.TagSpecification, kind types.ResourceType) map[string]string {
	tags := map[string]string{}
	for _, s := range specifications {
		if s.ResourceType != kind {
			continue
		}
		for _, tag := range s.Tags {
			tags[account.Deref(tag.Key)] = account.Deref(tag.Value)
		}
	}
	return tags
}

func (c *EC2) createLaunchTemplate(caller *account.Caller, in *ec2.CreateLaunchTemplateInput) (*ec2.CreateLaunchTemplateOutput, error) {
	name := account.Deref(in.LaunchTemplateName)
	if !templateName.MatchString(name) {
		return nil, account.Fail("InvalidLaunchTemplateName.MalformedException", "A launch template name must be between 3 and 128 characters, and may contain letters, numbers, and the following characters: ( ) . / _")
	}
	if in.LaunchTemplateData == nil {
		return nil, account.Fail("MissingParameter", "The request must contain the parameter LaunchTemplateData")
	}
	if err := checkTemplateData(in.LaunchTemplateData); err != nil {
		return nil, err
	}
	for _, s := range in.TagSpecifications {
		if _, err := readTags(s.Tags); err != nil {
			return nil, err
		}
		if s.ResourceType != types.ResourceTypeLaunchTemplate {
			return nil, account.Fail("InvalidParameterValue", "'%s' is not a valid taggable resource type for this operation.", s.ResourceType)
		}
	}
	if existing := c.TemplateByName(name); existing != nil {
		if token := account.Deref(in.ClientToken); token != "" && token == existing.token {
			return &ec2.CreateLaunchTemplateOutput{LaunchTemplate: describedTemplate(existing)}, nil
		}
		return nil, account.Fail("InvalidLaunchTemplateName.AlreadyExistsException", "Launch template name already in use.")
	}
	t := &LaunchTemplate{
		id: c.NewID("lt"), name: name, created: c.Now(), createdBy: caller.Who.ARN, description: account.Deref(in.VersionDescription),
		Data: in.LaunchTemplateData, tags: tagsFor(in.TagSpecifications, types.ResourceTypeLaunchTemplate), token: account.Deref(in.ClientToken),
	}
	c.templates[t.id] = t
	return &ec2.CreateLaunchTemplateOutput{LaunchTemplate: describedTemplate(t)}, nil
}

func checkTemplateData(data *types.RequestLaunchTemplateData) error {
	for _, s := range data.TagSpecifications {
		if _, err := readTags(s.Tags); err != nil {
			return err
		}
	}
	if len(data.NetworkInterfaces) > 0 && len(data.SecurityGroupIds) > 0 {
		return account.Fail("InvalidParameterCombination", "Network interfaces and an instance-level security groups may not be specified on the same request")
	}
	_, err := decodeUserData(account.Deref(data.UserData))
	return err
}

func decodeUserData(text string) ([]byte, error) {
	decoded, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, account.Fail("InvalidUserData.Malformed", "Invalid BASE64 encoding of user data.")
	}
	if len(decoded) > maxUserData {
		return nil, account.Fail("InvalidParameterValue", "User data is limited to %d bytes", maxUserData)
	}
	return decoded, nil
}

// TemplateByName returns the launch template of that name, or nil if there is none.
func (c *EC2) TemplateByName(name string) *LaunchTemplate {
	for _, t := range c.templates {
		if t.name == name {
			return t
		}
	}
	return nil
}

// findTemplate looks a template up by id or, if that is empty, by name.
func (c *EC2) findTemplate(id, name string) (*LaunchTemplate, error) {
	switch {
	case id != "" && name != "":
		return nil, account.Fail("InvalidParameterCombination", "The parameters launchTemplateId and launchTemplateName cannot be used together.")
	case id != "":
		if t := c.templates[id]; t != nil {
			return t, nil
		}
		return nil, account.Fail("InvalidLaunchTemplateId.NotFound", "The specified launch template, with template ID %s, does not exist.", id)
	case name != "":
		if t := c.TemplateByName(name); t != nil {
			return t, nil
		}
		return nil, account.Fail("InvalidLaunchTemplateName.NotFoundException", "The specified launch template, with template name %s, does not exist.", name)
	}
	return nil, account.Fail("MissingParameter", "Either a launch template ID or a launch template name must be specified in the request.")
}

func (c *EC2) describeLaunchTemplates(_ *account.Caller, in *ec2.DescribeLaunchTemplatesInput) (*ec2.DescribeLaunchTemplatesOutput, error) {
	if _, err := matchesFilters(in.Filters, templateAttributes(&LaunchTemplate{})); err != nil {
		return nil, err
	}
	var candidates []*LaunchTemplate
	for _, id := range in.LaunchTemplateIds {
		t, err := c.findTemplate(id, "")
		if err != nil {
			return nil, err
		}
		candidates = append(candidates, t)
	}
	for _, name := range in.LaunchTemplateNames {
		t, err := c.findTemplate("", name)
		if err != nil {
			return nil, err
		}
		candidates = append(candidates, t)
	}
	if len(in.LaunchTemplateIds)+len(in.LaunchTemplateNames) == 0 {
		for _, id := range account.SortedKeys(c.templates) {
			candidates = append(candidates, c.templates[id])
		}
	}
	kept, err := selected(candidates, in.Filters, templateAttributes)
	if err != nil {
		return nil, err
	}
	part, next, err := account.Page(kept, in.NextToken, in.MaxResults, 200)
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeLaunchTemplatesOutput{NextToken: next, LaunchTemplates: []types.LaunchTemplate{}}
	for _, t := range part {
		out.LaunchTemplates = append(out.LaunchTemplates, *describedTemplate(t))
	}
	return out, nil
}

func templateAttributes(t *LaunchTemplate) attributes {
	return attributes{"launch-template-name": {t.name}, "create-time": {t.created.UTC().Format(time.RFC3339)}}.withTags(t.tags)
}

func describedTemplate(t *LaunchTemplate) *types.LaunchTemplate {
	return &types.LaunchTemplate{
		LaunchTemplateId: &t.id, LaunchTemplateName: &t.name, CreateTime: &t.created, CreatedBy: &t.createdBy,
		DefaultVersionNumber: aws.Int64(1), LatestVersionNumber: aws.Int64(1), Tags: ec2Tags(t.tags),
	}
}

// checkVersion accepts the names of the one version that a template has.
func (t *LaunchTemplate) checkVersion(version string) error {
	if slices.Contains([]string{"", "1", "$Latest", "$Default"}, version) {
		return nil
	}
	return account.Fail("InvalidLaunchTemplateId.VersionNotFound", "Could not find the specified version %s for the launch template with ID %s.", version, t.id)
}

func (c *EC2) describeLaunchTemplateVersions(_ *account.Caller, in *ec2.DescribeLaunchTemplateVersionsInput) (*ec2.DescribeLaunchTemplateVersionsOutput, error) {
	templates := []*LaunchTemplate{}
	if account.Deref(in.LaunchTemplateId) == "" && account.Deref(in.LaunchTemplateName) == "" && len(in.Versions) > 0 {
		for _, id := range account.SortedKeys(c.templates) {
			templates = append(templates, c.templates[id])
		}
	} else {
		t, err := c.findTemplate(account.Deref(in.LaunchTemplateId), account.Deref(in.LaunchTemplateName))
		if err != nil {
			return nil, err
		}
		templates = append(templates, t)
	}
	out := &ec2.DescribeLaunchTemplateVersionsOutput{LaunchTemplateVersions: []types.LaunchTemplateVersion{}}
	for _, t := range templates {
		for _, version := range in.Versions {
			if err := t.checkVersion(version); err != nil {
				return nil, err
			}
		}
		data, err := responseData(t.Data)
		if err != nil {
			return nil, err
		}
		out.LaunchTemplateVersions = append(out.LaunchTemplateVersions, types.LaunchTemplateVersion{
			LaunchTemplateId: &t.id, LaunchTemplateName: &t.name, VersionNumber: aws.Int64(1), DefaultVersion: aws.Bool(true),
			CreateTime: &t.created, CreatedBy: &t.createdBy, VersionDescription: account.NilIfEmpty(t.description), LaunchTemplateData: data,
		})
	}
	return out, nil
}

// responseData turns the data of a request into that of a response: the SDK
// has two families of types with the same fields.
func responseData(data *types.RequestLaunchTemplateData) (*types.ResponseLaunchTemplateData, error) {
	text, err := json.Marshal(data)
	if err != nil {
		return nil, fmt.Errorf("copy launch template data: %w", err)
	}
	var out types.ResponseLaunchTemplateData
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, fmt.Errorf("copy launch template data: %w", err)
	}
	return &out, nil
}

func accessesOfDeleteLaunchTemplate(c *EC2, in *ec2.DeleteLaunchTemplateInput) []account.Access {
	id, tags := account.Deref(in.LaunchTemplateId), map[string]string(nil)
	if t, err := c.findTemplate(id, account.Deref(in.LaunchTemplateName)); err == nil {
		id, tags = t.id, t.tags
	}
	return []account.Access{{Action: "ec2:DeleteLaunchTemplate", Resource: c.ec2ARN("launch-template", id), Context: account.ResourceTags("ec2", tags)}}
}

func (c *EC2) deleteLaunchTemplate(_ *account.Caller, in *ec2.DeleteLaunchTemplateInput) (*ec2.DeleteLaunchTemplateOutput, error) {
	t, err := c.findTemplate(account.Deref(in.LaunchTemplateId), account.Deref(in.LaunchTemplateName))
	if err != nil {
		return nil, err
	}
	delete(c.templates, t.id)
	return &ec2.DeleteLaunchTemplateOutput{LaunchTemplate: describedTemplate(t)}, nil
}
