package assign

import "github.com/packhorse-io/terraform-provider-packhorse/internal/topology"

// Node is a node that exists or will, with the room that is left.
type Node struct {
	*topology.NodeView
	Free []int64
}
