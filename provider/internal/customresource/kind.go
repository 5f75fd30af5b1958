// Package customresource implements the resources that manage one custom resource each. A Kind has
// what differs between Provisioners and node profiles.
package customresource

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/wire"
)

// Kind is a kind of custom resource that a Terraform resource manages. Resource has what all kinds
// have in common.
type Kind interface {
	// Title is the word for the object in messages, such as "node profile".
	Title() string
	// TypeName is the suffix of the resource type, such as "_node_profile".
	TypeName() string
	Object() api.CustomKind
	Schema(context.Context) schema.Schema
	Codec() wire.Codec
	// Check applies the rules of the API to an object of the name.
	Check(name string, spec map[string]any) finding.List
	// Computed returns the computed attributes of an object with the spec.
	Computed(spec map[string]any) (map[string]attr.Value, error)
	// Remove deletes the live object and waits until it is gone.
	Remove(context.Context, Removal) error
	// AwaitGone waits until an object that is being deleted is gone. If the context ends
	// first, the error says what blocks the deletion.
	AwaitGone(context.Context, Removal) error
	// DeleteLimit is the default time limit of Remove.
	DeleteLimit() time.Duration
	PlanChecker
}

// Removal identifies the object to remove, and has access to it.
type Removal struct {
	Name string
	Uid  types.UID
	// Finalizers are those of the object.
	Finalizers []string
	Objects    session.Objects
	Cluster    session.Cluster
}
