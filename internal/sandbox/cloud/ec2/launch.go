package ec2

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2/resource"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2/template"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/policy"
)

// launchAccess describes a launch to the policies of its caller.
type launchAccess struct {
	spot        bool
	templates   []*template.Template
	images      []string
	reserved    []string // ids of capacity reservations
	subnets     []string
	groups      []string
	profiles    []string // instance profile names
	tags        map[types.ResourceType]map[string]string
	tagCreator  string // value of ec2:CreateAction
	taggedKinds []types.ResourceType
	// actions are those that must be allowed on all that is used and made. For a
	// fleet they are two: CreateFleet has the resources of RunInstances, too
	// (https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonec2.html).
	actions []string
}

// addTags adds the tags of a request or of a launch template.
func (l *launchAccess) addTags(kind types.ResourceType, list []types.Tag) {
	if l.tags == nil {
		l.tags = map[types.ResourceType]map[string]string{}
	}
	if l.tags[kind] == nil {
		l.tags[kind] = map[string]string{}
		l.taggedKinds = append(l.taggedKinds, kind)
	}
	for _, tag := range list {
		l.tags[kind][account.Deref(tag.Key)] = account.Deref(tag.Value)
	}
}

// addTemplate adds what a launch template contributes.
func (l *launchAccess) addTemplate(t *template.Template) {
	l.templates = append(l.templates, t)
	for _, s := range t.Data.TagSpecifications {
		l.addTags(s.ResourceType, s.Tags)
	}
	l.images = append(l.images, account.Deref(t.Data.ImageId))
	l.groups = append(l.groups, templateGroups(t.Data)...)
	if r := t.Data.CapacityReservationSpecification; r != nil && r.CapacityReservationTarget != nil {
		l.reserved = append(l.reserved, account.Deref(r.CapacityReservationTarget.CapacityReservationId))
	}
	if name := profileName(t.Data.IamInstanceProfile); name != "" {
		l.profiles = append(l.profiles, name)
	}
}

func templateGroups(data *types.RequestLaunchTemplateData) []string {
	groups := slices.Clone(data.SecurityGroupIds)
	for _, n := range data.NetworkInterfaces {
		groups = append(groups, n.Groups...)
	}
	return groups
}

func profileName(p *types.LaunchTemplateIamInstanceProfileSpecificationRequest) string {
	if p == nil {
		return ""
	}
	if name := account.Deref(p.Name); name != "" {
		return name
	}
	arn := account.Deref(p.Arn)
	return arn[strings.LastIndex(arn, "/")+1:]
}

// accesses lists the permissions that a launch needs: its actions, on everything
// that it uses and makes; to tag what it makes; and to pass the
// role of the instance profile. EC2 checks each kind of what is made by its own tags.
func (l *launchAccess) accesses(c *EC2) []account.Access {
	var needed []account.Access
	use := func(resource string, tags map[string]string) {
		needed = append(needed, l.on(resource, account.ResourceTags("ec2", tags))...)
	}
	for _, t := range l.templates {
		use(resource.ARN(c.Account, "launch-template", t.ID), t.Tags)
	}
	for _, id := range distinct(l.images) {
		use("arn:aws:ec2:"+c.Region+"::image/"+id, nil)
	}
	for _, id := range distinct(l.subnets) {
		var tags map[string]string
		if s := c.Network.Subnets[id]; s != nil {
			tags = s.Tags
		}
		use(resource.ARN(c.Account, "subnet", id), tags)
	}
	for _, id := range distinct(l.reserved) {
		var tags map[string]string
		if r := c.reservations[id]; r != nil {
			tags = r.tags
		}
		use(resource.ARN(c.Account, "capacity-reservation", id), tags)
	}
	for _, id := range distinct(l.groups) {
		var tags map[string]string
		if g := c.Network.Groups[id]; g != nil {
			tags = g.Tags
		}
		use(resource.ARN(c.Account, "security-group", id), tags)
	}
	needed = append(needed, l.accessesToMake(c)...)
	for _, name := range distinct(l.profiles) {
		needed = append(needed, c.accessesToPassRoles(name)...)
	}
	return needed
}

