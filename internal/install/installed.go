package install

import "errors"

// ErrNoAgent says that nobody is there to drain nodes and give their machines back.
var ErrNoAgent = errors.New("no agent is running that could drain them")

// ErrTerminating says that a namespace is empty, and that the cluster deletes it once it can.
var ErrTerminating = errors.New("it is empty, and is deleted once all APIs of the cluster respond")

// Status is how an installation is doing.
type Status struct {
	// Leader is the name of the pod that leads, empty if none does.
	Leader string
	// ImageDigest is that of the leader's image, such as sha256:…, empty if the
	// node does not say.
	ImageDigest string
	// Definitions maps the names of the custom resources' definitions to the
	// versions in which objects may be stored.
	Definitions map[string][]string
	// Waiting says what is missing until it is complete, empty if nothing is.
	Waiting string
	// Troubles are what the pods say that are not up, and why pods are refused.
	Troubles []string
}

// Holdings are the custom resources of the installation's definitions, whoever has declared
// them, and the nodes that agents have bought or taken over, also those of NodePools.
type Holdings struct {
	Objects []Object // Provisioners and then node profiles
	Nodes   []Node   // in the order of their names
}

// Object is a Provisioner or a node profile.
type Object struct {
	Kind, Name string
	// Leaving says that it is being deleted.
	Leaving bool
}

// Node is a node that an agent has bought or taken over.
type Node struct {
	Name, Instance string
	Provisioner    string // the Provisioner or NodePool that it belongs to
	NodePool       bool   // it belongs to a NodePool
	// Leaving says that it is being deleted.
	Leaving bool
}
