package ec2

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2/catalogue"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2/network"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2/resource"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2/template"
)

// Limits of a fleet request, from the EC2 quotas for EC2 Fleet.
const (
	maxFleetConfigs   = 50
	maxFleetOverrides = 300
	maxFleetCapacity  = 10_000
)

// fleets serves requests for fleets: it ranks what they accept, and launches the first that
// can be had.
type fleets struct {
	*EC2

	answered map[string]fleetAnswer // by client token
}

// fleetAnswer is remembered under the request's client token.
type fleetAnswer struct {
	input  *ec2.CreateFleetInput
	output *ec2.CreateFleetOutput
}

// Fleets returns the requests for fleets that were answered and had a client token, by
// the token.
func Fleets(c *EC2) map[string]*ec2.CreateFleetInput {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	out := map[string]*ec2.CreateFleetInput{}
	for token, answered := range c.fleets.answered {
		out[token] = answered.input
	}
	return out
}

func accessesOfCreateFleet(c *fleets, in *ec2.CreateFleetInput) []account.Access {
	launch := &launchAccess{spot: fleetCapacityType(in) == catalogue.Spot, actions: []string{"ec2:CreateFleet", "ec2:RunInstances"}, tagCreator: "CreateFleet"}
	for _, s := range in.TagSpecifications {
		launch.addTags(s.ResourceType, s.Tags)
	}
	needed := []account.Access{{Action: "ec2:CreateFleet", Resource: resource.ARN(c.Account, "fleet", "*"), Context: account.RequestTags(launch.tags[types.ResourceTypeFleet])}}
	for _, config := range in.LaunchTemplateConfigs {
		t, err := c.templateOf(config.LaunchTemplateSpecification)
		if err != nil {
			continue // the call itself says so
		}
		launch.addTemplate(t)
		for _, o := range config.Overrides {
			if id := account.Deref(o.SubnetId); id != "" {
				launch.subnets = append(launch.subnets, id)
			}
		}
	}
	return append(needed, launch.accesses(c.EC2)...)
}

func (c *fleets) templateOf(s *types.FleetLaunchTemplateSpecificationRequest) (*template.Template, error) {
	if s == nil {
		return nil, account.Fail("MissingParameter", "The request must contain the parameter LaunchTemplateSpecification")
	}
	t, err := c.Templates.Find(account.Deref(s.LaunchTemplateId), account.Deref(s.LaunchTemplateName))
	if err != nil {
		return nil, err
	}
	if s.Version == nil {
		return nil, account.Fail("MissingParameter", "The request must contain the parameter LaunchTemplateSpecification.Version")
	}
	return t, t.CheckVersion(*s.Version)
}

func (c *fleets) createFleet(caller *account.Caller, in *ec2.CreateFleetInput) (*ec2.CreateFleetOutput, error) {
	if err := checkFleet(in); err != nil {
		return nil, err
	}
	token := account.Deref(in.ClientToken)
	if answered, again := c.answered[token]; again && token != "" {
		if !reflect.DeepEqual(answered.input, in) {
			return nil, account.Fail("IdempotentParameterMismatch", "Client token already used before, but with different parameters.")
		}
		return answered.output, nil
	}
	candidates, err := c.fleetCandidates(in)
	if err != nil {
		return nil, err
	}
	order := orderOf(in)
	c.rank(candidates, order, int(account.Deref(in.TargetCapacitySpecification.TotalTargetCapacity)))
	out := c.fill(caller, in, candidates)
	out.FleetId = new(string)
	*out.FleetId = "fleet-" + c.NewUUID()
	for _, id := range InstancesOf(out) {
		c.Machines[id].tags["aws:ec2:fleet-id"] = *out.FleetId
	}
	if token != "" {
		c.answered[token] = fleetAnswer{input: in, output: out}
	}
	return out, nil
}

// InstancesOf returns the ids of the instances that CreateFleet launched, in the order of
// its answer.
func InstancesOf(out *ec2.CreateFleetOutput) []string {
	var ids []string
	for _, group := range out.Instances {
		ids = append(ids, group.InstanceIds...)
	}
	return ids
}

