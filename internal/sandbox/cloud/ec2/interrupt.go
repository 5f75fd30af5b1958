package ec2

import (
	"errors"
	"fmt"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2/catalogue"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2/resource"
)

// The names under which EventBridge tells of machines.
const (
	SourceEC2    = "aws.ec2"
	sourceHealth = "aws.health"

	spotInterruption        = "EC2 Spot Instance Interruption Warning"
	rebalanceRecommendation = "EC2 Instance Rebalance Recommendation"
	StateChange             = "EC2 Instance State-change Notification"
	reservationInterruption = "EC2 Capacity Reservation Instance Interruption Warning"
	healthEvent             = "AWS Health Event"
)

// enter changes a machine's state and publishes it.
func (c *EC2) enter(m *Machine, state string) {
	m.state = state
	c.events.Publish(SourceEC2, StateChange, c.instanceARNs(m), map[string]any{"instance-id": m.id, "state": state})
}

func (c *EC2) instanceARNs(machines ...*Machine) []string {
	arns := make([]string, len(machines))
	for i, m := range machines {
		arns[i] = resource.ARN(c.Account, "instance", m.id)
	}
	return arns
}

// InterruptSpot announces that EC2 takes a spot instance back, and does so when
// the behaviour's SpotWarning is over.
func (c *EC2) InterruptSpot(id string) error {
	return c.announce([]string{id}, func(found []*Machine) error {
		m := found[0]
		if m.capacityType != catalogue.Spot {
			return fmt.Errorf("interrupt %s: it is not a spot instance", id)
		}
		c.events.Publish(SourceEC2, spotInterruption, c.instanceARNs(m), map[string]any{"instance-id": id, "instance-action": "terminate"})
		c.reclaimAfter(m, c.Behaves.SpotWarning)
		return nil
	})
}

// InterruptReservation is InterruptSpot for an instance in an interruptible
// capacity reservation.
func (c *EC2) InterruptReservation(id string) error {
	return c.announce([]string{id}, func(found []*Machine) error {
		m := found[0]
		c.events.Publish(SourceEC2, reservationInterruption, c.instanceARNs(m), map[string]any{
			"instance-id": id, "instance-action": "terminate", "azId": account.ZoneID(m.subnet.Zone),
			"instance-termination-time": c.Now().Add(c.Behaves.SpotWarning).UTC().Format(time.RFC3339),
		})
		c.reclaimAfter(m, c.Behaves.SpotWarning)
		return nil
	})
}

// RecommendRebalance announces that a spot instance may be interrupted soon.
func (c *EC2) RecommendRebalance(id string) error {
	return c.announce([]string{id}, func(found []*Machine) error {
		c.events.Publish(SourceEC2, rebalanceRecommendation, c.instanceARNs(found[0]), map[string]any{"instance-id": id})
		return nil
	})
}

// ScheduleMaintenance announces that instances will be retired in a fortnight.
func (c *EC2) ScheduleMaintenance(ids ...string) error {
	return c.announce(ids, func(found []*Machine) error {
		var affected []map[string]string
		for _, m := range found {
			affected = append(affected, map[string]string{"entityValue": m.id})
		}
		const inGMT = "Mon, 2 Jan 2006 15:04:05 GMT"
		start := c.Now().UTC().AddDate(0, 0, 14)
		c.events.Publish(sourceHealth, healthEvent, ids, map[string]any{
			"service": "EC2", "eventTypeCode": "AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED", "eventTypeCategory": "scheduledChange",
			"statusCode": "upcoming", "eventScopeCode": "ACCOUNT_SPECIFIC", "startTime": start.Format(inGMT),
			"endTime": start.Add(2 * time.Hour).Format(inGMT), "affectedEntities": affected,
		})
		return nil
	})
}

// StopInstance stops an instance, as its owner or a failed host may do.
func (c *EC2) StopInstance(id string) error {
	return c.announce([]string{id}, func(found []*Machine) error {
		m := found[0]
		if m.state != stateRunning && m.state != statePending {
			return fmt.Errorf("stop %s: it is %s", id, m.state)
		}
		c.enter(m, stateStopping)
		c.stepAfter(m, c.Behaves.ShuttingDownDelay)
		c.Events.add(Event{Kind: Stopping, Instance: c.view(m)})
		return nil
	})
}

// TerminateInstance terminates an instance behind its owner's back.
func (c *EC2) TerminateInstance(id string) error {
	return c.announce([]string{id}, func(found []*Machine) error {
		c.terminate(found[0])
		return nil
	})
}

// Untag takes tags from an instance, as a person does by mistake.
func (c *EC2) Untag(id string, keys ...string) error {
	return c.announce([]string{id}, func(found []*Machine) error {
		for _, key := range keys {
			delete(found[0].tags, key)
		}
		return nil
	})
}

// announce does something to instances that are described.
func (c *EC2) announce(ids []string, act func([]*Machine) error) error {
	c.Mu.Lock()
	defer c.Events.Deliver()
	defer c.Mu.Unlock()
	c.Settle()
	found, err := c.findMachines(ids)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return errors.New("no instance was named")
	}
	return act(found)
}
