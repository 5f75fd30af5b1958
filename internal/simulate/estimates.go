package simulate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Estimates are the warnings about what a plan cannot know: prices that were not published for
// the region, so that the total is as good as the estimate, and how many volumes its machines can attach.
func Estimates(plan *decide.Plan, snapshot *cluster.Snapshot, region *offer.Region) []string {
	if region == nil {
		return nil // nothing is sold there
	}
	return append(prices(plan, region), volumes(plan, snapshot)...)
}

// mostVolumes is how many volumes an instance can attach that has 28 attachments, as many have, besides its root
// volume and a network interface.
const mostVolumes = 26

// volumes says which machine gets the most volumes, where many instance types could not attach them.
func volumes(plan *decide.Plan, snapshot *cluster.Snapshot) []string {
	claiming := map[cluster.PodKey]*cluster.Template{}
	for p := range snapshot.EachPod() {
		if len(p.Template.Claims) > 0 {
			claiming[p.PodKey] = p.Template
		}
	}
	if len(claiming) == 0 {
		return nil
	}
	all, beyond, most, worst := match.NewVolumes(snapshot), 0, 0, (*decide.Machine)(nil)
	for i := range plan.Machines {
		n := attached(&plan.Machines[i], claiming, all)
		if n > mostVolumes {
			beyond++
		}
		if n > most {
			most, worst = n, &plan.Machines[i]
		}
	}
	if beyond == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s may get more volumes than can be attached, such as %s (%s) with %d: many instance types attach about %d of %s. "+
		"How many is known once a node is up; pods that do not fit get another machine then, which is not in the price",
		explain.Plural(beyond, "machine"), worst.Name, worst.Chosen().InstanceType, most, mostVolumes, cluster.EBSDriver)}
}

// attached counts the volumes of EBS that a machine has to attach, those that pods share once.
func attached(m *decide.Machine, claiming map[cluster.PodKey]*cluster.Template, all *match.Volumes) int {
	n, shared := 0, map[string]bool{}
	for _, pod := range m.AllPods() {
		if claiming[pod] == nil {
			continue
		}
		needs := all.Attached(claiming[pod])
		n += int(needs.Attach[cluster.EBSDriver])
		for _, v := range needs.Shared {
			if v.Driver == cluster.EBSDriver {
				shared[v.Volume] = true
			}
		}
	}
	return n + len(shared)
}

func prices(plan *decide.Plan, region *offer.Region) []string {
	estimated := map[string]bool{}
	for i := range plan.Machines {
		if name := plan.Machines[i].Chosen().InstanceType; region.Sales[name].Estimate {
			estimated[name] = true
		}
	}
	if len(estimated) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("the catalogue has no published price for %s here: the plan's price is an estimate",
		strings.Join(slices.Sorted(maps.Keys(estimated)), ", "))}
}
