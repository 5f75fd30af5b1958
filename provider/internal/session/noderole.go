package session

import "context"

// Profile is the declared state of an instance profile.
type Profile struct {
	Name string
	Path string
	// Role is the name of the role that it gives to machines, empty for none.
	Role string
	Tags map[string]string
}

// Profiles keeps instance profiles. One that is not there is fs.ErrNotExist, one
// that is there already fs.ErrExist.
type Profiles interface {
	Create(context.Context, Profile) (arn string, err error)
	Read(ctx context.Context, name string) (profile Profile, arn string, err error)
	Update(ctx context.Context, before, now Profile) error
	Delete(context.Context, Profile) error
	// Holding returns the names of the profiles that hold a role, in order.
	Holding(ctx context.Context, role string) ([]string, error)
}

// Entry is the declared state of an access entry of an EKS cluster.
type Entry struct {
	Cluster   string
	Principal string // ARN of the role
	Type      string
	Tags      map[string]string
}

// Entries keeps access entries. One that is not there is fs.ErrNotExist, one that
// is there already fs.ErrExist.
type Entries interface {
	Create(context.Context, Entry) error
	Read(ctx context.Context, cluster, principal string) (Entry, error)
	Update(ctx context.Context, before, now Entry) error
	Delete(ctx context.Context, cluster, principal string) error
}
