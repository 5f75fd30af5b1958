package model

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
)

// Class is an equivalence class: pods that placement does not distinguish, so that all work is done
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
	Prefers   []match.PreferredTerm
	Needs     match.Needs // of its volumes
	Tolerates string      // key of the tolerations
	Never     match.Miss  // why it can have no place at all
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