// checkFleet validates what can be validated without looking at the account.
func checkFleet(in *ec2.CreateFleetInput) error {
	overrides := 0
	for _, config := range in.LaunchTemplateConfigs {
		overrides += max(1, len(config.Overrides))
		for _, o := range config.Overrides {
			if o.InstanceRequirements != nil {
				return account.Fail("UnsupportedOperation", "Attribute-based instance type selection is not supported here.")
			}
		}
	}
	target := in.TargetCapacitySpecification
	switch {
	case in.Type != types.FleetTypeInstant:
		return account.Fail("UnsupportedOperation", "Fleets of type '%s' are not supported here; only instant.", in.Type)
	case len(in.LaunchTemplateConfigs) == 0:
		return account.Fail("MissingParameter", "The request must contain the parameter LaunchTemplateConfigs")
	case len(in.LaunchTemplateConfigs) > maxFleetConfigs:
		return account.Fail("InvalidParameterValue", "The number of launch template configurations (%d) exceeds %d", len(in.LaunchTemplateConfigs), maxFleetConfigs)
	case overrides > maxFleetOverrides:
		return account.Fail("InvalidParameterValue", "The number of overrides (%d) exceeds %d", overrides, maxFleetOverrides)
	case target == nil || target.TotalTargetCapacity == nil:
		return account.Fail("MissingParameter", "The request must contain the parameter TargetCapacitySpecification.TotalTargetCapacity")
	case *target.TotalTargetCapacity < 1 || *target.TotalTargetCapacity > maxFleetCapacity:
		return account.Fail("InvalidParameterValue", "TotalTargetCapacity %d is not between 1 and %d", *target.TotalTargetCapacity, maxFleetCapacity)
	}
	return checkFleetDetails(in)
}

func checkFleetDetails(in *ec2.CreateFleetInput) error {
	allowed := []types.ResourceType{types.ResourceTypeFleet, types.ResourceTypeInstance, types.ResourceTypeVolume}
	for _, s := range in.TagSpecifications {
		if !slices.Contains(allowed, s.ResourceType) {
			return account.Fail("InvalidParameterValue", "'%s' is not a valid taggable resource type for this operation.", s.ResourceType)
		}
		if _, err := resource.ReadTags(s.Tags); err != nil {
			return err
		}
	}
	if o := in.SpotOptions; o != nil && o.AllocationStrategy != "" && !slices.Contains(o.AllocationStrategy.Values(), o.AllocationStrategy) {
		return account.Fail("InvalidParameterValue", "Invalid allocation strategy: %s", o.AllocationStrategy)
	}
	if o := in.OnDemandOptions; o != nil && o.AllocationStrategy != "" && !slices.Contains(o.AllocationStrategy.Values(), o.AllocationStrategy) {
		return account.Fail("InvalidParameterValue", "Invalid allocation strategy: %s", o.AllocationStrategy)
	}
	return nil
}

// fleetCapacityType returns how the fleet buys: on-demand unless it asks for
// spot.
func fleetCapacityType(in *ec2.CreateFleetInput) string {
	target := in.TargetCapacitySpecification
	if target == nil {
		return catalogue.OnDemand
	}
	if target.DefaultTargetCapacityType == types.DefaultTargetCapacityTypeSpot || account.Deref(target.SpotTargetCapacity) > 0 {
		return catalogue.Spot
	}
	return catalogue.OnDemand
}

// candidate is one override of one launch template.
type candidate struct {
	spec     launchSpec
	problem  *account.APIError // why it cannot be launched at all
	override *types.FleetLaunchTemplateOverrides
	template *template.Template
	version  string
	priority float64 // lower is preferred
	maxPrice string
}

