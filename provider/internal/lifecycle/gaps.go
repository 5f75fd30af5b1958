package lifecycle

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// Gaps collects what a plan did not check about one object.
type Gaps struct {
	Session *session.Session
	Title   string // the kind of the object
	Name    string
	Diags   *diag.Diagnostics

	unchecked   []gap
	wrongAccess bool // has been reported, so that Report need not
}

// gap is what was not checked, and why.
type gap struct{ what, why string }

// Miss notes what was not checked, and why.
func (g *Gaps) Miss(what, why string) { g.unchecked = append(g.unchecked, gap{what, why}) }

// Skip notes what was not checked because of an error. For a session.ErrWrongAccess, it reports the error
// instead, once for all resources.
func (g *Gaps) Skip(what string, err error) {
	if errors.Is(err, session.ErrWrongAccess) {
		g.wrongAccess = true
		ReportOnce(g.Session, NoCluster, err, g.Diags)
		return
	}
	g.Miss(what, strings.ReplaceAll(err.Error(), "\n", "; "))
}

// Report adds one warning with everything that was not checked, grouped by reason.
func (g *Gaps) Report() {
	if len(g.unchecked) == 0 || g.wrongAccess {
		return
	}
	var lines []string
	for len(g.unchecked) > 0 {
		why := g.unchecked[0].why
		var same []string
		g.unchecked = slices.DeleteFunc(g.unchecked, func(other gap) bool {
			if other.why == why && !slices.Contains(same, other.what) {
				same = append(same, other.what)
			}
			return other.why == why
		})
		lines = append(lines, fmt.Sprintf("Not checked: %s: %s.", strings.Join(same, ", "), why))
	}
	g.Diags.AddWarning(fmt.Sprintf("%s %s was not checked in full", g.Title, g.Name),
		strings.Join(lines, "\n")+"\n`plan_checks = \"off\"` in the provider block turns these checks off.")
}
