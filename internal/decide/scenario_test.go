package decide

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/manifest"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

var update = flag.Bool("update", false, "rewrite the wanted plans of the scenarios")

// TestScenarios decides what the archives in testdata describe: a comment that
// tells the story, cluster.yaml, and plan.txt with what is wanted. It is always
// noon of the first of January 2026, in us-east-1.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d scenarios: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			in := scenario(t, archive)
			plan := Decide(in)
			verify(t, &in, &plan)
			got := text(&plan)
			if *update {
				setFile(archive, "plan.txt", got)
				if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(section(archive, "plan.txt"), got); diff != "" {
				t.Errorf("-want +got (go test -update rewrites)\n%s", diff)
			}
		})
	}
}

func scenario(t *testing.T, archive *txtar.Archive) Input {
	t.Helper()
	set, err := manifest.Parse("cluster.yaml", []byte(section(archive, "cluster.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	in := Input{Now: noon, Snapshot: set.Snapshot, Settings: Settings{StartupTimeout: 15 * time.Minute, NodeCost: DefaultNodeCost}}
	for _, p := range set.Provisioners {
		spec := p.Defaulted()
		in.Provisioners = append(in.Provisioners, Provisioner{
			Spec: spec, Types: offer.Embedded().Types(offer.Settings{Region: "us-east-1", Kubelet: spec.Spec.KubeletConfiguration}),
		})
	}
	return in
}

func section(archive *txtar.Archive, name string) string {
	for _, f := range archive.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

func setFile(archive *txtar.Archive, name, content string) {
	i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == name })
	if i < 0 {
		archive.Files = append(archive.Files, txtar.File{Name: name})
		i = len(archive.Files) - 1
	}
	archive.Files[i].Data = []byte(content)
}

// text writes all of a plan that a person would ask about.
func text(p *Plan) string {
	var b strings.Builder
	for i := range p.Machines {
		m := &p.Machines[i]
		c := m.Chosen()
		fmt.Fprintf(&b, "launch %s: %s %s in %s for $%.4f per hour", m.Name, c.CapacityType, c.InstanceType, c.Zone, c.Price.Dollars())
		fmt.Fprintf(&b, ", CPU %dm of %dm, memory %dMi of %dMi\n", m.Used["cpu"], m.Allocatable["cpu"], m.Used["memory"]>>20, m.Allocatable["memory"]>>20)
		fmt.Fprintf(&b, "  candidates: %s\n", candidates(m))
		for _, pod := range m.Pods {
			fmt.Fprintf(&b, "  %s\n", pod)
		}
		for _, move := range m.Moving {
			fmt.Fprintf(&b, "  %s from %s\n", move.Pod, move.From)
		}
		for _, pod := range slices.Sorted(maps.Keys(m.GivenUp)) {
			fmt.Fprintf(&b, "  %s gave up: %s\n", pod, strings.Join(m.GivenUp[pod], "; "))
		}
	}
	for _, x := range p.Bindings {
		if x.From != "" {
			fmt.Fprintf(&b, "keep room on %s for %s from %s\n", x.Node, x.Pod, x.From)
		} else {
			fmt.Fprintf(&b, "place %s on %s\n", x.Pod, x.Node)
		}
	}
	for _, u := range p.Unplaced {
		fmt.Fprintf(&b, "no place for %s: %s\n", u.Pod, u.Reason)
	}
	for _, r := range p.Removals {
		fmt.Fprintf(&b, "remove %s: %s (%s)", r.Node, r.Reason, r.Message)
		if len(r.Replacements) > 0 {
			fmt.Fprintf(&b, " once %s is up", strings.Join(r.Replacements, ", "))
		}
		b.WriteByte('\n')
	}
	for _, k := range p.Kept {
		fmt.Fprintf(&b, "keep %s although it is %s: %s\n", k.Node, k.Reason, k.Why)
	}
	for _, m := range p.Marks {
		if m.Since.IsZero() {
			fmt.Fprintf(&b, "unmark %s\n", m.Node)
		} else {
			fmt.Fprintf(&b, "mark %s as empty since %s\n", m.Node, m.Since.UTC().Format(time.TimeOnly))
		}
	}
	if len(p.Machines) > 0 {
		fmt.Fprintf(&b, "total $%.4f per hour, no plan costs less than $%.4f\n", p.HourlyPrice.Dollars(), p.LowerBound.Dollars())
	}
	return b.String()
}

// candidates lists the first three and counts the rest.
func candidates(m *Machine) string {
	var out []string
	for _, c := range m.Candidates[:min(3, len(m.Candidates))] {
		out = append(out, c.InstanceType+"/"+c.Zone+"/"+c.CapacityType)
	}
	if more := len(m.Candidates) - 3; more > 0 {
		out = append(out, fmt.Sprintf("%d more", more))
	}
	return strings.Join(out, ", ")
}
