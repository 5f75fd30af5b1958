package topology

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
)

// hostPorts are the ports of the node that a pod takes: of those that conflict with one a
// node has one pod.
type hostPorts struct{ general }

func (hostPorts) AppendKey(b []byte, t *cluster.Template, _ match.Needs) []byte {
	for _, p := range t.HostPorts {
		b = fmt.Appendf(b, "%s/%s/%d,", p.IP, p.Protocol, p.Port)
	}
	return b
}

func (hostPorts) Steps(r *Rules) int { return stepsToRead * len(r.Template.HostPorts) }

func (hostPorts) Read(gs *Groups, r *Rules) error {
	for _, p := range r.Template.HostPorts {
		r.add(&hostPort{rule{group: gs.addPort(p), pref: -1}})
	}
	return nil
}

func (hostPorts) ReadResident(gs *Groups, t *cluster.Template, r *Resident) {
	for _, p := range t.HostPorts {
		r.PerNode = addPerNode(r.PerNode, PerNode{Group: gs.addPort(p), Cap: 1, Entry: NoCap})
	}
}

func (hostPorts) Company(t *cluster.Template) (perNode int, byDomain bool) {
	if len(t.HostPorts) > 0 {
		return 1, false
	}
	return NoCap, false
}

type hostPort struct{ rule }

func (c *hostPort) perNode() []PerNode { return []PerNode{{Group: c.group, Cap: 1, Entry: NoCap}} }

// addPort returns the group of the pods that take a port which conflicts with one.
func (gs *Groups) addPort(of cluster.HostPort) int {
	return gs.add(fmt.Sprintf("port %s %s %d", of.IP, of.Protocol, of.Port), &Group{Key: corev1.LabelHostname, ofNode: true, pods: func(t *cluster.Template) bool {
		return slices.ContainsFunc(t.HostPorts, func(p cluster.HostPort) bool { return conflict(p, of) })
	}})
}

func conflict(a, b cluster.HostPort) bool {
	return a.Port == b.Port && a.Protocol == b.Protocol && (a.IP == b.IP || anyAddress(a.IP) || anyAddress(b.IP))
}

func anyAddress(ip string) bool { return ip == "" || ip == "0.0.0.0" || ip == "::" }
