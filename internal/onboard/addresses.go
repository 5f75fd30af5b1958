package onboard

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/kinds"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/terraform"
)

// order lists the resource types as the documentation introduces them, which is the
// order in which they depend on each other.
var order = []string{nodeRoleResource, queueResource, roleResource, profileResource, provisionerResource}

// Resources lists the resource types that items are or would become.
func Resources() []string { return slices.Clone(order) }

// required lists the arguments that a resource must have. They come first on its
// schema page, and the others follow by name.
var required = []string{"name", "service_accounts"}

// arrange puts items into the order in which they are written, and gives each an
// address of its own and its configuration.
func arrange(items []Item) []Item {
	slices.SortStableFunc(items, func(a, b Item) int {
		return cmp.Or(slices.Index(order, a.Resource)-slices.Index(order, b.Resource), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
	})
	names := taken{addresses: map[string]bool{}, objects: map[string]bool{}}
	for _, first := range []bool{true, false} { // what exists keeps its name
		for i := range items {
			if items[i].exists() == first {
				names.give(&items[i])
			}
		}
	}
	for i := range items {
		items[i].link(items)
	}
	return configured(items)
}

// exists reports whether the resource is there under its name already.
func (i *Item) exists() bool {
	return i.ImportID != "" || i.Kind == api.ProvisionerKind || i.Kind == api.NodeTemplateKind
}

// taken is the table of names that items have.
type taken struct {
	addresses map[string]bool // in the configuration
	objects   map[string]bool // in the cluster, with their resource type
}

// give names an item. Two names may become the same identifier, and a suggestion may
// have the name of another object, in which case it gets another one.
func (t taken) give(item *Item) {
	item.object = item.Name
	if item.Resource == profileResource || item.Resource == provisionerResource {
		item.object = free(t.objects, item.Resource+"/", item.Name, "-")
	}
	if item.object != item.Name {
		item.Notes = append(slices.Clone(item.Notes), fmt.Sprintf("it is named %s, since another %s has the name %s", item.object, item.Resource, item.Name))
	}
	prefix := item.Resource + "."
	item.Address = prefix + free(t.addresses, prefix, terraform.Identifier(item.object), "_")
}

// free returns the first of name, name-2, name-3, … that is free, and takes it.
func free(taken map[string]bool, prefix, name, separator string) string {
	out := name
	for n := 2; taken[prefix+out]; n++ {
		out = fmt.Sprintf("%s%s%d", name, separator, n)
	}
	taken[prefix+out] = true
	return out
}

// profileKinds say what an item's node profile is now, where that is another kind.
var profileKinds = map[string]string{api.ProvisionerKind: api.NodeTemplateKind, kinds.NodePoolKind: kinds.NodeClassKind}

// link finds the node profile that a provisioner refers to. What is imported refers
// only to what is imported, since suggestions are commented out.
func (i *Item) link(items []Item) {
	name, _ := i.ref["name"].(string)
	kind := cmp.Or(profileKinds[i.Kind], i.Kind)
	at := slices.IndexFunc(items, func(p Item) bool { return p.Resource == profileResource && p.Kind == kind && p.Name == name })
	if at < 0 || i.ImportID != "" && items[at].ImportID == "" {
		return
	}
	i.ref = maps.Clone(i.ref)
	i.ref["name"], i.profile = items[at].object, items[at].Address
}

// configured writes the configuration of the items, which refer to each other only.
func configured(items []Item) []Item {
	for i := range items {
		item := &items[i]
		at := func(other Item) bool { return other.Address == item.profile }
		item.Configuration = item.block(item.profile != "" && slices.ContainsFunc(items, at))
	}
	return items
}

// block writes the resource. A node profile that is written too is referred to by its
// address.
func (i *Item) block(refers bool) string {
	arguments := slices.Clone(i.arguments)
	if i.ref != nil {
		ref := maps.Clone(i.ref)
		if refers {
			ref["name"] = terraform.Raw(i.profile + ".name")
		}
		arguments = append(arguments, terraform.Arguments(map[string]any{"providerRef": ref}, reflect.TypeFor[api.ProvisionerSpec]())...)
	}
	arguments = append(arguments, terraform.Argument{Name: "name", Value: i.object})
	slices.SortStableFunc(arguments, func(a, b terraform.Argument) int {
		return cmp.Or(place(a.Name)-place(b.Name), cmp.Compare(a.Name, b.Name))
	})
	return terraform.Block(fmt.Sprintf("resource %q %q", i.Resource, strings.TrimPrefix(i.Address, i.Resource+".")), arguments)
}

// place is that of an argument among the required ones, or behind them.
func place(name string) int {
	if at := slices.Index(required, name); at >= 0 {
		return at
	}
	return len(required)
}
