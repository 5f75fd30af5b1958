package agent_test

import (
	"context"
	"fmt"

	"github.com/packhorse-io/terraform-provider-packhorse/agent"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// shelf is the smallest cloud: a shelf of equal machines that are switched on and
// off. docs/clouds.md explains each method.
type shelf struct {
	free    int
	running map[string]offer.Instance   // by id
	served  map[string][]offer.Instance // by launch id
}

var _ agent.Cloud = (*shelf)(nil)

// Market sells one type in one place, and says where it is out of stock.
func (s *shelf) Market(context.Context, *api.Provisioner, *api.NodeProfile) (offer.Market, error) {
	o := offer.Offering{Zone: "basement", CapacityType: api.CapacityOnDemand, Price: 20_000}
	if s.free == 0 {
		o.Unavailable = "all machines are on"
	}
	return offer.Market{Types: []offer.InstanceType{{
		Name:      "box",
		Capacity:  amount.List{amount.CPU: 8000, amount.Memory: 32 << 30, amount.Pods: 110},
		Overhead:  amount.List{amount.CPU: 100, amount.Memory: 1 << 30},
		Labels:    map[string][]string{api.LabelInstanceType: {"box"}, api.LabelArch: {"amd64"}, api.LabelOS: {"linux"}},
		Offerings: []offer.Offering{o},
	}}}, nil
}

// Launch switches on what is asked for, once for each launch id.
func (s *shelf) Launch(_ context.Context, o offer.Order) (offer.Delivery, error) {
	if was, ok := s.served[o.LaunchID]; ok {
		return offer.Delivery{Instances: was}, nil
	}
	var out offer.Delivery
	for range o.Count {
		if s.free == 0 {
			out.Refusals = append(out.Refusals, offer.Refusal{Candidate: o.Candidates[0], Reason: offer.RefusedCapacity, Message: "all machines are on"})
			break
		}
		s.free--
		id := fmt.Sprintf("box-%d", s.free)
		s.running[id] = offer.Instance{
			ID: id, ProviderID: "shelf:///basement/" + id, NodeName: id, LaunchID: o.LaunchID, Provisioner: o.Provisioner, Owned: true,
			InstanceType: "box", Zone: "basement", CapacityType: api.CapacityOnDemand, Tags: o.Tags,
		}
		out.Instances = append(out.Instances, s.running[id])
	}
	s.served[o.LaunchID] = out.Instances
	return out, nil
}

// The shelf belongs to one process, so that no other one can order.
func (s *shelf) Claim(context.Context) error { return nil }

// What is on needs no tags to be found.
func (s *shelf) Find(_ context.Context, ids []string) (out []offer.Instance, _ error) {
	for _, id := range ids {
		if i, on := s.running[id]; on {
			out = append(out, i)
		}
	}
	return out, nil
}

func (s *shelf) Retag(context.Context, offer.Instance) error { return nil }

// Instances lists what is on.
func (s *shelf) Instances(context.Context) ([]offer.Instance, error) {
	var out []offer.Instance
	for _, i := range s.running {
		out = append(out, i)
	}
	return out, nil
}

// Terminate switches off. What is off already is no error.
func (s *shelf) Terminate(_ context.Context, ids []string) ([]string, error) {
	for _, id := range ids {
		if _, on := s.running[id]; on {
			delete(s.running, id)
			s.free++
		}
	}
	return ids, nil
}

// Nothing is made besides machines, so that nothing has to be swept.
func (s *shelf) Sweep(context.Context) error          { return nil }
func (s *shelf) Forget(context.Context, string) error { return nil }

// The sizes are known, so that nothing has to be learnt.
func (s *shelf) Learn(offer.Observed)   {}
func (s *shelf) Learnt() []offer.Learnt { return nil }

func Example_cloud() {
	ctx := context.Background()
	cloud := &shelf{free: 1, running: map[string]offer.Instance{}, served: map[string][]offer.Instance{}}
	order := offer.Order{LaunchID: "a", Count: 1, Candidates: []offer.Candidate{{InstanceType: "box", Zone: "basement"}}}
	first, _ := cloud.Launch(ctx, order)
	again, _ := cloud.Launch(ctx, order)
	market, _ := cloud.Market(ctx, nil, nil)
	fmt.Println(first.Instances[0].ID, again.Instances[0].ID, market.Types[0].Offerings[0].Unavailable)
	order.LaunchID = "b"
	refused, _ := cloud.Launch(ctx, order)
	fmt.Println(len(refused.Instances), refused.Refusals[0].Reason)
	_, _ = cloud.Terminate(ctx, []string{"box-0"})
	left, _ := cloud.Instances(ctx)
	fmt.Println(len(left))
	// Output:
	// box-0 box-0 all machines are on
	// 0 InsufficientCapacity
	// 0
}
