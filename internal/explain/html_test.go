package explain

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

func report() Report {
	p := plan()
	p.Machines[0].GivenUp = map[string][]string{"default/a": {"zone spread"}}
	r := Of(p, snapshot(), 1500*time.Microsecond)
	r.Warnings = []string{"prices are estimates"}
	return r
}

func TestHTML(t *testing.T) {
	r := report()
	golden(t, "small.html", r.HTML())
}

// The page is well-formed, needs nothing from elsewhere and runs nothing.
func TestHTMLStandsAlone(t *testing.T) {
	r := report()
	text := r.HTML()
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
	root := parse(t, r.HTML())
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
	text := r.HTML()
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

func TestBound(t *testing.T) {
	for name, c := range map[string]struct {
		report Report
		want   string
	}{
		"nothing to buy": {Report{}, ""},
		"unknown":        {Report{Machines: make([]Machine, 1)}, "How far this is from the best possible price is not known."},
		"the best":       {Report{Machines: make([]Machine, 1), LowerBound: 2}, "This is the best possible: no plan that honours the same constraints costs less than $2.0000 per hour (proven)."},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.report.bound(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	if r := Of(decide.Plan{}, snapshot(), 0); strings.Contains(r.HTML(), "Gap") {
		t.Error("the page of an empty plan shows a gap")
	}
}
