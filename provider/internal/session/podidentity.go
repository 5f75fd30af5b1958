package session

import (
	"context"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
)

// Association is the declared state of an EKS pod identity association: the pods
// of the ServiceAccount get the role.
type Association struct {
	Cluster string
	Account policy.ServiceAccount
	Role    string // ARN
	Tags    map[string]string
}

// Associations keeps pod identity associations of EKS clusters.
type Associations interface {
	// Find returns the id of the association, empty if there is none with the role.
	Find(context.Context, Association) (id string, err error)
	// Ensure makes the association or retags it, from the tags that it had before.
	// That the pods get another role is an error.
	Ensure(ctx context.Context, before map[string]string, wanted Association) (id string, err error)
	Delete(context.Context, Association) error
}
