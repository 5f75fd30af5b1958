package session

import (
	"context"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
)

// Profiles keeps instance profiles. One that is not there is fs.ErrNotExist, one
// that is there already fs.ErrExist.
type Profiles interface {
	Create(context.Context, asset.Profile) (arn string, err error)
	Read(ctx context.Context, name string) (profile asset.Profile, arn string, err error)
	Update(ctx context.Context, before, now asset.Profile) error
	Delete(context.Context, asset.Profile) error
	// Holding returns the names of the profiles that hold a role, in order.
	Holding(ctx context.Context, role string) ([]string, error)
}

// Entries keeps access entries. One that is not there is fs.ErrNotExist, one that
// is there already fs.ErrExist.
type Entries interface {
	Create(context.Context, asset.Entry) error
	Read(ctx context.Context, cluster, principal string) (asset.Entry, error)
	Update(ctx context.Context, before, now asset.Entry) error
	Delete(ctx context.Context, cluster, principal string) error
}
