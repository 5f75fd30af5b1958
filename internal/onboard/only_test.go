package onboard

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOnly(t *testing.T) {
	items := []Item{{Name: "a", Resource: provisionerResource}, {Name: "b", Resource: profileResource}, {Name: "c", Resource: roleResource}}
	for types, want := range map[string]string{
		"": "a b c", "provisioner": "a", "packhorse_node_profile,irsa_role": "b c", "node_role": "",
	} {
		var asked []string
		if types != "" {
			asked = strings.Split(types, ",")
		}
		wanted, err := wantedTypes(asked)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, i := range only(items, wanted) {
			names = append(names, i.Name)
		}
		if diff := cmp.Diff(want, strings.Join(names, " ")); diff != "" {
			t.Errorf("--only %s: -want +got:\n%s", types, diff)
		}
	}
	if err := CheckTypes([]string{"provisoner"}); err == nil || !strings.Contains(err.Error(), "packhorse_provisioner") {
		t.Errorf("error = %v, want one that names the types", err)
	}
}
