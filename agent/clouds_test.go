package agent_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/agent"
)

// docs/clouds.md says what each method of a cloud must do.
func TestMethodsOfCloudsAreDocumented(t *testing.T) {
	const file = "../docs/clouds.md"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for method := range reflect.TypeFor[agent.Cloud]().Methods() {
		if !strings.Contains(string(page), "`"+method.Name+"`") {
			t.Errorf("%s says nothing of %s: add a row", file, method.Name)
		}
	}
}
