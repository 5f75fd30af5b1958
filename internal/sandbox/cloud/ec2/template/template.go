// Package template is the launch templates of EC2.
package template

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
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2/resource"
)

// Template has one version: the API for more is not modelled.
type Template struct {
	ID          string
	name        string
	created     time.Time
	createdBy   string
	description string
	Data        *types.RequestLaunchTemplateData
	Tags        map[string]string
	token       string // ClientToken of the request that made it
}

// maxUserData is the size of user data in bytes, before base64.
const maxUserData = 16 * 1024

// Templates are those of the account.
type Templates struct {
	*account.Account

	byID map[string]*Template
}

// New returns no templates.
func New(a *account.Account) *Templates {
	return &Templates{Account: a, byID: map[string]*Template{}}
}

// Tags returns the tags of all templates by their ids.
func (c *Templates) Tags() map[string]map[string]string {
	tags := map[string]map[string]string{}
	for id, t := range c.byID {
		tags[id] = t.Tags
	}
	return tags
}

// AddTo registers the calls that make, list and delete templates.
func (c *Templates) AddTo(s *account.Service) {
	account.AddOnAnything(s, c, (*Templates).describeLaunchTemplates)
	account.AddOnAnything(s, c, (*Templates).describeLaunchTemplateVersions)
	account.Add(s, c, accessesOfCreateLaunchTemplate, (*Templates).createLaunchTemplate)
	account.Add(s, c, accessesOfDeleteLaunchTemplate, (*Templates).deleteLaunchTemplate)
}

var templateName = regexp.MustCompile(`^[a-zA-Z0-9().\-/_]{3,128}$`)

func accessesOfCreateLaunchTemplate(c *Templates, in *ec2.CreateLaunchTemplateInput) []account.Access {
	tags := resource.TagsFor(in.TagSpecifications, types.ResourceTypeLaunchTemplate)
	all := resource.ARN(c.Account, "launch-template", "*")
	needed := []account.Access{{Action: "ec2:CreateLaunchTemplate", Resource: all, Context: account.RequestTags(tags)}}
	return append(needed, resource.TaggingOnCreate("CreateLaunchTemplate", all, tags)...)
}

func (c *Templates) createLaunchTemplate(caller *account.Caller, in *ec2.CreateLaunchTemplateInput) (*ec2.CreateLaunchTemplateOutput, error) {
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
		if _, err := resource.ReadTags(s.Tags); err != nil {
			return nil, err
		}
		if s.ResourceType != types.ResourceTypeLaunchTemplate {
			return nil, account.Fail("InvalidParameterValue", "'%s' is not a valid taggable resource type for this operation.", s.ResourceType)
		}
	}
	if existing := c.ByName(name); existing != nil {
		if token := account.Deref(in.ClientToken); token != "" && token == existing.token {
			return &ec2.CreateLaunchTemplateOutput{LaunchTemplate: describedTemplate(existing)}, nil
		}
		return nil, account.Fail("InvalidLaunchTemplateName.AlreadyExistsException", "Launch template name already in use.")
	}
	t := &Template{
		ID: c.NewID("lt"), name: name, created: c.Now(), createdBy: caller.Who.ARN, description: account.Deref(in.VersionDescription),
		Data: in.LaunchTemplateData, Tags: resource.TagsFor(in.TagSpecifications, types.ResourceTypeLaunchTemplate), token: account.Deref(in.ClientToken),
	}
	c.byID[t.ID] = t
	return &ec2.CreateLaunchTemplateOutput{LaunchTemplate: describedTemplate(t)}, nil
}

func checkTemplateData(data *types.RequestLaunchTemplateData) error {
	for _, s := range data.TagSpecifications {
		if _, err := resource.ReadTags(s.Tags); err != nil {
			return err
		}
	}
	if len(data.NetworkInterfaces) > 0 && len(data.SecurityGroupIds) > 0 {
		return account.Fail("InvalidParameterCombination", "Network interfaces and an instance-level security groups may not be specified on the same request")
	}
	_, err := DecodeUserData(account.Deref(data.UserData))
	return err
}

// DecodeUserData returns the bytes of user data in base64, which are 16 KiB at most.
func DecodeUserData(text string) ([]byte, error) {
	decoded, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, account.Fail("InvalidUserData.Malformed", "Invalid BASE64 encoding of user data.")
	}
	if len(decoded) > maxUserData {
		return nil, account.Fail("InvalidParameterValue", "User data is limited to %d bytes", maxUserData)
	}
	return decoded, nil
}

// ByName returns the launch template of that name, or nil if there is none.
func (c *Templates) ByName(name string) *Template {
	for _, t := range c.byID {
		if t.name == name {
			return t
		}
	}
	return nil
}

