package assign

import "github.com/packhorse-io/terraform-provider-packhorse/internal/topology"

// Node is a node that exists or will, with the room that is left.
type Node struct {
	*topology.NodeView
	Free []int64
}

// CmpBool puts false before true.
func CmpBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
