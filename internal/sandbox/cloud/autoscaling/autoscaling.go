// Package autoscaling is a model of EC2 Auto Scaling.
package autoscaling

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/wire"
)

// AutoScaling is the service with the account's scaling groups.
type AutoScaling struct {
	*account.Account
	ScalingGroups map[string]ScalingGroup // by name
}

// New returns the service.
func New(a *account.Account) *AutoScaling { return &AutoScaling{a, map[string]ScalingGroup{}} }

// autoscalingVersion is the Version parameter of its requests.
const autoscalingVersion = "2011-01-01"

// ScalingGroup is an EC2 Auto Scaling group, as far as it can be described: it
// keeps no machines.
type ScalingGroup struct {
	Name          string
	InstanceTypes []string
	Min, Max      int32
	Zones         []string
	Tags          map[string]string
}

// AddScalingGroup adds a scaling group.
func (c *AutoScaling) AddScalingGroup(g ScalingGroup) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.ScalingGroups[g.Name] = g
}

// Service returns the calls that it answers.
func (c *AutoScaling) Service() *account.Service {
	s := &account.Service{
		Version:    autoscalingVersion,
		Name:       "autoscaling",
		Protocol:   account.QueryProtocol{Dialect: wire.Query(), Namespace: "http://autoscaling.amazonaws.com/doc/2011-01-01/", Wrapped: true},
		Words:      account.QueryDialect(),
		Operations: map[string]account.Operation{},
	}
	account.AddOnAnything(s, c, (*AutoScaling).describeScalingGroups)
	return s
}

func (c *AutoScaling) describeScalingGroups(_ *account.Caller, in *autoscaling.DescribeAutoScalingGroupsInput) (*autoscaling.DescribeAutoScalingGroupsOutput, error) {
	var found []types.AutoScalingGroup
	for _, name := range account.SortedKeys(c.ScalingGroups) {
		g := c.ScalingGroups[name]
		if len(in.AutoScalingGroupNames) > 0 && !slices.Contains(in.AutoScalingGroupNames, name) {
			continue
		}
		matches, err := g.matches(in.Filters)
		if err != nil {
			return nil, err
		}
		if matches {
			found = append(found, c.describedScalingGroup(g))
		}
	}
	part, next, err := account.Page(found, in.NextToken, in.MaxRecords, 100)
	return &autoscaling.DescribeAutoScalingGroupsOutput{AutoScalingGroups: part, NextToken: next}, err
}

// matches knows the filters by the key of a tag and by its value under a key.
func (g *ScalingGroup) matches(filters []types.Filter) (bool, error) {
	for _, f := range filters {
		name := account.Deref(f.Name)
		key, isTag := cutTag(name)
		switch {
		case name == "tag-key":
			if !slices.ContainsFunc(f.Values, func(k string) bool { _, ok := g.Tags[k]; return ok }) {
				return false, nil
			}
		case isTag:
			if !slices.Contains(f.Values, g.Tags[key]) {
				return false, nil
			}
		default:
			return false, account.Fail("ValidationError", "Filter type %s is not correct. Allowed Filter types are: tag-key, tag:<key>", name)
		}
	}
	return true, nil
}

func cutTag(name string) (key string, ok bool) {
	const prefix = "tag:"
	if len(name) <= len(prefix) || name[:len(prefix)] != prefix {
		return "", false
	}
	return name[len(prefix):], true
}

func (c *AutoScaling) describedScalingGroup(g ScalingGroup) types.AutoScalingGroup {
	out := types.AutoScalingGroup{
		AutoScalingGroupName: &g.Name, MinSize: &g.Min, MaxSize: &g.Max, DesiredCapacity: &g.Min, AvailabilityZones: g.Zones,
		AutoScalingGroupARN: aws.String("arn:aws:autoscaling:" + c.Region + ":" + c.AccountID + ":autoScalingGroup:id:autoScalingGroupName/" + g.Name),
	}
	for _, key := range account.SortedKeys(g.Tags) {
		out.Tags = append(out.Tags, types.TagDescription{
			Key: aws.String(key), Value: aws.String(g.Tags[key]), ResourceId: &g.Name, ResourceType: aws.String("auto-scaling-group"), PropagateAtLaunch: aws.Bool(true),
		})
	}
	policy := &types.MixedInstancesPolicy{LaunchTemplate: &types.LaunchTemplate{}}
	for _, name := range g.InstanceTypes {
		policy.LaunchTemplate.Overrides = append(policy.LaunchTemplate.Overrides, types.LaunchTemplateOverrides{InstanceType: aws.String(name)})
	}
	out.MixedInstancesPolicy = policy
	return out
}
