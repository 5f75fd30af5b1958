package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

// Reasons folds unplaced pods by reason, in order of first appearance.
func (r *Report) Reasons() []Reason {
	var out reasons
	for _, u := range r.Unplaced {
		who := u.Pod
		if u.From != "" {
			who += " from " + u.From
		}
		out.add(u.Reason, who)
	}
	return out.list
}

// GivenUp folds the preferences that are not met in the same way.
func (r *Report) GivenUp() []Reason {
	var out reasons
	for _, b := range r.Bindings {
		for _, text := range b.GivenUp {
			out.add(text, b.Pod)
		}
	}
	for _, m := range r.Machines {
		for _, pod := range slices.Sorted(maps.Keys(m.GivenUp)) {
			for _, text := range m.GivenUp[pod] {
				out.add(text, pod)
			}
		}
	}
	return out.list
}

// LeftOut completes a sentence that begins with a DaemonSet.
func LeftOut(l *decide.LeftOut) string {
	who := "provisioner " + l.Provisioners[0]
	if len(l.Provisioners) > 1 {
		who = "the provisioners " + strings.Join(l.Provisioners, ", ")
	}
	return fmt.Sprintf("fits on no machine of %s, where no room is kept for it: %s", who, l.Reason)
}

// leftOut notes the DaemonSets that get no pods on new machines.
func leftOut(plan *decide.Plan) []string {
	var out []string
	for i := range plan.LeftOut {
		l := &plan.LeftOut[i]
		out = append(out, fmt.Sprintf("DaemonSet %s/%s %s", l.DaemonSet.Namespace, l.DaemonSet.Name, LeftOut(l)))
	}
	return out
}

// reasons folds pods, or nodes, by what holds for them.
type reasons struct {
	list  []Reason
	index map[string]int
}

func (r *reasons) add(text, name string) {
	i, ok := r.index[text]
	if !ok {
		if r.index == nil {
			r.index = map[string]int{}
		}
		i = len(r.list)
		r.index[text] = i
		r.list = append(r.list, Reason{Text: text})
	}
	r.list[i].Names = append(r.list[i].Names, name)
}

// Reason is a text with the pods, or nodes, that it is true of.
type Reason struct {
	Text  string
	Names []string
}

// Who names them: the first and how many more.
func (r *Reason) Who() string {
	if len(r.Names) == 1 {
		return r.Names[0]
	}
	return fmt.Sprintf("%s and %d more", r.Names[0], len(r.Names)-1)
}
