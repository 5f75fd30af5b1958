package aws

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"golang.org/x/sync/errgroup"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/call"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/client"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/refusal"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// fleetResult is the result of a fleet request.
type fleetResult struct {
	instances []offer.Instance
	failures  []fleetFailure
	again     bool   // the same request may succeed now
	passing   string // message about a failure that passes and says nothing about the offerings
}

// fleetFailure is an error that EC2 reported for one override.
type fleetFailure struct {
	candidate offer.Candidate
	subnetID  string
	code      string
	reason    offer.RefusalReason
	message   string
}

// concurrentTemplates is how many launch templates are created at the same time.
const concurrentTemplates = 8

// makeTemplates makes sure that the launch template of each build exists, and sets its name
// in the overrides. builds has the indexes of the overrides with each build, and order the
// builds by first use.
func (l *launch) makeTemplates(ctx context.Context, request *fleetRequest, order []build, builds map[build][]int) error {
	names := make([]string, len(order))
	tags := l.cloud.options.sharedTags(l.order.Provisioner, l.resolved.profile)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(concurrentTemplates)
	for i, b := range order {
		if own := l.resolved.profile.LaunchTemplate; own != nil {
			names[i] = *own
			continue
		}
		group.Go(func() error {
			data, err := l.cloud.templateData(l.order, l.resolved, b)
			if err != nil {
				return err
			}
			names[i], err = l.cloud.templates.ensure(ctx, data, tags)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, b := range order {
		request.templates = append(request.templates, names[i])
		for _, n := range builds[b] {
			request.overrides[n].template = names[i]
		}
	}
	return nil
}

// requestFleet makes the request. If another request has used its token, because the same
// launch id was ordered before, or if the response names neither machines nor errors, the result
// is what was bought under that id.
func (l *launch) requestFleet(ctx context.Context, request *fleetRequest, round int) (*fleetResult, error) {
	token := clientToken(l.order.LaunchID, round)
	out, err := client.Invoke(ctx, l.cloud.writes.CreateFleet, l.fleetInput(request, token))
	if err == nil && len(out.Instances)+len(out.Errors) > 0 {
		return l.withoutLostTemplates(l.readFleet(out, request), request), nil
	}
	code := call.Code(err)
	reason := refusal.Reason(code)
	denied := reason == offer.RefusedUnauthorized && code != refusal.CodeNoSpotRole
	switch {
	case err == nil, code == "IdempotentParameterMismatch":
		return l.alreadyLaunched(ctx)
	case refusal.TemplateGone(code), reason != offer.RefusedOther && !denied:
		return l.withoutLostTemplates(request.refusedAll(code, reason, "create fleet: "+refusal.Message(code, err.Error())), request), nil
	case denied: // EC2 would refuse a request for other offerings too
		err = offer.Permanent(errors.New(refusal.Message(code, err.Error())))
	case refusal.Misconfigured(code, err.Error()):
		l.cloud.forgetLookups()
		err = offer.Permanent(err)
	case refusal.Broken(code): // the next plan tries others, such as another capacity type
		for _, o := range request.overrides {
			l.cloud.shortages.add(o.candidate, l.resolved.setup, reason, 0)
		}
	}
	return nil, fmt.Errorf("create fleet with target capacity %d: %w", l.missing(), err)
}

// withoutLostTemplates handles the agent's launch templates that somebody else has deleted, or that
// EC2 does not know yet: it drops their failures, so that the next request creates the templates again.
func (l *launch) withoutLostTemplates(result *fleetResult, request *fleetRequest) *fleetResult {
	lost := func(f fleetFailure) bool { return refusal.TemplateGone(f.code) }
	at := slices.IndexFunc(result.failures, lost)
	if at < 0 || l.resolved.profile.LaunchTemplate != nil {
		return result
	}
	l.cloud.templates.forget(request.templates...)
	result.again, result.passing = true, result.failures[at].message
	result.failures = slices.DeleteFunc(result.failures, lost)
	return result
}

func (l *launch) missing() int { return l.order.Count - len(l.found) }

// refusedAll is the result of a request that EC2 refused as a whole.
func (r *fleetRequest) refusedAll(code string, reason offer.RefusalReason, message string) *fleetResult {
	result := &fleetResult{}
	for _, o := range r.overrides {
		result.failures = append(result.failures, fleetFailure{
			candidate: o.candidate, subnetID: o.subnetID, code: code, reason: reason, message: message,
		})
	}
	return result
}

func (l *launch) fleetInput(request *fleetRequest, token string) *ec2.CreateFleetInput {
	tags := tagList(l.cloud.options.launchTags(l.order, l.resolved.profile))
	in := &ec2.CreateFleetInput{
		Type:                  types.FleetTypeInstant,
		ClientToken:           &token,
		LaunchTemplateConfigs: request.configs(),
		TargetCapacitySpecification: &types.TargetCapacitySpecificationRequest{
			TotalTargetCapacity: awssdk.Int32(int32(request.count)),
		},
		TagSpecifications: []types.TagSpecification{
			{ResourceType: types.ResourceTypeInstance, Tags: tags},
			{ResourceType: types.ResourceTypeVolume, Tags: tags},
			{ResourceType: types.ResourceTypeFleet, Tags: tags},
		},
	}
	if request.capacityType == api.CapacitySpot {
		in.TargetCapacitySpecification.DefaultTargetCapacityType = types.DefaultTargetCapacityTypeSpot
		in.SpotOptions = &types.SpotOptionsRequest{AllocationStrategy: types.SpotAllocationStrategyPriceCapacityOptimized}
	} else {
		in.TargetCapacitySpecification.DefaultTargetCapacityType = types.DefaultTargetCapacityTypeOnDemand
		in.OnDemandOptions = &types.OnDemandOptionsRequest{AllocationStrategy: types.FleetOnDemandAllocationStrategyLowestPrice}
		if request.reservation != "" {
			in.OnDemandOptions.CapacityReservationOptions = &types.CapacityReservationOptionsRequest{
				UsageStrategy: types.FleetCapacityReservationUsageStrategyUseCapacityReservationsFirst,
			}
		}
	}
	return in
}

// configs groups the overrides by launch template. They have no priorities, because both
// allocation strategies rank by price.
func (r *fleetRequest) configs() []types.FleetLaunchTemplateConfigRequest {
	byName := map[string]*types.FleetLaunchTemplateConfigRequest{}
	out := make([]types.FleetLaunchTemplateConfigRequest, len(r.templates))
	for i, name := range r.templates {
		out[i].LaunchTemplateSpecification = &types.FleetLaunchTemplateSpecificationRequest{
			LaunchTemplateName: &name, Version: awssdk.String("$Latest"),
		}
		byName[name] = &out[i]
	}
	for _, o := range r.overrides {
		config := byName[o.template]
		config.Overrides = append(config.Overrides, types.FleetLaunchTemplateOverridesRequest{
			InstanceType: types.InstanceType(o.candidate.InstanceType),
			SubnetId:     awssdk.String(o.subnetID),
		})
	}
	return out
}

// readFleet translates the answer. An error that names none of the request's overrides is about
// the whole request; it counts for the first candidate.
func (l *launch) readFleet(out *ec2.CreateFleetOutput, request *fleetRequest) *fleetResult {
	result := &fleetResult{}
	for _, group := range out.Instances {
		o, _ := request.find(group.LaunchTemplateAndOverrides)
		for _, id := range group.InstanceIds {
			result.instances = append(result.instances, offer.Instance{
				ID: id, ProviderID: providerID(o.candidate.Zone, id), LaunchID: l.order.LaunchID, Provisioner: l.order.Provisioner,
				InstanceType: string(group.InstanceType), Zone: o.candidate.Zone, SubnetID: o.subnetID,
				CapacityType: request.capacityType, Reservation: request.reservation,
				State: offer.StatePending, LaunchedAt: l.cloud.now(),
			})
		}
	}
	for _, e := range request.telling(out.Errors) {
		o, ok := request.find(e.LaunchTemplateAndOverrides)
		if !ok {
			o = request.overrides[0]
		}
		code := strings.TrimSuffix(awssdk.ToString(e.ErrorCode), "Exception") // as call.Code
		if code == refusal.CodeThrottled {
			result.again, result.passing = true, refusal.Message(code, awssdk.ToString(e.ErrorMessage))
			continue
		}
		result.failures = append(result.failures, fleetFailure{
			candidate: o.candidate, subnetID: o.subnetID, code: code,
			reason: refusal.Reason(code), message: refusal.Message(code, awssdk.ToString(e.ErrorMessage)),
		})
	}
	return result
}

// telling returns the errors without those that only say that there are too few machines, where EC2 also reports why: of the
// same override, or of any if they name none.
func (r *fleetRequest) telling(all []types.CreateFleetError) []types.CreateFleetError {
	unfulfilled := func(e types.CreateFleetError) bool { return awssdk.ToString(e.ErrorCode) == refusal.CodeUnfulfilled }
	none, explained := override{}, map[override]bool{}
	for _, e := range all {
		o, named := r.find(e.LaunchTemplateAndOverrides)
		explained[o] = explained[o] || !unfulfilled(e)
		explained[none] = explained[none] || named
	}
	return slices.DeleteFunc(slices.Clone(all), func(e types.CreateFleetError) bool {
		o, _ := r.find(e.LaunchTemplateAndOverrides)
		return unfulfilled(e) && explained[o]
	})
}

func (r *fleetRequest) find(said *types.LaunchTemplateAndOverridesResponse) (override, bool) {
	if said == nil || said.Overrides == nil {
		return override{}, false
	}
	for _, o := range r.overrides {
		if o.candidate.InstanceType == string(said.Overrides.InstanceType) && o.subnetID == awssdk.ToString(said.Overrides.SubnetId) {
			return o, true
		}
	}
	return override{}, false
}

// maxToken is EC2's limit for the length of a client token.
const maxToken = 64

// clientToken returns the idempotency token of a round of an order. It is the launch id in
// round 0.
func clientToken(launchID string, round int) string {
	token := launchID
	if round > 0 {
		token += "-" + strconv.Itoa(round+1)
	}
	if len(token) <= maxToken {
		return token
	}
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:16])
}
