package inventory

import (
	"errors"
	"fmt"
	"sync"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// nodeless are the instances that a comparison leaves without their Node objects. There are three cases. (1) The API
// server rejects the Node object: the instance is assumed to be a node with its size and room, and only its own
// Provisioner stops buying. (2) Another machine's Node object still has the name: the instance is assumed to be a node
// without room. (3) It is not known what size or name the instance has, or whether it has a Node object, or this object is
// being deleted: no Provisioner buys anything, because the instance cannot be counted and its pods would get a second
// machine.
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
	return fmt.Sprintf("it has %s without a Node object, such as %s, and nothing is bought until there is none. %s: %s", explain.Plural(r.count, "instance"), r.example, advice, r.err)
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
