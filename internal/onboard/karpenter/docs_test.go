package karpenter

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// TestGuideNamesEveryField checks that the guide says of each field of a NodePool and of
// an EC2NodeClass what happens to it.
func TestGuideNamesEveryField(t *testing.T) {
	text, err := os.ReadFile("../../../docs/guides/moving-from-karpenter.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, typ := range []reflect.Type{
		reflect.TypeFor[poolSpec](), reflect.TypeFor[poolMetadata](), reflect.TypeFor[poolNodes](), reflect.TypeFor[poolDisruption](), reflect.TypeFor[classSpec](),
	} {
		for field := range typ.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name != "template" && name != "metadata" && name != "spec" && !strings.Contains(string(text), name) {
				t.Errorf("the guide does not name %s of %s", name, typ.Name())
			}
		}
	}
}
