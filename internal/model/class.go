package model

import (
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

// Class is an equivalence class: pods that cannot be told apart, so that all work is done
// once for the class.
type Class struct {
	Template *cluster.Template
	Account  *Account // of the work that it makes
	Pods     []int    // indices of the pods that need a place, ascending
	Growing  int64    // pods of owners that grow
	Nodes    []string // to be tried first

	Need      []int64
	Devices   bool // it needs one
	Places    []match.Requirements
	Prefers   []match.Preference
	Needs     match.Needs // of its volumes
	Tolerates string      // key of the tolerations
	Never     match.Miss  // why it can have no place at all
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
	b = append(b, "\x04"+TolerationKey(t.Tolerations)...)
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

// TolerationKey identifies a list of tolerations. Their order does not matter.
func TolerationKey(tolerations []corev1.Toleration) string {
	keys := make([]string, 0, len(tolerations))
	for _, t := range tolerations {
		keys = append(keys, t.Key+" "+string(t.Operator)+" "+t.Value+" "+string(t.Effect))
	}
	slices.Sort(keys)
	return strings.Join(slices.Compact(keys), ",")
}
