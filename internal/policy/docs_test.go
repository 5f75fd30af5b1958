package policy_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
)

// docs/iam.md explains each statement with exactly its actions, in order.
func TestStatementsAreExplained(t *testing.T) {
	raw, err := os.ReadFile("../../docs/iam.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for line := range strings.Lines(string(raw)) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if !strings.HasPrefix(line, "| `packhorse-") {
			continue
		}
		if len(cells) != 4 || len(strings.Trim(cells[3], " |")) < 10 {
			t.Errorf("no explanation in %q", line)
			continue
		}
		listed = append(listed, strings.TrimPrefix(strings.Join(cells[:3], " "), "| "))
	}
	policies, err := agent().Policies()
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, name := range policy.Names {
		var document struct{ Statement []rule }
		if err := json.Unmarshal([]byte(policies[name]), &document); err != nil {
			t.Fatal(err)
		}
		for _, s := range document.Statement {
			want = append(want, fmt.Sprintf("`%s` `%s` `%s`", name, s.Sid, strings.Join(actions(s.Action), "`, `")))
		}
	}
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("docs/iam.md is out of date: -want +got\n%s", diff)
	}
}

// actions of a statement: one or several, sorted.
func actions(value any) []string {
	var out []string
	switch v := value.(type) {
	case string:
		out = append(out, v)
	case []any:
		for _, a := range v {
			out = append(out, fmt.Sprint(a))
		}
	}
	slices.Sort(out)
	return out
}
