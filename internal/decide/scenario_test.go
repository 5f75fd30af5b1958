package decide_test

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/manifest/manifesttest"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/simulate"
)

var update = flag.Bool("update", false, "rewrite the wanted plans of the scenarios, and their index")

// Sections of a scenario. The comment above them tells the story.
const (
	sectionCluster  = "cluster.yaml"  // what `simulate -f` would be given
	sectionMachines = "machines.txt"  // what can be bought; see machines; without it: all of EC2
	sectionSettings = "settings.yaml" // see settings
	sectionPlan     = "plan.txt"      // what is wanted, in the words of `simulate`
)

// TestScenarios decides what the archives below testdata describe, and checks
// each plan for itself besides comparing it. It is always noon of the first of
// January 2026.
func TestScenarios(t *testing.T) {
	for _, s := range scenarios(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			in := s.input(t)
			in.Prove = true
			plan := decide.Decide(in)
			decide.Verify(t, &in, &plan)
			got := s.planText(plan, in.Snapshot)
			if *update {
				s.set(sectionPlan, got)
				if err := os.WriteFile(s.path, txtar.Format(s.archive), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(s.section(sectionPlan), got); diff != "" {
				t.Errorf("-want +got (go test -update rewrites)\n%s", diff)
			}
		})
	}
}

// planText is the plan in words, without the time that it took. How near the bound
// comes is no matter of a scenario, except where packing is the story.
func (s *scenario) planText(plan decide.Plan, snapshot *cluster.Snapshot) string {
	report := explain.Of(plan, snapshot, 0)
	if !strings.HasPrefix(s.name, "packing/") {
		report.Proof = nil
	}
	return strings.Replace(report.Text(), "; decided in 0.0 ms.", ".", 1)
}

// scenario is an archive below testdata.
type scenario struct {
	path    string
	name    string // folder and name, without the extension
	archive *txtar.Archive
}

// scenarios returns all of them by name.
func scenarios(t *testing.T) []scenario {
	t.Helper()
	var out []scenario
	err := filepath.WalkDir("testdata", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".txtar" {
			return err
		}
		archive, err := txtar.ParseFile(path)
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(path), "testdata/"), ".txtar")
		out = append(out, scenario{path, name, archive})
		return err
	})
	if err != nil || len(out) == 0 {
		t.Fatalf("found %d scenarios: %v", len(out), err)
	}
	return out
}

func (s *scenario) section(name string) string {
	for _, f := range s.archive.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

func (s *scenario) set(name, content string) {
	i := slices.IndexFunc(s.archive.Files, func(f txtar.File) bool { return f.Name == name })
	if i < 0 {
		i = len(s.archive.Files)
		s.archive.Files = append(s.archive.Files, txtar.File{Name: name})
	}
	s.archive.Files[i].Data = []byte(content)
}

// settings are what an installation is configured with, and what it remembers.
type settings struct {
	// NodeCost is the cost of one more node in dollars per hour; 0 for the default.
	NodeCost float64 `json:"nodeCost"`
	// EvictOwnerless lets pods go that no controller would replace.
	EvictOwnerless bool `json:"evictOwnerless"`
	// Planned are nodes of earlier plans by pending pod (namespace/name).
	Planned map[string]string `json:"planned"`
}

// input reads a scenario the way that simulate reads files.
func (s *scenario) input(t *testing.T) decide.Input {
	t.Helper()
	set, err := manifesttest.Parse(sectionCluster, []byte(s.section(sectionCluster)))
	if err != nil {
		t.Fatal(err)
	}
	var knobs settings
	if err := yaml.UnmarshalStrict([]byte(s.section(sectionSettings)), &knobs); err != nil {
		t.Fatal(err)
	}
	source := simulate.Source{
		Set: set, Catalogue: offer.Embedded(), Region: "us-east-1", Now: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC),
		Settings: decide.Settings{
			Policy: decide.DefaultSettings().Policy, NodeCost: offer.Price(knobs.NodeCost * 1e6),
		},
	}
	source.Settings.EvictOwnerless = knobs.EvictOwnerless
	in, _, err := source.Input()
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Provisioners) == 0 {
		in.Provisioners = nil // simulate assumes one, an agent does not
	}
	if table := s.section(sectionMachines); table != "" {
		types := machines(t, table)
		for i := range in.Provisioners {
			in.Provisioners[i].Types, in.Provisioners[i].Index = types, nil
		}
	}
	for i := range in.Snapshot.Pods {
		pod := in.Snapshot.Pods[i].PodKey
		if node := knobs.Planned[pod.String()]; node != "" {
			in.Planned = append(in.Planned, decide.Binding{Pod: pod, Node: node})
		}
	}
	return in
}

// leastScenarios is how many there are at least.
const leastScenarios = 250

// TestScenariosTellTheirStory: a scenario is documentation. It begins with a
// sentence, and no other begins with the same.
func TestScenariosTellTheirStory(t *testing.T) {
	first := map[string]string{}
	all := scenarios(t)
	if len(all) < leastScenarios {
		t.Errorf("%d scenarios, want at least %d", len(all), leastScenarios)
	}
	for _, s := range all {
		story := s.story()
		if strings.Count(s.name, "/") != 1 || !strings.HasSuffix(story, ".") {
			t.Errorf("%s: is not in a folder of its feature, or does not begin with a sentence: %q", s.name, story)
		}
		if other := first[story]; other != "" {
			t.Errorf("%s and %s begin with the same sentence", s.name, other)
		}
		first[story] = s.name
	}
}

// story is the first sentence of the comment.
func (s *scenario) story() string {
	text := strings.Join(strings.Fields(string(s.archive.Comment)), " ")
	if end := regexp.MustCompile(`\.( [A-Z]|$)`).FindStringIndex(text); end != nil {
		return text[:end[0]+1]
	}
	return text
}

// The index lies beside the scenarios, where GitHub shows it as the folder's page.
const indexFile = "testdata/README.md"

// TestScenarioIndex keeps the list of scenarios current.
func TestScenarioIndex(t *testing.T) {
	got := index(scenarios(t))
	if *update {
		if err := os.WriteFile(indexFile, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(indexFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("-want +got (go test -update rewrites)\n%s", diff)
	}
}

func index(all []scenario) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Scenarios

%d small clusters, each with the plan that Packhorse makes for it. A file begins with a sentence that says what it shows. It holds the manifests, the machines on offer (all of EC2 if it lists none) and the plan as `+"`packhorse-agent simulate`"+` prints it. `+"`go test ./internal/decide -run TestScenario`"+` compares every plan with its file and checks it with independent code; `+"`-update`"+` rewrites the plans and this page.
`, len(all))
	folder := ""
	for _, s := range all {
		dir, name, _ := strings.Cut(s.name, "/")
		if dir != folder {
			folder = dir
			fmt.Fprintf(&b, "\n## %s\n\n", strings.ReplaceAll(dir, "-", " "))
		}
		fmt.Fprintf(&b, "- [%s](%s.txtar): %s\n", strings.ReplaceAll(name, "-", " "), s.name, s.story())
	}
	return b.String()
}
