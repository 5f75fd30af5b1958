package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxPlaces is how many lines a text spends on where pods go.
const maxPlaces = 40

// Where says for each machine, and for each node that gets pods, which these are
// and why the machine is what it is. Machines that are alike share an item.
func (r *Report) Where() []Line {
	var places reasons
	for i := range r.Machines {
		places.add(r.Machines[i].holds(), r.Machines[i].Name)
	}
	for _, n := range r.nodesThatGet() {
		places.add(n.Text, n.Name)
	}
	out := items(places.list[:min(len(places.list), maxPlaces)])
	if more := len(places.list) - maxPlaces; more > 0 {
		out = append(out, Line{"…", fmt.Sprintf("and %s more; the JSON form lists all", Plural(more, "place"))})
	}
	return out
}

// holds says which pods a machine is for, and why it is of its type.
func (m *Machine) holds() string {
	moving := map[string]int{}
	for _, move := range m.Moving {
		moving[move.workload+" from "+move.From]++
	}
	text := strings.Join(append(counted(m.Workloads, strings.Compare), counted(moving, strings.Compare)...), ", ")
	text = fmt.Sprintf("%s on %s in %s", text, m.InstanceType, m.Zone)
	if labels := labelList(m.Labels); labels != "" {
		text += " with " + labels
	}
	return text + ", " + m.Why
}

func labelList(labels map[string]string) string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		out = append(out, key+"="+labels[key])
	}
	return strings.Join(out, " and ")
}

// nodesThatGet says which pods each node gets.
func (r *Report) nodesThatGet() []Line {
	pods, room := map[string]map[string]int{}, map[string]map[string]int{}
	names := map[string]bool{}
	for _, b := range r.Bindings {
		to, what := pods, b.workload
		if b.From != "" {
			to, what = room, b.workload+" from "+b.From
		}
		if to[b.Node] == nil {
			to[b.Node] = map[string]int{}
		}
		to[b.Node][what]++
		names[b.Node] = true
	}
	var out []Line
	for _, name := range slices.Sorted(maps.Keys(names)) {
		parts := counted(pods[name], strings.Compare)
		if kept := counted(room[name], strings.Compare); len(kept) > 0 {
			parts = append(parts, "room for "+strings.Join(kept, ", "))
		}
		out = append(out, Line{name, strings.Join(parts, ", ")})
	}
	return out
}

// counted writes numbers of things in an order of their names: "shop/web × 3", "shop/api".
func counted(count map[string]int, order func(a, b string) int) []string {
	var out []string
	for _, name := range slices.SortedFunc(maps.Keys(count), order) {
		if n := count[name]; n > 1 {
			name = fmt.Sprintf("%s × %d", name, n)
		}
		out = append(out, name)
	}
	return out
}
