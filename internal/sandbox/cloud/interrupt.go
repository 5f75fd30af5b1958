package cloud

import (
	"errors"
	"fmt"
	"time"
)

// The names under which EventBridge tells of machines.
const (
	sourceEC2    = "aws.ec2"
	sourceHealth = "aws.health"

	spotInterruption        = "EC2 Spot Instance Interruption Warning"
	rebalanceRecommendation = "EC2 Instance Rebalance Recommendation"
	stateChange             = "EC2 Instance State-change Notification"
	reservationInterruption = "EC2 Capacity Reservation Instance Interruption Warning"
	healthEvent             = "AWS Health Event"
)

// enter changes a machine's state and publishes it.
func (c *Cloud) enter(m *machine, state string) {
	m.state = state
	c.publish(sourceEC2, stateChange, c.instanceARNs(m), map[string]any{"instance-id": m.id, "state": state})
}

func (c *Cloud) instanceARNs(machines ...*machine) []string {
	arns := make([]string, len(machines))
	for i, m := range machines {
		arns[i] = c.ec2ARN("instance", m.id)
	}
	return arns
}

// InterruptSpot announces that EC2 takes a spot instance back, and does so when
// the behaviour's SpotWarning is over.
func (c *Cloud) InterruptSpot(id string) error {
	return c.announce([]string{id}, func(found []*machine) error {
		m := found[0]
		if m.capacityType != capacitySpot {
			return fmt.Errorf("interrupt %s: it is not a spot instance", id)
		}
		c.publish(sourceEC2, spotInterruption, c.instanceARNs(m), map[string]any{"instance-id": id, "instance-action": "terminate"})
		c.reclaimAfter(m, c.behaviour.SpotWarning)
		return nil
	})
}

// InterruptReservation is InterruptSpot for an instance in an interruptible
// capacity reservation.
func (c *Cloud) InterruptReservation(id string) error {
	return c.announce([]string{id}, func(found []*machine) error {
		m := found[0]
		c.publish(sourceEC2, reservationInterruption, c.instanceARNs(m), map[string]any{
			"instance-id": id, "instance-action": "terminate", "azId": zoneID(m.subnet.zone),
			"instance-termination-time": c.now().Add(c.behaviour.SpotWarning).UTC().Format(time.RFC3339),
		})
		c.reclaimAfter(m, c.behaviour.SpotWarning)
		return nil
	})
}

// RecommendRebalance announces that a spot instance may be interrupted soon.
func (c *Cloud) RecommendRebalance(id string) error {
	return c.announce([]string{id}, func(found []*machine) error {
		c.publish(sourceEC2, rebalanceRecommendation, c.instanceARNs(found[0]), map[string]any{"instance-id": id})
		return nil
	})
}

// ScheduleMaintenance announces that instances will be retired in a fortnight.
func (c *Cloud) ScheduleMaintenance(ids ...string) error {
	return c.announce(ids, func(found []*machine) error {
		var affected []map[string]string
		for _, m := range found {
			affected = append(affected, map[string]string{"entityValue": m.id})
		}
		const inGMT = "Mon, 2 Jan 2006 15:04:05 GMT"
		start := c.now().UTC().AddDate(0, 0, 14)
		c.publish(sourceHealth, healthEvent, ids, map[string]any{
			"service": "EC2", "eventTypeCode": "AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED", "eventTypeCategory": "scheduledChange",
			"statusCode": "upcoming", "eventScopeCode": "ACCOUNT_SPECIFIC", "startTime": start.Format(inGMT),
			"endTime": start.Add(2 * time.Hour).Format(inGMT), "affectedEntities": affected,
		})
		return nil
	})
}

// StopInstance stops an instance, as its owner or a failed host may do.
func (c *Cloud) StopInstance(id string) error {
	return c.announce([]string{id}, func(found []*machine) error {
		m := found[0]
		if m.state != stateRunning && m.state != statePending {
			return fmt.Errorf("stop %s: it is %s", id, m.state)
		}
		c.enter(m, stateStopping)
		c.stepAfter(m, c.behaviour.ShuttingDownDelay)
		c.events.add(Event{Kind: Stopping, Instance: c.view(m)})
		return nil
	})
}

// TerminateInstance terminates an instance behind its owner's back.
func (c *Cloud) TerminateInstance(id string) error {
	return c.announce([]string{id}, func(found []*machine) error {
		c.terminate(found[0])
		return nil
	})
}

// Untag takes tags from an instance, as a person does by mistake.
func (c *Cloud) Untag(id string, keys ...string) error {
	return c.announce([]string{id}, func(found []*machine) error {
		for _, key := range keys {
			delete(found[0].tags, key)
		}
		return nil
	})
}

// announce does something to instances that are described.
func (c *Cloud) announce(ids []string, act func([]*machine) error) error {
	c.mu.Lock()
	defer c.events.deliver()
	defer c.mu.Unlock()
	c.settle()
	found, err := c.findMachines(ids)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return errors.New("no instance was named")
	}
	return act(found)
}

// Enqueue puts any text on a queue, times over.
func (c *Cloud) Enqueue(queue, body string, times int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	q, err := c.findQueue(&queue)
	if err != nil {
		return err
	}
	for range times {
		c.enqueue(q, body)
	}
	return nil
}

// ShowHiddenMessages ends the visibility timeout of everything that was received
// from a queue and not deleted.
func (c *Cloud) ShowHiddenMessages(queue string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q, err := c.findQueue(&queue); err == nil {
		for _, m := range q.messages {
			m.hidden = time.Time{}
		}
		q.wake()
	}
}

// Messages returns the bodies of all messages on a queue that have not been
// deleted, the oldest first.
func (c *Cloud) Messages(queue string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	q, err := c.findQueue(&queue)
	if err != nil {
		return nil
	}
	bodies := make([]string, len(q.messages))
	for i, m := range q.messages {
		bodies[i] = m.body
	}
	return bodies
}