func (c *fleets) fleetCandidates(in *ec2.CreateFleetInput) ([]*candidate, error) {
	requestTags := resource.TagsFor(in.TagSpecifications, types.ResourceTypeInstance)
	var all []*candidate
	for _, config := range in.LaunchTemplateConfigs {
		t, err := c.templateOf(config.LaunchTemplateSpecification)
		if err != nil {
			return nil, err
		}
		base, problem := c.specOfTemplate(t)
		base.capacityType = fleetCapacityType(in)
		base.clientToken = account.Deref(in.ClientToken)
		overrides := config.Overrides
		if len(overrides) == 0 {
			overrides = []types.FleetLaunchTemplateOverridesRequest{{}}
		}
		for _, o := range overrides {
			spec := base
			spec.tags = maps.Clone(base.tags)
			maps.Copy(spec.tags, requestTags)
			all = append(all, c.candidateOf(spec, problem, t, o))
			all[len(all)-1].version = account.Deref(config.LaunchTemplateSpecification.Version)
		}
	}
	return all, nil
}

func (c *fleets) candidateOf(spec launchSpec, problem *account.APIError, t *template.Template, o types.FleetLaunchTemplateOverridesRequest) *candidate {
	typeName := string(o.InstanceType)
	if typeName == "" {
		typeName = string(t.Data.InstanceType)
	}
	subnetID := account.Deref(o.SubnetId)
	if subnetID == "" && len(t.Data.NetworkInterfaces) > 0 {
		subnetID = account.Deref(t.Data.NetworkInterfaces[0].SubnetId)
	}
	if id := account.Deref(o.ImageId); id != "" {
		spec.image = c.Images.ByID(id)
		problem = c.checkSpec(spec, id)
	}
	spec.instanceType, spec.subnet = c.Catalogue.ByName(typeName), c.Network.Subnets[subnetID]
	switch {
	case problem != nil:
	case spec.instanceType == nil:
		problem = account.Fail("InvalidParameterValue", "Invalid value '%s' for InstanceType.", typeName)
	case subnetID == "":
		problem = account.Fail("MissingInput", "No subnets found for the default VPC '%s'. Please specify a subnet.", c.Network.VPC)
	case spec.subnet == nil:
		problem = account.Fail("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", subnetID)
	}
	if o.Priority != nil && *o.Priority < 0 {
		problem = account.Fail("InvalidParameterValue", "Priority %v is negative", *o.Priority)
	}
	return &candidate{
		spec: spec, problem: problem, template: t, priority: priorityOf(o), maxPrice: account.Deref(o.MaxPrice),
		override: &types.FleetLaunchTemplateOverrides{
			InstanceType: types.InstanceType(typeName), SubnetId: account.NilIfEmpty(subnetID), AvailabilityZone: zoneOf(spec.subnet, o),
			MaxPrice: o.MaxPrice, Priority: o.Priority, WeightedCapacity: o.WeightedCapacity,
		},
	}
}

func zoneOf(s *network.Subnet, o types.FleetLaunchTemplateOverridesRequest) *string {
	if s == nil {
		return o.AvailabilityZone
	}
	return &s.Zone
}

// fill launches the candidates in their order until the target is reached.
func (c *fleets) fill(caller *account.Caller, in *ec2.CreateFleetInput, candidates []*candidate) *ec2.CreateFleetOutput {
	out := &ec2.CreateFleetOutput{Instances: []types.CreateFleetInstance{}, Errors: []types.CreateFleetError{}}
	left := float64(*in.TargetCapacitySpecification.TotalTargetCapacity)
	for _, candidate := range candidates {
		if left <= 0 {
			break
		}
		weight := 1.0
		if w := candidate.override.WeightedCapacity; w != nil && *w > 0 {
			weight = *w
		}
		fault := c.offeringFault(candidate.spec)
		caller.Delay += fault.Latency
		ids, problem := []string(nil), fault.Problem
		if problem == nil {
			ids, problem = c.launchMany(candidate, left, weight)
		}
		left -= weight * float64(len(ids))
		if len(ids) > 0 {
			out.Instances = append(out.Instances, candidate.instances(ids))
		}
		if problem != nil {
			out.Errors = append(out.Errors, candidate.failure(problem))
		}
	}
	if c.Behaves.SumsUp && left > 0 {
		code, message := "UnfulfillableCapacity", "Please adjust your request and try again."
		out.Errors = append(out.Errors, types.CreateFleetError{ErrorCode: &code, ErrorMessage: &message})
	}
	if short := minimumMissed(in, left); short {
		for _, id := range InstancesOf(out) {
			c.terminate(c.Machines[id])
		}
		out.Instances = []types.CreateFleetInstance{}
	}
	return out
}

