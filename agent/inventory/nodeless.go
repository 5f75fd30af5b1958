package inventory

import (
	"errors"
	"fmt"
	"sync"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// nodeless are the instances that a comparison leaves without their Node objects. Those whose objects
// cannot be created are assumed as nodes, with their size and room, so that they only keep their
// Provisioners from buying more of them. Those whose name another machine's Node object still has are assumed
// without room. Those of which the size or the name is not known, or whose own object is being deleted, keep all
// from buying: they count nowhere, and others would be bought for the same pods.
type nodeless struct {
	mu      sync.Mutex
	unknown []string           // instances
	refused map[string]refusal // by Provisioner
}

// refusal is why Node objects of a Provisioner cannot be created.
type refusal struct {
	count   int
	example string // an instance
	err     error
}

func (r refusal) words() string {
	advice := "Allow the agent to create Node objects"
	if errors.Is(r.err, errTaken) {
		advice = "Remove what holds the other Node object"
	}
	return fmt.Sprintf("%d of its instances have no Node object, such as %s, and nothing is bought until they have. %s: %s", r.count, r.example, advice, r.err)
}

// note records how an adoption went.
func (n *nodeless) note(i offer.Instance, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case err == nil:
	case errors.Is(err, errUnknown), errors.Is(err, cluster.ErrStale):
		n.unknown = append(n.unknown, i.ID)
	default:
		if n.refused == nil {
			n.refused = map[string]refusal{}
		}
		r := n.refused[i.Provisioner]
		if r.count == 0 || i.ID < r.example {
			r.example, r.err = i.ID, err
		}
		r.count++
		n.refused[i.Provisioner] = r
	}
}
