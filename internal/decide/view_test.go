package decide

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
)

func ownerReference(kind, name string, controller *bool) metav1.OwnerReference {
	return metav1.OwnerReference{Kind: kind, Name: name, UID: apitypes.UID(kind + "-" + name), Controller: controller}
}

// view renders a plan in one line: the machines by the given property with their
// pods, the nodes with the pods that they get, and the pods without a place.
func view(p Plan, property func(*Machine) string) string {
	var parts []string
	for i := range p.Machines {
		m := &p.Machines[i]
		var pods []string
		for _, pod := range m.Pods {
			pods = append(pods, pod.Name)
		}
		for _, move := range m.Moving {
			pods = append(pods, move.Pod.Name+" from "+move.From)
		}
		parts = append(parts, property(m)+"("+strings.Join(pods, " ")+")")
	}
	slices.Sort(parts)
	nodes := map[string][]string{}
	var names []string
	for _, b := range p.Bindings {
		if nodes[b.Node] == nil {
			names = append(names, b.Node)
		}
		nodes[b.Node] = append(nodes[b.Node], b.Pod.Name)
	}
	slices.Sort(names)
	for _, n := range names {
		parts = append(parts, n+"<-("+strings.Join(nodes[n], " ")+")")
	}
	var pending []string
	for _, u := range p.Unplaced {
		pending = append(pending, u.Pod.Name)
	}
	if len(pending) > 0 {
		parts = append(parts, "pending("+strings.Join(pending, " ")+")")
	}
	return strings.Join(parts, ", ")
}

func byType(m *Machine) string { return m.Chosen().InstanceType }

func byZone(m *Machine) string { return m.Chosen().Zone }

func byCapacity(m *Machine) string { return m.Chosen().CapacityType }

func byProvisioner(m *Machine) string { return m.Provisioner }

func byLabel(key string) func(*Machine) string {
	return func(m *Machine) string {
		value, ok := m.Labels[key]
		if !ok {
			return "no " + key
		}
		return key + "=" + value
	}
}

// tally counts machines by property, and the pending pods: "2 small, 1 pending".
func tally(p Plan, property func(*Machine) string) string {
	count := map[string]int{}
	for i := range p.Machines {
		count[property(&p.Machines[i])]++
	}
	return counted(count, len(p.Unplaced))
}

func counted(count map[string]int, pending int) string {
	var parts []string
	for key, n := range count {
		parts = append(parts, fmt.Sprintf("%d %s", n, key))
	}
	slices.Sort(parts)
	if pending > 0 {
		parts = append(parts, fmt.Sprintf("%d pending", pending))
	}
	return strings.Join(parts, ", ")
}

// podsBy counts the pods of planned machines by property, with those that were
// there before.
func podsBy(p Plan, property func(*Machine) string, before map[string]int) string {
	count := map[string]int{}
	maps.Copy(count, before)
	for i := range p.Machines {
		count[property(&p.Machines[i])] += len(p.Machines[i].Pods)
	}
	return counted(count, len(p.Unplaced))
}

func deletedAt() metav1.Time { return metav1.NewTime(noon) }
