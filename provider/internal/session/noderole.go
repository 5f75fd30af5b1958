package session

import (
	"context"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
)

// Profiles manages instance profiles. Errors are fs.ErrNotExist if there is no such profile, and fs.ErrExist
// if there is one already.
type Profiles interface {
	Create(context.Context, asset.Profile) (arn string, err error)
	Read(ctx context.Context, name string) (profile asset.Profile, arn string, err error)
	Update(ctx context.Context, before, now asset.Profile) error
	Delete(context.Context, asset.Profile) error
	// Holding returns the names of the profiles that contain a role, sorted.
	Holding(ctx context.Context, role string) ([]string, error)
}

// Entries manages access entries. Errors are fs.ErrNotExist if there is no such entry, and fs.ErrExist if
// there is one already.
type Entries interface {
	Create(context.Context, asset.Entry) error
	Read(ctx context.Context, cluster, principal string) (asset.Entry, error)
	Update(ctx context.Context, before, now asset.Entry) error
	Delete(ctx context.Context, cluster, principal string) error
}
