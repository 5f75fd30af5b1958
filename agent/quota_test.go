package agent

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
)

// A quota that is used up is a condition of the Provisioner, which goes when
// machines are sold again.
func TestQuotaCondition(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default"))
		r.start(Options{}, nil)
		r.Quota(api.CapacityOnDemand, 1)
		r.Deploy(sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("900m", "900Mi")})
		r.until("the workload runs", r.allRun("web", 1))
		exceeded := func() bool {
			return meta.IsStatusConditionTrue(r.Provisioner("default").Status.Conditions, conditionQuota)
		}
		r.never(time.Minute, "a quota is reported although nothing was refused", exceeded)
		r.Deploy(sim.Workload{Name: "more", Replicas: 20, Spec: sim.Requests("900m", "900Mi")})
		r.until("the quota is reported", exceeded)
		c := meta.FindStatusCondition(r.Provisioner("default").Status.Conditions, conditionQuota)
		if !strings.Contains(c.Message, api.CapacityOnDemand) || !strings.Contains(c.Message, "nothing is left") {
			t.Errorf("the condition names neither the capacity type nor the cloud's words: %s", c.Message)
		}
		r.never(time.Hour, "the report is gone while pods wait", func() bool { return !exceeded() })
		r.UnlimitedCapacity()
		r.until("the workload runs", r.allRun("more", 20))
		r.until("the report is gone", func() bool { return !exceeded() })
	})
}