func (l *launchAccess) on(resource string, context policy.ContextKeys) (needed []account.Access) {
	for _, action := range l.actions {
		needed = append(needed, account.Access{Action: action, Resource: resource, Context: context})
	}
	return needed
}

func (l *launchAccess) accessesToMake(c *EC2) []account.Access {
	made := []types.ResourceType{types.ResourceTypeInstance, types.ResourceTypeVolume, types.ResourceTypeNetworkInterface}
	if l.spot {
		made = append(made, types.ResourceTypeSpotInstancesRequest)
	}
	var needed []account.Access
	for _, kind := range made {
		needed = append(needed, l.on(resource.ARN(c.Account, string(kind), "*"), account.RequestTags(l.tags[kind]))...)
	}
	for _, kind := range l.taggedKinds {
		needed = append(needed, resource.TaggingOnCreate(l.tagCreator, resource.ARN(c.Account, string(kind), "*"), l.tags[kind])...)
	}
	return needed
}

// accessesToPassRoles is the permission to give the roles of an instance
// profile to EC2.
func (c *EC2) accessesToPassRoles(profile string) []account.Access {
	var needed []account.Access
	p := c.iam.Directory.Profiles[profile]
	if p == nil {
		return nil
	}
	for _, name := range p.Roles {
		if r := c.iam.Directory.Roles[name]; r != nil {
			needed = append(needed, account.Access{Action: "iam:PassRole", Resource: c.iam.RoleARN(r), Context: map[string][]string{"iam:PassedToService": {"ec2.amazonaws.com"}}})
		}
	}
	return needed
}

func distinct(list []string) []string {
	sorted := slices.Clone(list)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}

// specOfTemplate turns a launch template into what it launches, without a type
// and a subnet.
func (c *EC2) specOfTemplate(t *template.Template) (launchSpec, *account.APIError) {
	data := t.Data
	userData, err := template.DecodeUserData(account.Deref(data.UserData))
	if err != nil {
		return launchSpec{}, account.Fail("InvalidUserData.Malformed", "%s", err)
	}
	spec := launchSpec{
		image:    c.Images.ByID(account.Deref(data.ImageId)),
		groups:   templateGroups(data),
		profile:  profileName(data.IamInstanceProfile),
		userData: userData,
		tags:     map[string]string{},
		metadata: data.MetadataOptions,
		devices:  data.BlockDeviceMappings,

		reservation: data.CapacityReservationSpecification,
	}
	for _, n := range data.NetworkInterfaces {
		if account.Deref(n.InterfaceType) == "efa" {
			spec.efas++
		}
	}
	for _, s := range data.TagSpecifications {
		if s.ResourceType == types.ResourceTypeInstance {
			maps.Copy(spec.tags, resource.TagMap(s.Tags))
		}
	}
	return spec, c.checkSpec(spec, account.Deref(data.ImageId))
}

// checkSpec makes sure that what a launch refers to exists.
func (c *EC2) checkSpec(spec launchSpec, imageID string) *account.APIError {
	if imageID == "" {
		return account.Fail("MissingParameter", "The request must contain the parameter ImageId")
	}
	if spec.image == nil {
		return account.Fail("InvalidAMIID.NotFound", "The image id '[%s]' does not exist", imageID)
	}
	for _, id := range spec.groups {
		if c.Network.Groups[id] == nil {
			return account.Fail("InvalidGroup.NotFound", "The security group '%s' does not exist in VPC '%s'", id, c.Network.VPC)
		}
	}
	if spec.profile != "" && !c.profileVisible(spec.profile) {
		return account.Fail("InvalidParameterValue", "Value (%s) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name", spec.profile)
	}
	return nil
}

// profileVisible tells whether EC2 has heard of an instance profile yet.
func (c *EC2) profileVisible(name string) bool {
	p := c.iam.Directory.Profiles[name]
	return p != nil && !c.iam.UnheardOf(p.Changed)
}
