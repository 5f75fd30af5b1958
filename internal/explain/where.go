package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxPlaces is how many lines a text spends on where pods go.
const maxPlaces = 40

// place is machines or nodes that get the same pods.
type place struct {
	names []string
	text  string
}

// Where says for each machine, and for each node that gets pods, which these are
// and why the machine is what it is. Machines that are alike share an item.
func (r *Report) Where() []Line {
	var list []place
	index := map[string]int{}
	add := func(name, text string) {
		i, ok := index[text]
		if !ok {
			i = len(list)
			index[text] = i
			list = append(list, place{text: text})
		}
		list[i].names = append(list[i].names, name)
	}
	for i := range r.Machines {
		add(r.Machines[i].Name, r.Machines[i].holds())
	}
	for _, n := range r.nodesThatGet() {
		add(n.Name, n.Text)
	}
	var out []Line
	for i, p := range list {
		if i == maxPlaces {
			return append(out, Line{"…", fmt.Sprintf("and %s more; the JSON form lists all", Plural(len(list)-i, "place"))})
		}
		out = append(out, Line{p.name(), p.text})
	}
	return out
}

// name of the machines: the first, and how many more.
func (p *place) name() string {
	if len(p.names) == 1 {
		return p.names[0]
	}
	return fmt.Sprintf("%s and %d more", p.names[0], len(p.names)-1)
}

// holds says which pods a machine is for, and why it is of its type.
func (m *Machine) holds() string {
	moving := map[string]int{}
	for _, move := range m.Moving {
		moving[move.workload+" from "+move.From]++
	}
	text := strings.Join(append(counted(m.Workloads), counted(moving)...), ", ")
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
		parts := counted(pods[name])
		if kept := counted(room[name]); len(kept) > 0 {
			parts = append(parts, "room for "+strings.Join(kept, ", "))
		}
		out = append(out, Line{name, strings.Join(parts, ", ")})
	}
	return out
}

// counted writes numbers of things: "shop/web × 3", "shop/api".
func counted(count map[string]int) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(count)) {
		if n := count[name]; n > 1 {
			name = fmt.Sprintf("%s × %d", name, n)
		}
		out = append(out, name)
	}
	return out
}
