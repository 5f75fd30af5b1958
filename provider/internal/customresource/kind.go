// Package customresource is the resource that stands for one custom resource in the
// cluster. A Kind says what is particular to Provisioners or node profiles.
package customresource

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/wire"
)

// Kind is what tells one resource that is a custom resource from another. What
// they have in common is in customResource.
type Kind interface {
	// Title is the word for the object in messages, with its article.
	Title() string
	TypeName() string
	Object() session.Kind
	Schema(context.Context) schema.Schema
	Codec() wire.Codec
	// Check applies the rules of the API to an object of the name.
	Check(name string, spec map[string]any) finding.List
	// Computed returns the computed attributes of an object with the spec.
	Computed(spec map[string]any) (map[string]attr.Value, error)
	// Remove deletes the live object and waits until it is gone.
	Remove(context.Context, Removal) error
	// AwaitGone waits until an object that is being deleted is gone, and says what
	// holds it if it is not in time.
	AwaitGone(context.Context, Removal) error
	// DeleteLimit is how long remove may take if the configuration does not say.
	DeleteLimit() time.Duration
	PlanChecker
}

// Removal is what a kind needs to remove one of its objects.
type Removal struct {
	Name    string
	Uid     types.UID
	Objects session.Objects
	Cluster session.Cluster
}
