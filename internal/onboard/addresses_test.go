package onboard

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/terraform"
)

func docs(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + page)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The resource types stand in the order in which docs/index.md introduces them.
func TestResourcesStandInTheOrderOfTheDocs(t *testing.T) {
	index := docs(t, "index.md")
	at := func(resource string) int { return strings.Index(index, `resource "`+resource+`"`) }
	for i, resource := range order {
		if at(resource) < 0 || i > 0 && at(order[i-1]) > at(resource) {
			t.Errorf("docs/index.md does not introduce %s after %v", resource, order[:i])
		}
	}
	var items []Item
	for resource := range files {
		for _, name := range []string{"b", "a"} {
			items = append(items, Item{Kind: "IRSA role", Name: name, Resource: resource}, Item{Kind: "IRSA role", Name: name, Resource: resource, ImportID: name})
		}
	}
	if len(items) != 4*len(order) {
		t.Fatalf("order = %v, want each of %v", order, files)
	}
	var got []string
	for _, item := range arrange(items) {
		if resource := item.Resource; len(got) == 0 || got[len(got)-1] != resource {
			got = append(got, resource)
		}
	}
	if diff := cmp.Diff(order, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Arguments stand in the order of the resource's schema page.
func TestArgumentsStandInTheOrderOfTheSchemaPage(t *testing.T) {
	argument := regexp.MustCompile("(?m)^- `([a-z_0-9]+)`")
	for resource := range files {
		page := docs(t, "resources/"+strings.TrimPrefix(resource, "packhorse_")+".md")
		_, schema, _ := strings.Cut(page, "### Required")
		schema, _, _ = strings.Cut(schema, "### Read-Only")
		schema, _, _ = strings.Cut(schema, "<a id=")
		var want []string
		for _, match := range argument.FindAllStringSubmatch(schema, -1) {
			want = append(want, match[1])
		}
		item := Item{Name: "a", object: "a", Resource: resource, Address: resource + ".a"}
		for _, name := range slices.Backward(want) {
			switch name {
			case "name":
			case "provider_ref":
				item.ref = map[string]any{"name": "a"}
			default:
				item.add(name, true)
			}
		}
		var got []string
		for _, match := range regexp.MustCompile(`(?m)^ *([a-z_0-9]+) +=`).FindAllStringSubmatch(item.block(false), -1) {
			got = append(got, match[1])
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", resource, diff)
		}
	}
}

// described lists the addresses of items, and what their configuration says about names.
func described(items []Item) []string {
	name := regexp.MustCompile(`(?m)^ *(?:name|provider_ref) += (.*)$`)
	var out []string
	for _, item := range items {
		line := item.Address
		for _, match := range name.FindAllStringSubmatch(item.Configuration, -1) {
			line += " " + match[1]
		}
		out = append(out, line)
	}
	return out
}

func provisionerOf(kind, name, id, profile string) Item {
	return Item{Kind: kind, Name: name, Resource: provisionerResource, ImportID: id, ref: map[string]any{"name": profile}}
}

func profileOf(kind, name, id string) Item {
	return Item{Kind: kind, Name: name, Resource: profileResource, ImportID: id}
}

func TestAddressesAreUnique(t *testing.T) {
	var groups []Item
	for _, kind := range []offer.GroupKind{offer.ManagedNodeGroup, offer.AutoscalerGroup} {
		groups = append(groups, suggestGroup(&offer.NodeGroup{Kind: kind, Name: "general"})...)
	}
	for name, c := range map[string]struct {
		items []Item
		want  []string
	}{
		"imported names that become one identifier": {
			[]Item{profileOf("AWSNodeTemplate", "a.b", "a.b"), profileOf("AWSNodeTemplate", "a_b", "a_b"), profileOf("AWSNodeTemplate", "a_b_2", "a_b_2")},
			[]string{`packhorse_node_profile.a_b "a.b"`, `packhorse_node_profile.a_b_2 "a_b"`, `packhorse_node_profile.a_b_2_2 "a_b_2"`},
		},
		"a conversion beside what is imported": {
			[]Item{
				profileOf("EC2NodeClass", "default", ""), profileOf("AWSNodeTemplate", "default", "default"),
				provisionerOf("NodePool", "default", "", "default"), provisionerOf("Provisioner", "default", "default", "default"),
			},
			[]string{
				`packhorse_node_profile.default "default"`, `packhorse_node_profile.default-2 "default-2"`,
				`packhorse_provisioner.default-2 "default-2" { name = packhorse_node_profile.default-2.name }`,
				`packhorse_provisioner.default "default" { name = packhorse_node_profile.default.name }`,
			},
		},
		"a conversion beside what exists and is refused": {
			[]Item{provisionerOf("NodePool", "default", "", "x"), provisionerOf("Provisioner", "default", "", "x")},
			[]string{`packhorse_provisioner.default-2 "default-2" { name = "x" }`, `packhorse_provisioner.default "default" { name = "x" }`},
		},
		"what is imported, and its node profile is not": {
			[]Item{profileOf("AWSNodeTemplate", "default", ""), provisionerOf("Provisioner", "default", "default", "default")},
			[]string{`packhorse_node_profile.default "default"`, `packhorse_provisioner.default "default" { name = "default" }`},
		},
		"two groups of one name": {
			groups,
			[]string{
				`packhorse_node_profile.general "general"`, `packhorse_node_profile.general-2 "general-2"`,
				`packhorse_provisioner.general "general" { name = packhorse_node_profile.general.name }`,
				`packhorse_provisioner.general-2 "general-2" { name = packhorse_node_profile.general-2.name }`,
			},
		},
		"roles of two types": {
			[]Item{{Name: "prod", Resource: roleResource}, {Name: "prod", Resource: nodeRoleResource}},
			[]string{`packhorse_node_role.prod "prod"`, `packhorse_irsa_role.prod "prod"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 { // in whatever order things are found
				if diff := cmp.Diff(c.want, described(arrange(slices.Clone(c.items)))); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
				slices.Reverse(c.items)
			}
		})
	}
}

// Addresses are the same whichever part is written, and nothing refers to what is not
// written.
func TestOnlyKeepsAddresses(t *testing.T) {
	items := arrange([]Item{profileOf("EC2NodeClass", "a", ""), profileOf("AWSNodeTemplate", "a", "a"), provisionerOf("NodePool", "p", "", "a")})
	got := only(items, map[string]bool{provisionerResource: true})
	if diff := cmp.Diff([]string{`packhorse_provisioner.p "p" { name = "a-2" }`}, described(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !strings.Contains(items[2].Configuration, terraform.Identifier("a-2")+".name") {
		t.Errorf("the whole lost its reference:\n%s", items[2].Configuration)
	}
}
