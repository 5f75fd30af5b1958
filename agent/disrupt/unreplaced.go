package disrupt

import (
	"fmt"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/pace"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// If a node stays after machines have been bought in its place, these are paid for until they are removed as empty: only a
// part of them could be bought, or a node of its step of consolidation has changed or could not be marked. The next
// attempt is made after 10 minutes, then after twice as long each time, up to 6 hours.
const (
	firstPause   = 10 * time.Minute
	longestPause = 6 * time.Hour
)

// NewUnfinished returns what Disrupter.Unfinished is at first. A restart forgets the attempts, which costs one more.
func NewUnfinished() *pace.Retries { return pace.NewRetries(firstPause, longestPause) }

// Unreplaced says of nodes why no machines are bought in their place now.
func (d *Disrupter) Unreplaced(s *cluster.Snapshot) map[string]string {
	out, there, now := map[string]string{}, map[string]bool{}, time.Now()
	for n := range s.EachNode() {
		id := n.Identity()
		there[id] = true
		if at := d.Unfinished.Next(id); now.Before(at) {
			out[n.Name] = fmt.Sprintf("machines were bought in its place, but not all that it needs, or its step could not be carried out; next attempt at %s", amount.Clock(at))
		}
	}
	d.Unfinished.Resumes(func(id string) bool { return there[id] })
	return out
}
