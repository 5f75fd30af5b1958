package sqs

import "time"

// Enqueue puts any text on a queue, times over.
func (c *SQS) Enqueue(queue, body string, times int) error {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	q, err := c.findQueue(&queue)
	if err != nil {
		return err
	}
	for range times {
		c.Put(q, body)
	}
	return nil
}

// ShowHiddenMessages ends the visibility timeout of everything that was received
// from a queue and not deleted.
func (c *SQS) ShowHiddenMessages(queue string) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	if q, err := c.findQueue(&queue); err == nil {
		for _, m := range q.messages {
			m.hidden = time.Time{}
		}
		q.wake()
	}
}

// Messages returns the bodies of all messages on a queue that have not been
// deleted, the oldest first.
func (c *SQS) Messages(queue string) []string {
	c.Mu.Lock()
	defer c.Mu.Unlock()
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
