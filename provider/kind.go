package provider

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"k8s.io/apimachinery/pkg/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/wire"
)

// kind is what tells one resource that is a custom resource from another. What
// they have in common is in customResource.
type kind interface {
	// title is the word for the object in messages, with its article.
	title() string
	typeName() string
	object() session.Kind
	schema(context.Context) schema.Schema
	codec() wire.Codec
	// check applies the rules of the API to an object of the name.
	check(name string, spec map[string]any) api.Findings
	// computed returns the computed attributes of an object with the spec.
	computed(typ tftypes.Object, spec map[string]any) (map[string]tftypes.Value, error)
	// remove deletes the live object and waits until it is gone.
	remove(context.Context, removal) error
	// awaitGone waits until an object that is being deleted is gone, and says what
	// holds it if it is not in time.
	awaitGone(context.Context, removal) error
	// deleteLimit is how long remove may take if the configuration does not say.
	deleteLimit() time.Duration
	foreseer
}

// removal is what a kind needs to remove one of its objects.
type removal struct {
	name    string
	uid     types.UID
	objects session.Objects
	cluster session.Cluster
}
