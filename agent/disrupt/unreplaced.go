package disrupt

import (
	"fmt"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/pace"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// If only a part of the machines can be bought that would replace a node, those that were bought are paid for until they
// are removed as empty. The next attempt is made after 10 minutes, then after twice as long each time, up to 6 hours.
const (
	firstPause   = 10 * time.Minute
	longestPause = 6 * time.Hour
)

// NewUnbought returns what Disrupter.Unbought is at first. A restart forgets the attempts, which costs one more.
func NewUnbought() *pace.Retries { return pace.NewRetries(firstPause, longestPause) }

// Unreplaced says of nodes why no machines are bought in their place for consolidation now.
func (d *Disrupter) Unreplaced(s *cluster.Snapshot) map[string]string {
	out, there, now := map[string]string{}, map[string]bool{}, time.Now()
	for n := range s.EachNode() {
		id := n.Identity()
		there[id] = true
		if at := d.Unbought.Next(id); now.Before(at) {
			out[n.Name] = fmt.Sprintf("not all machines that would replace it could be bought; next attempt at %s", amount.Clock(at))
		}
	}
	d.Unbought.Resumes(func(id string) bool { return there[id] })
	return out
}
