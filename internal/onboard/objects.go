package onboard

import (
	"maps"
	"reflect"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/terraform"
)

// The resource types of the custom resources.
const (
	provisionerResource = "packhorse_provisioner"
	profileResource     = "packhorse_node_profile"
)

// itemsOf writes objects as configuration. Those that exist as they are can be
// imported unless the rules of the API refuse them.
func itemsOf(objects []karpenter.Object) []Item {
	var out []Item
	for _, o := range objects {
		item := Item{Kind: o.Kind, Name: o.Name, Resource: provisionerResource, Notes: o.Losses.Lines()}
		typ := reflect.TypeFor[api.ProvisionerSpec]()
		if o.Kind == api.NodeTemplateKind {
			item.Resource, typ = profileResource, reflect.TypeFor[api.NodeProfile]()
		}
		item.configure(o.Spec, typ)
		if o.Origin == "" {
			item.ImportID = o.Name
		} else {
			item.Kind, _, _ = strings.Cut(o.Origin, " ")
		}
		if refused := o.Problems(); len(refused) > 0 {
			item.ImportID = ""
			item.Notes = append(item.Notes, refused.Lines()...)
		}
		out = append(out, item)
	}
	return out
}

// configure takes the arguments of a custom resource from its spec.
func (i *Item) configure(spec map[string]any, typ reflect.Type) {
	own := maps.Clone(spec)
	i.ref, _ = own["providerRef"].(map[string]any)
	delete(own, "providerRef")
	i.arguments = terraform.Arguments(own, typ)
}
