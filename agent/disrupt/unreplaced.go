package disrupt

import (
	"fmt"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// Unreplaced says of nodes why no machines are bought in their place now. If a node stays after machines have been bought
// in its place, these are paid for until they are removed as empty: only a part of them could be bought, or a node of its
// step of consolidation has changed or could not be marked. A restart forgets the attempts, which costs one more.
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