// minimumMissed tells whether the fleet was to launch nothing rather than less
// than a minimum.
func minimumMissed(in *ec2.CreateFleetInput, left float64) bool {
	minimum := int32(0)
	if o := in.OnDemandOptions; o != nil && fleetCapacityType(in) == catalogue.OnDemand {
		minimum = account.Deref(o.MinTargetCapacity)
	}
	if o := in.SpotOptions; o != nil && fleetCapacityType(in) == catalogue.Spot {
		minimum = account.Deref(o.MinTargetCapacity)
	}
	return float64(*in.TargetCapacitySpecification.TotalTargetCapacity)-left < float64(minimum)
}

func (c *fleets) launchMany(candidate *candidate, left, weight float64) ([]string, *account.APIError) {
	if problem := c.checkCandidate(candidate); problem != nil {
		return nil, problem
	}
	var ids []string
	for left > 0 {
		spec := candidate.spec
		spec.tags = maps.Clone(spec.tags)
		m, problem := c.launch(spec)
		if problem != nil {
			return ids, problem
		}
		ids = append(ids, m.id)
		left -= weight
	}
	return ids, nil
}

func (c *fleets) checkCandidate(candidate *candidate) *account.APIError {
	if candidate.problem != nil {
		return candidate.problem
	}
	if candidate.spec.capacityType == catalogue.Spot && candidate.maxPrice != "" {
		var offered float64
		if _, err := fmt.Sscan(candidate.maxPrice, &offered); err != nil {
			return account.Fail("InvalidParameterValue", "Invalid value '%s' for MaxPrice.", candidate.maxPrice)
		}
		price := c.priceOf(candidate)
		if offered*1e6 < float64(price) {
			return account.Fail("SpotMaxPriceTooLow", "Your Spot request price of %s is lower than the minimum required Spot request fulfillment price of %s.", candidate.maxPrice, catalogue.Dollars(price))
		}
	}
	return nil
}

func (candidate *candidate) describe() *types.LaunchTemplateAndOverridesResponse {
	return &types.LaunchTemplateAndOverridesResponse{
		LaunchTemplateSpecification: &types.FleetLaunchTemplateSpecification{LaunchTemplateId: &candidate.template.ID, Version: &candidate.version},
		Overrides:                   candidate.override,
	}
}

func (candidate *candidate) instances(ids []string) types.CreateFleetInstance {
	return types.CreateFleetInstance{
		InstanceIds: ids, InstanceType: candidate.override.InstanceType, Lifecycle: lifecycleOf(candidate.spec),
		LaunchTemplateAndOverrides: candidate.describe(),
	}
}

func (candidate *candidate) failure(problem *account.APIError) types.CreateFleetError {
	return types.CreateFleetError{
		ErrorCode: &problem.Code, ErrorMessage: &problem.Message, Lifecycle: lifecycleOf(candidate.spec),
		LaunchTemplateAndOverrides: candidate.describe(),
	}
}

func lifecycleOf(spec launchSpec) types.InstanceLifecycle {
	if spec.capacityType == catalogue.Spot {
		return types.InstanceLifecycleSpot
	}
	return types.InstanceLifecycleOnDemand
}

// offeringFault adds up what the faults in force do to one purchase.
func (c *fleets) offeringFault(spec launchSpec) account.Strike {
	if spec.instanceType == nil || spec.subnet == nil {
		return account.Strike{}
	}
	return c.Strikes(func(f *account.Fault) bool {
		return f.OfOffering() && account.Wildcard(f.InstanceType, spec.instanceType.Name) &&
			account.Wildcard(f.Zone, spec.subnet.Zone) && account.Wildcard(f.CapacityType, spec.capacityType)
	})
}
