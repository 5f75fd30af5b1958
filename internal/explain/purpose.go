package explain

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

// maxPurposes is how many workloads a sentence names.
const maxPurposes = 3

// Purpose says in a line what a machine is bought for, and why it is of its type.
// Where another type is bought than was chosen, bought names it.
func Purpose(m *decide.Machine, snapshot *cluster.Snapshot, bought string) string {
	p := pods{snapshot}
	moving := make([]cluster.PodKey, 0, len(m.Moving))
	for _, move := range m.Moving {
		moving = append(moving, move.Pod)
	}
	var parts []string
	if len(m.Pods) > 0 {
		parts = append(parts, fmt.Sprintf("for %s (%s)", Plural(len(m.Pods), "pod"), p.few(m.Pods)))
	}
	if len(moving) > 0 {
		parts = append(parts, fmt.Sprintf("for %s from nodes that are being removed (%s)", Plural(len(moving), "pod"), p.few(moving)))
	}
	text := strings.Join(parts, " and ")
	if chosen := m.Chosen().InstanceType; bought != chosen {
		return fmt.Sprintf("%s; bought instead of %s, which was refused", text, chosen)
	}
	return text + "; " + why(m)
}

// few names the workloads of pods, the largest first, as far as a sentence holds them.
func (p pods) few(keys []cluster.PodKey) string {
	count := p.count(keys)
	names := counted(count, func(a, b string) int { return cmp.Or(count[b]-count[a], strings.Compare(a, b)) })
	if len(names) > maxPurposes {
		names = append(names[:maxPurposes], fmt.Sprintf("and %d more", len(names)-maxPurposes))
	}
	return strings.Join(names, ", ")
}
