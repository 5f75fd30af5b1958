package session

import (
	"context"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
)

// Associations keeps pod identity associations of EKS clusters.
type Associations interface {
	// Find returns the id of the association, empty if there is none with the role.
	Find(context.Context, asset.Association) (id string, err error)
	// Ensure makes the association or retags it, from the tags that it had before.
	// That the pods get another role is an error.
	Ensure(ctx context.Context, before map[string]string, wanted asset.Association) (id string, err error)
	Delete(context.Context, asset.Association) error
}
