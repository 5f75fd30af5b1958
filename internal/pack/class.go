package pack

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
)

// class is a set of pods that cannot be told apart: all work is done once for
// the class.
type class struct {
	template *cluster.Template
	account  *account // of the work that it makes
	pods     []int    // indices of Problem.Pods; the first left of them are not placed yet
	left     int64
	growing  int64    // pods of owners that grow
	booked   int64    // of those left, how many lots of this round are for
	held     int64    // of those left, how many are not to be placed yet
	urgent   bool     // others have left it no place
	tookBack bool     // pods were counted in domains where they then got no machine
	refusals int      // how often pods had to leave their places again
	nodes    []string // to be tried first

	need      []int64
	devices   bool    // may have types with devices: it needs one, or limits leave no others
	size      float64 // for big-first orders, relative to other classes
	places    []match.Requirements
	prefers   []match.Preference
	needs     match.Needs // of its volumes
	tolerates string      // key of the tolerations

	drops  []drop // preferences, the least important first
	level  level
	probes int // how often it was asked what can be met, see maxProbes

	host     []touch // constraints by node
	follows  []bond  // required affinity by node
	apart    []hostSpread
	exact    []touch // constraints by node, where spreads bind only pods that come later
	spreads  []spread
	repels   []bond // anti-affinity by domain
	attracts []bond // affinity by domain
	member   []int  // domain groups that the class belongs to
	soft     []softTouch
	keys     []string // topology keys, other than the host name, that matter to it

	never   match.Miss // why it can have no place at all
	limited bool       // a limit kept it from having one
}

// drop is a preference that can be given up.
type drop struct {
	id     int // in the order in which the pod's spec lists them
	text   string
	weight int32
	prefer int  // index in class.prefers, -1 if it is no node affinity
	taints bool // it is about PreferNoSchedule taints
}

// softTouch is a preference by node. It never makes machines necessary; where it
// is not met that is noted.
type softTouch struct {
	touch
	text string
	want bool // the group's pods should be there, rather than not
}

// requires returns what a level requires of the node's labels, and whether
// PreferNoSchedule taints keep the class away.
func (c *class) requires(l level) (match.Requirements, bool) {
	r, honour := c.places[l.place], false
	for i, d := range c.drops {
		switch {
		case c.gaveUp(l.givenUp, i):
		case d.prefer >= 0:
			r = r.And(c.prefers[d.prefer].Requirements)
		case d.taints:
			honour = true
		}
	}
	return r, honour
}

// givenUp lists what a level gives up.
func (c *class) givenUp(l level) []string {
	var out []string
	for i, d := range c.drops {
		if c.gaveUp(l.givenUp, i) {
			out = append(out, d.text)
		}
	}
	return out
}

// appendSignature adds what identifies all that can be told of a template apart from
// labels that no selector looks at and the names of claims that no other pod uses.
func appendSignature(b []byte, t *cluster.Template, needs match.Needs, labelKeys []string) []byte {
	b = append(b, t.Namespace...)
	for _, name := range t.Requests.Names() {
		b = strconv.AppendInt(append(append(append(b, 0), name...), '='), t.Requests[name], 10)
	}
	for _, key := range slices.Sorted(maps.Keys(t.NodeSelector)) {
		b = append(b, "\x01"+key+"="+t.NodeSelector[key]...)
	}
	if t.Affinity != nil {
		encoded, err := t.Affinity.Marshal()
		if err != nil {
			panic("encode affinity: " + err.Error()) // plain data always encodes
		}
		b = append(append(b, 2), encoded...)
	}
	for i := range t.Spread {
		encoded, err := t.Spread[i].Marshal()
		if err != nil {
			panic("encode topology spread: " + err.Error())
		}
		b = append(binary.AppendUvarint(append(b, 3), uint64(len(encoded))), encoded...)
	}
	b = append(b, "\x04"+tolerationKey(t.Tolerations)...)
	for _, p := range t.HostPorts {
		b = fmt.Appendf(b, "\x05%s/%s/%d", p.IP, p.Protocol, p.Port)
	}
	for _, place := range needs.Places {
		b = append(b, "\x06"+place.String()...)
	}
	for _, driver := range slices.Sorted(maps.Keys(needs.Attach)) {
		b = fmt.Appendf(b, "\x07%s=%d", driver, needs.Attach[driver])
	}
	for _, v := range needs.Shared {
		b = append(b, "\x07"+v.Volume...)
	}
	for _, key := range labelKeys {
		if value, ok := t.Labels[key]; ok {
			b = append(b, "\x08"+key+"="+value...)
		}
	}
	b = strconv.AppendInt(append(b, 9), int64(t.Priority), 10)
	return append(append(b, ' '), t.Unsupported...)
}

// tolerationKey identifies a list of tolerations. Their order does not matter.
func tolerationKey(tolerations []corev1.Toleration) string {
	keys := make([]string, 0, len(tolerations))
	for _, t := range tolerations {
		keys = append(keys, t.Key+" "+string(t.Operator)+" "+t.Value+" "+string(t.Effect))
	}
	slices.Sort(keys)
	return strings.Join(slices.Compact(keys), ",")
}

// sortClasses brings the classes into the order in which they are placed: higher
// priority first, then the larger, then by the name of the first pod.
func sortClasses(classes []*class) {
	slices.SortStableFunc(classes, func(a, b *class) int {
		return cmp.Or(
			cmp.Compare(b.template.Priority, a.template.Priority),
			cmp.Compare(b.size, a.size),
			cmp.Compare(a.pods[0], b.pods[0]),
		)
	})
}
