package cluster

// NodeClaim is an object by which Karpenter keeps account of one machine.
type NodeClaim struct {
	Name, UID string
	// Pool is its NodePool; empty for one that stands alone.
	Pool string
	// Node is the name of its node; empty until that has registered.
	Node string
	// ProviderID is that of its machine; empty until one was bought.
	ProviderID string
}
