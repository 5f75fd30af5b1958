package report

import (
	"encoding/json"
	"html"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain/explaintest"
)

func report() explain.Report {
	p := explaintest.Plan()
	p.Machines[0].GivenUp = map[string][]string{"default/a": {"zone spread"}}
	r := explain.Of(p, explaintest.Snapshot(), 1500*time.Microsecond)
	r.Warnings = []string{"prices are estimates"}
	return r
}

func TestHTML(t *testing.T) {
	r := report()
	golden(t, "small.html", HTML(&r))
}

// The page is well-formed, needs nothing from elsewhere and runs nothing.
func TestHTMLStandsAlone(t *testing.T) {
	r := report()
	text := HTML(&r)
	root := parse(t, text)
	for _, name := range []string{"script", "link", "img", "iframe", "object"} {
		if n := len(root.named(name)); n > 0 {
			t.Errorf("%d <%s>", n, name)
		}
	}
	if found := regexp.MustCompile(`(?i)(src|href|srcset)=|@import|https?:|url\((?:[^#])`).FindString(text); found != "" {
		t.Errorf("it refers to something outside: %q", found)
	}
}

// What is seen is also there for those who hear it.
func TestHTMLIsAccessible(t *testing.T) {
	r := report()
	root := parse(t, HTML(&r))
	if root.attr("lang") != "en" || len(root.named("h1")) != 1 || len(root.named("main")) != 1 {
		t.Error("language, heading or main part is missing")
	}
	ids := map[string]bool{}
	for _, h := range root.named("h2") {
		ids[h.attr("id")] = true
	}
	for _, s := range root.named("section") {
		if !ids[s.attr("aria-labelledby")] {
			t.Errorf("a section is named by %q, which is no heading", s.attr("aria-labelledby"))
		}
	}
	for _, th := range root.named("th") {
		if th.attr("scope") != "col" {
			t.Errorf("heading %q has no scope", th.Text)
		}
	}
	for _, row := range root.named("tbody")[0].named("tr") {
		if got, want := len(row.Children), len(headings); got != want {
			t.Errorf("%d cells under %d headings", got, want)
		}
	}
	pictures := 0
	for _, svg := range root.named("svg") {
		switch {
		case svg.attr("role") == "img" && strings.Contains(svg.attr("aria-label"), "m7g.large with 2 pods: CPU 75%, memory 50%"),
			svg.attr("role") == "img" && strings.Contains(svg.attr("aria-label"), "m5.large with 1 pods: CPU 70%, memory 25%"):
			pictures++
		case svg.attr("aria-hidden") != "true":
			t.Errorf("a picture without a name: %v", svg.Attrs)
		}
	}
	if pictures != 2 {
		t.Errorf("%d pictures with a name, want the machines and the node", pictures)
	}
}

func TestHTMLSays(t *testing.T) {
	r := report()
	text := HTML(&r)
	for _, want := range []string{
		"No plan that honours the same constraints costs less than $0.0800 per hour (proven), so this one is at most 2.50% above the best possible.",
		"cheapest of its 2 candidate types; CPU fills first (75%)", "m6g.large at 0.0430 (+4.9%)",
		"no type is large enough", "default/f, default/g", "zone spread", "ip-10-0-0-1", "prices are estimates",
	} {
		if !strings.Contains(strings.ReplaceAll(text, "&#43;", "+"), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// What is told in one form is told in the others, in the same words.
func TestSameWords(t *testing.T) {
	p := explaintest.Plan()
	p.Machines[0].GivenUp = map[string][]string{"default/a": {"zone spread"}}
	p.Removals = []decide.Removal{{Node: "n1", Reason: decide.Drifted, Message: "its node profile has changed since the node was launched"}}
	p.Kept = []decide.Kept{{Node: "n2", Reason: decide.Expired, Why: "pod default/x must not be disrupted"}}
	p.Chosen = []decide.Chosen{{Node: "n3", Verdict: decide.Wait, Why: "its replacement n4 is not up yet"}}
	r := explain.Of(p, explaintest.Snapshot(), 0)
	r.Warnings = []string{"prices are estimates"}
	encoded, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	forms := map[string]string{"text": r.Text(), "markdown": r.Markdown(), "html": html.UnescapeString(HTML(&r)), "json": string(encoded)}
	for _, words := range []string{
		"cheapest of its 2 candidate types; CPU fills first (75%)", "m6g.large",
		"no type is large enough", "zone spread", "its node profile has changed since the node was launched",
		"pod default/x must not be disrupted", "its replacement n4 is not up yet", "prices are estimates",
	} {
		for form, text := range forms {
			if !strings.Contains(text, words) {
				t.Errorf("%s lacks %q", form, words)
			}
		}
	}
}

// What happens to nodes is told below the picture and on the page.
func TestNodesInPictures(t *testing.T) {
	p := explaintest.Plan()
	p.Removals = []decide.Removal{{Node: "n1", Reason: decide.Expired, Message: "older than 1h", Replacements: []string{"default-1"}}}
	p.Kept = []decide.Kept{{Node: "n2", Reason: decide.Empty, Why: "pods are on their way to it"}}
	r := explain.Of(p, explaintest.Snapshot(), 0)
	text := HTML(&r)
	for _, want := range []string{
		"Nodes to remove", "has expired: older than 1h, as soon as default-1 can take its pods",
		"Nodes that are kept for now", "is empty but is kept: pods are on their way to it", "ip-10-0-0-1 (m5.large)",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	r.Consolidation = &explain.Consolidation{Held: []explain.ConsolidationHeld{{Blocker: "protection", Nodes: 2}}}
	if text := HTML(&r); !strings.Contains(text, "What keeps nodes in use") || strings.Contains(text, "<strong></strong>") {
		t.Error("lines that are about nothing in particular have an empty name")
	}
	if many := (topic{explain.Topic{Items: make([]explain.Line, longTopic+1)}}); !many.Long() || (topic{explain.Topic{Items: make([]explain.Line, longTopic)}}).Long() {
		t.Error("long lists are folded, short ones are not")
	}
}

func TestNothingToDraw(t *testing.T) {
	r := explain.Of(decide.Plan{}, explaintest.Snapshot(), 0)
	if text := HTML(&r); strings.Contains(text, "Gap") || !strings.Contains(text, "No pod is waiting for a node") {
		t.Errorf("the page of an empty plan:\n%s", text)
	}
}
