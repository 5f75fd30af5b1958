package topology

import (
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// taints are what a pod must tolerate of its node. Package match compares them, and
// model.Supply leaves out what is not tolerated. That PreferNoSchedule taints keep a pod
// away is the last preference that it gives up, see Groups.Read.
type taints struct{ general }

func (taints) AppendKey(b []byte, t *cluster.Template, _ match.Needs) []byte {
	return append(b, model.TolerationKey(t.Tolerations)...)
}
