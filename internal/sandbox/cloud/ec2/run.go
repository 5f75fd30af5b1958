package ec2

import (
	"maps"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2/catalogue"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2/resource"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2/template"
)

func accessesOfRunInstances(c *EC2, in *ec2.RunInstancesInput) []account.Access {
	launch := &launchAccess{spot: in.InstanceMarketOptions != nil, actions: []string{"ec2:RunInstances"}, tagCreator: "RunInstances"}
	for _, s := range in.TagSpecifications {
		launch.addTags(s.ResourceType, s.Tags)
	}
	if spec := in.LaunchTemplate; spec != nil {
		if t, err := c.Templates.Find(account.Deref(spec.LaunchTemplateId), account.Deref(spec.LaunchTemplateName)); err == nil {
			launch.addTemplate(t)
		}
	}
	if id := account.Deref(in.ImageId); id != "" {
		launch.images = append(launch.images, id)
	}
	launch.groups = append(launch.groups, in.SecurityGroupIds...)
	if id := account.Deref(in.SubnetId); id != "" {
		launch.subnets = append(launch.subnets, id)
	}
	if p := in.IamInstanceProfile; p != nil {
		launch.profiles = append(launch.profiles, account.Deref(p.Name))
	}
	return launch.accesses(c)
}

// runInstances launches machines of one type into one subnet: as many as it
// can between MinCount and MaxCount, or none.
func (c *EC2) runInstances(_ *account.Caller, in *ec2.RunInstancesInput) (*ec2.RunInstancesOutput, error) {
	if in.MinCount == nil || in.MaxCount == nil || *in.MinCount < 1 || *in.MaxCount < *in.MinCount {
		return nil, account.Fail("InvalidParameterValue", "MinCount and MaxCount must be at least 1, and MaxCount not below MinCount.")
	}
	spec, err := c.specOfRun(in)
	if err != nil {
		return nil, err
	}
	var launched []*Machine
	for range *in.MaxCount {
		each := spec
		each.tags = maps.Clone(spec.tags)
		m, problem := c.launch(each)
		if problem != nil && len(launched) < int(*in.MinCount) {
			for _, m := range launched {
				c.terminate(m)
			}
			return nil, problem
		}
		if problem != nil {
			break
		}
		launched = append(launched, m)
	}
	out := &ec2.RunInstancesOutput{OwnerId: &c.AccountID, ReservationId: &launched[0].launchedAs}
	for i, m := range launched {
		m.launchedAs = launched[0].launchedAs
		described := c.describedInstance(m)
		described.AmiLaunchIndex = aws.Int32(int32(i))
		out.Instances = append(out.Instances, described)
	}
	return out, nil
}

// specOfRun reads what to launch from the launch template, if one is named, and
// from the request, which goes before it.
func (c *EC2) specOfRun(in *ec2.RunInstancesInput) (launchSpec, error) {
	data := types.RequestLaunchTemplateData{}
	if named := in.LaunchTemplate; named != nil {
		t, err := c.Templates.Find(account.Deref(named.LaunchTemplateId), account.Deref(named.LaunchTemplateName))
		if err != nil {
			return launchSpec{}, err
		}
		if err := t.CheckVersion(account.Deref(named.Version)); err != nil {
			return launchSpec{}, err
		}
		data = *t.Data
	}
	overrideWithRequest(&data, in)
	spec, problem := c.specOfTemplate(&template.Template{Data: &data})
	if problem != nil {
		return launchSpec{}, problem
	}
	maps.Copy(spec.tags, resource.TagsFor(in.TagSpecifications, types.ResourceTypeInstance))
	spec.clientToken = account.Deref(in.ClientToken)
	spec.capacityType = catalogue.OnDemand
	if o := in.InstanceMarketOptions; o != nil && o.MarketType == types.MarketTypeSpot {
		spec.capacityType = catalogue.Spot
	}
	spec.instanceType = c.Catalogue.ByName(string(data.InstanceType))
	if spec.instanceType == nil {
		return launchSpec{}, account.Fail("InvalidParameterValue", "Invalid value '%s' for InstanceType.", data.InstanceType)
	}
	spec.subnet = c.Network.Subnets[account.Deref(in.SubnetId)]
	if spec.subnet == nil {
		return launchSpec{}, account.Fail("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", account.Deref(in.SubnetId))
	}
	return spec, nil
}

func overrideWithRequest(data *types.RequestLaunchTemplateData, in *ec2.RunInstancesInput) {
	if in.ImageId != nil {
		data.ImageId = in.ImageId
	}
	if in.InstanceType != "" {
		data.InstanceType = in.InstanceType
	}
	if in.UserData != nil {
		data.UserData = in.UserData
	}
	if len(in.SecurityGroupIds) > 0 {
		data.SecurityGroupIds, data.NetworkInterfaces = in.SecurityGroupIds, nil
	}
	if p := in.IamInstanceProfile; p != nil {
		data.IamInstanceProfile = &types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: p.Name, Arn: p.Arn}
	}
}
