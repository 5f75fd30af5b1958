package status

import (
	"bytes"
	_ "embed" // for the template, the style sheet and the script
	"fmt"
	"html/template"
	"math"
	"slices"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/report"
)

var (
	//go:embed page.html.tmpl
	pageText string
	//go:embed page.css
	pageStyle string
	//go:embed page.js
	pageScript string
)

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"dollars": dollars, "percent": explain.Percent, "clock": clock, "stamp": stamp, "plural": explain.Plural,
}).Parse(pageText))

// page is what the template shows.
type page struct {
	*Status
	Summary
	Gallery report.Gallery
	Style   template.CSS
	Script  template.JS
	Hatch   template.HTML
	// BoundWidth of 100 is how far the bound reaches of the price, or of the bound
	// where that is larger.
	BoundWidth, PriceWidth int
}

// HTML renders the status as a page that needs nothing else.
func (s *Status) HTML() ([]byte, error) {
	p := page{
		Status: s, Summary: s.Summary(),
		Gallery: report.NewGallery(s.contents()),
		Style:   style(), Script: template.JS(pageScript), Hatch: report.GalleryHatch(), // our own text
	}
	if s.Bound != nil {
		if most := max(s.Bound.HourlyPrice, s.HourlyPrice); most > 0 {
			p.BoundWidth = int(math.Round(100 * s.Bound.HourlyPrice / most))
			p.PriceWidth = int(math.Round(100 * s.HourlyPrice / most))
		}
	}
	var out bytes.Buffer
	if err := pageTemplate.Execute(&out, p); err != nil {
		return nil, fmt.Errorf("render the status page: %w", err)
	}
	return out.Bytes(), nil
}

func style() template.CSS { return report.GalleryStyle() + template.CSS(pageStyle) } // our own text

func (s *Status) contents() []explain.Content {
	out := make([]explain.Content, 0, len(s.Nodes))
	for i := range s.Nodes {
		out = append(out, s.Nodes[i].Content)
	}
	return out
}

// maxBought is how many nodes the page lists.
const maxBought = 100

// Bought returns the nodes, the youngest first.
func (p page) Bought() []Node {
	out := slices.Clone(p.Nodes)
	slices.SortStableFunc(out, func(a, b Node) int { return b.Created.Compare(a.Created) })
	return out[:min(len(out), maxBought)]
}

// Width of 100 is how much of the limit is used.
func (l Limit) Width() int { return int(math.Round(100 * min(1, l.Share))) }

// CPU and Memory are how much of a node is asked for.
func (n Node) CPU() string { return explain.Percent(n.Share(amount.CPU)) }

// Memory is like CPU.
func (n Node) Memory() string { return explain.Percent(n.Share(amount.Memory)) }

func dollars(v float64) string { return fmt.Sprintf("$%.4f", v) }

// stamp is a time for machines.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// clock is a time for people, as short as possible without being taken for another day's.
func clock(now, t time.Time) string {
	now, t = now.UTC(), t.UTC()
	layout := "15:04:05"
	if t.YearDay() != now.YearDay() || t.Year() != now.Year() {
		layout = "2 Jan 15:04"
	}
	return t.Format(layout)
}
