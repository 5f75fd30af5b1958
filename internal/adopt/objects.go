package adopt

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/karpenter"
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
	var profiles []string
	for _, o := range objects {
		if o.Kind == api.NodeTemplateKind && o.Origin == "" {
			profiles = append(profiles, o.Name)
		}
	}
	var out []Item
	for _, o := range objects {
		item := Item{Kind: o.Kind, Name: o.Name, Resource: provisionerResource, Notes: o.Losses}
		typ := reflect.TypeFor[api.ProvisionerSpec]()
		if o.Kind == api.NodeTemplateKind {
			item.Resource, typ = profileResource, reflect.TypeFor[api.NodeProfile]()
		}
		arguments := append([]terraform.Argument{{Name: "name", Value: o.Name}}, terraform.Arguments(o.Spec, typ)...)
		if o.Origin == "" {
			item.ImportID = o.Name
			item.Notes = append(slices.Clone(item.Notes), consolidationNotes(o.Spec)...)
			refer(arguments, o.Spec, profiles)
		} else {
			item.Kind, _, _ = strings.Cut(o.Origin, " ")
		}
		if refused := o.Problems(); len(refused) > 0 {
			item.ImportID = ""
			item.Notes = append(slices.Clone(item.Notes), refused...)
		}
		item.Configuration = resource(item, arguments)
		out = append(out, item)
	}
	return out
}

// consolidationNotes say what the consolidation of a provisioner does not do yet.
func consolidationNotes(spec map[string]any) []string {
	if c, _ := spec["consolidation"].(map[string]any); c["enabled"] == true {
		return []string{api.UsedNotConsolidated}
	}
	return nil
}

// refer replaces the name of an imported node profile by a reference to it.
func refer(arguments []terraform.Argument, spec map[string]any, profiles []string) {
	ref, _ := spec["providerRef"].(map[string]any)
	name, _ := ref["name"].(string)
	if !slices.Contains(profiles, name) {
		return
	}
	referred := maps.Clone(ref)
	referred["name"] = terraform.Raw(profileResource + "." + terraform.Identifier(name) + ".name")
	for i := range arguments {
		if arguments[i].Name == "provider_ref" {
			arguments[i] = terraform.Arguments(map[string]any{"providerRef": referred}, reflect.TypeFor[api.ProvisionerSpec]())[0]
		}
	}
}

// resource writes the block of an item.
func resource(item Item, arguments []terraform.Argument) string {
	return terraform.Block(`resource "`+item.Resource+`" "`+terraform.Identifier(item.Name)+`"`, arguments)
}
