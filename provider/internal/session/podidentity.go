package session

import (
	"context"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
)

// Associations manages pod identity associations of EKS clusters.
type Associations interface {
	// Find returns the id of the association, empty if there is none with the role.
	Find(context.Context, asset.Association) (id string, err error)
	// Ensure creates the association, or changes its tags from those before. It is an error if the
	// pods get another role.
	Ensure(ctx context.Context, before map[string]string, wanted asset.Association) (id string, err error)
	Delete(context.Context, asset.Association) error
}
