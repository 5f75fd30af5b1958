package topology

import (
	"strconv"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
)

// resources are what a pod requests. They are amounts (model.Space) that must fit into what
// a node or an offering has left (model.Fits).
type resources struct{ general }

func (resources) AppendKey(b []byte, t *cluster.Template, _ match.Needs) []byte {
	for _, name := range t.Requests.Names() {
		b = strconv.AppendInt(append(append(append(b, 0), name...), '='), t.Requests[name], 10)
	}
	return b
}