// Find looks a template up by id or, if that is empty, by name.
func (c *Templates) Find(id, name string) (*Template, error) {
	switch {
	case id != "" && name != "":
		return nil, account.Fail("InvalidParameterCombination", "The parameters launchTemplateId and launchTemplateName cannot be used together.")
	case id != "":
		if t := c.byID[id]; t != nil {
			return t, nil
		}
		return nil, account.Fail("InvalidLaunchTemplateId.NotFound", "The specified launch template, with template ID %s, does not exist.", id)
	case name != "":
		if t := c.ByName(name); t != nil {
			return t, nil
		}
		return nil, account.Fail("InvalidLaunchTemplateName.NotFoundException", "The specified launch template, with template name %s, does not exist.", name)
	}
	return nil, account.Fail("MissingParameter", "Either a launch template ID or a launch template name must be specified in the request.")
}

func (c *Templates) describeLaunchTemplates(_ *account.Caller, in *ec2.DescribeLaunchTemplatesInput) (*ec2.DescribeLaunchTemplatesOutput, error) {
	if _, err := resource.Matches(in.Filters, templateAttributes(&Template{})); err != nil {
		return nil, err
	}
	var candidates []*Template
	for _, id := range in.LaunchTemplateIds {
		t, err := c.Find(id, "")
		if err != nil {
			return nil, err
		}
		candidates = append(candidates, t)
	}
	for _, name := range in.LaunchTemplateNames {
		t, err := c.Find("", name)
		if err != nil {
			return nil, err
		}
		candidates = append(candidates, t)
	}
	if len(in.LaunchTemplateIds)+len(in.LaunchTemplateNames) == 0 {
		for _, id := range account.SortedKeys(c.byID) {
			candidates = append(candidates, c.byID[id])
		}
	}
	kept, err := resource.Selected(candidates, in.Filters, templateAttributes)
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

func templateAttributes(t *Template) resource.Attributes {
	return resource.Attributes{"launch-template-name": {t.name}, "create-time": {t.created.UTC().Format(time.RFC3339)}}.WithTags(t.Tags)
}

func describedTemplate(t *Template) *types.LaunchTemplate {
	return &types.LaunchTemplate{
		LaunchTemplateId: &t.ID, LaunchTemplateName: &t.name, CreateTime: &t.created, CreatedBy: &t.createdBy,
		DefaultVersionNumber: aws.Int64(1), LatestVersionNumber: aws.Int64(1), Tags: resource.Tags(t.Tags),
	}
}

// CheckVersion accepts the names of the one version that a template has.
func (t *Template) CheckVersion(version string) error {
	if slices.Contains([]string{"", "1", "$Latest", "$Default"}, version) {
		return nil
	}
	return account.Fail("InvalidLaunchTemplateId.VersionNotFound", "Could not find the specified version %s for the launch template with ID %s.", version, t.ID)
}

func (c *Templates) describeLaunchTemplateVersions(_ *account.Caller, in *ec2.DescribeLaunchTemplateVersionsInput) (*ec2.DescribeLaunchTemplateVersionsOutput, error) {
	templates := []*Template{}
	if account.Deref(in.LaunchTemplateId) == "" && account.Deref(in.LaunchTemplateName) == "" && len(in.Versions) > 0 {
		for _, id := range account.SortedKeys(c.byID) {
			templates = append(templates, c.byID[id])
		}
	} else {
		t, err := c.Find(account.Deref(in.LaunchTemplateId), account.Deref(in.LaunchTemplateName))
		if err != nil {
			return nil, err
		}
		templates = append(templates, t)
	}
	out := &ec2.DescribeLaunchTemplateVersionsOutput{LaunchTemplateVersions: []types.LaunchTemplateVersion{}}
	for _, t := range templates {
		for _, version := range in.Versions {
			if err := t.CheckVersion(version); err != nil {
				return nil, err
			}
		}
		data, err := responseData(t.Data)
		if err != nil {
			return nil, err
		}
		out.LaunchTemplateVersions = append(out.LaunchTemplateVersions, types.LaunchTemplateVersion{
			LaunchTemplateId: &t.ID, LaunchTemplateName: &t.name, VersionNumber: aws.Int64(1), DefaultVersion: aws.Bool(true),
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

func accessesOfDeleteLaunchTemplate(c *Templates, in *ec2.DeleteLaunchTemplateInput) []account.Access {
	id, tags := account.Deref(in.LaunchTemplateId), map[string]string(nil)
	if t, err := c.Find(id, account.Deref(in.LaunchTemplateName)); err == nil {
		id, tags = t.ID, t.Tags
	}
	return []account.Access{{Action: "ec2:DeleteLaunchTemplate", Resource: resource.ARN(c.Account, "launch-template", id), Context: account.ResourceTags("ec2", tags)}}
}

func (c *Templates) deleteLaunchTemplate(_ *account.Caller, in *ec2.DeleteLaunchTemplateInput) (*ec2.DeleteLaunchTemplateOutput, error) {
	t, err := c.Find(account.Deref(in.LaunchTemplateId), account.Deref(in.LaunchTemplateName))
	if err != nil {
		return nil, err
	}
	delete(c.byID, t.ID)
	return &ec2.DeleteLaunchTemplateOutput{LaunchTemplate: describedTemplate(t)}, nil
}
