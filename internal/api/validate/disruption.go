package validate

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/cron"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/suggest"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

func validateDisruption(d *api.Disruption, path *field.Path) finding.List {
	if d == nil {
		return nil
	}
	var errs finding.List
	for i := range d.Budgets {
		errs = append(errs, validateBudget(&d.Budgets[i], path.Child("budgets").Index(i))...)
	}
	errs = append(errs, validateConsolidateAfter(d.ConsolidateAfter, path.Child("consolidateAfter"))...)
	errs = append(errs, validateEvictionCost(d.EvictionCost, path.Child("evictionCost"))...)
	for i := range d.Windows {
		errs = append(errs, validateWindow(&d.Windows[i], path.Child("windows").Index(i))...)
	}
	errs = append(errs, durationNotNegative(d.TerminationGracePeriod, path.Child("terminationGracePeriod"))...)
	return errs
}

func validateConsolidateAfter(after *string, path *field.Path) finding.List {
	if after == nil || *after == api.Never {
		return nil
	}
	d, err := time.ParseDuration(*after)
	if err != nil {
		wrong, advice := suggest.Duration(*after)
		if strings.EqualFold(*after, api.Never) {
			advice = suggest.Value(api.Never)
		}
		return finding.List{finding.Invalid(path, *after, finding.Say("%s, or %s", wrong, api.Never), advice)}
	}
	return durationNotNegative(&metav1.Duration{Duration: d}, path)
}

func validateEvictionCost(cost *api.NumberOrNever, path *field.Path) finding.List {
	if cost == nil || *cost == api.Never {
		return nil
	}
	text := string(*cost)
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case err == nil && v < 0:
		return finding.List{finding.Invalid(path, text, finding.Say("must not be negative: it is what moving a pod costs"), suggest.Value("0"))}
	case err == nil && evictionCostForm.MatchString(text):
		return nil
	case strings.EqualFold(text, api.Never):
		return finding.List{finding.Invalid(path, text, finding.Say("must be a number such as 1 or 0.5, or %s", api.Never), suggest.Value(api.Never))}
	}
	return finding.List{finding.Invalid(path, text, finding.Say("must be a number such as 1 or 0.5, or %s", api.Never), finding.Say("write it in digits"))}
}

var evictionCostForm = regexp.MustCompile(`^[0-9]{1,9}([.][0-9]{1,9})?$`)

// longestGap between two matches of a schedule is that of 29 February around 2100.
const longestGap = 8*366 + 1

// validateSchedule says what would be if the schedule never matches.
func validateSchedule(schedule, otherwise string, path *field.Path) finding.List {
	if wrong := cron.Check(schedule, path); wrong != nil {
		return finding.List{*wrong}
	}
	if s, err := cron.Parse(schedule); err == nil && !s.MatchedSince(time.Date(2104, 3, 1, 0, 0, 0, 0, time.UTC), longestGap*24*time.Hour) {
		return finding.List{finding.Invalid(path, schedule, finding.Say("no day matches it, so %s", otherwise), finding.Say("correct day of month and month"))}
	}
	return nil
}

func validateWindow(w *api.Window, path *field.Path) finding.List {
	errs := validateSchedule(w.Schedule, "the window never opens", path.Child("schedule"))
	if w.Duration.Duration <= 0 {
		errs = append(errs, finding.Invalid(path.Child("duration"), w.Duration.Duration.String(), finding.Say("must be above zero, or the window never opens"), finding.Say("set how long it is open, such as 8h")))
	}
	if _, err := w.Location(); err != nil {
		errs = append(errs, finding.Invalid(path.Child("timeZone"), *w.TimeZone, finding.Say("must be a time zone of the IANA database"), finding.Say("write it such as Europe/Berlin")))
	}
	return errs
}

func validateBudget(b *api.Budget, path *field.Path) finding.List {
	var errs finding.List
	errs = append(errs, validateBudgetNodes(string(b.Nodes), path.Child("nodes"))...)
	switch {
	case b.Schedule != nil && b.Duration == nil:
		errs = append(errs, finding.Required(path.Child("duration"), finding.Say("a schedule needs a duration: how long the budget holds from each match"), finding.Say("set it, such as 8h, or remove the schedule")))
	case b.Schedule == nil && b.Duration != nil:
		errs = append(errs, finding.Required(path.Child("schedule"), finding.Say("a duration needs a schedule: when the budget begins to hold"), finding.Say("set it, such as @daily, or remove the duration")))
	}
	if b.Schedule != nil {
		errs = append(errs, validateSchedule(*b.Schedule, "the budget never holds", path.Child("schedule"))...)
	}
	if b.Duration != nil && b.Duration.Duration <= 0 {
		errs = append(errs, finding.Invalid(path.Child("duration"), b.Duration.Duration.String(), finding.Say("must be above zero"), finding.Say("set how long the budget holds, such as 8h")))
	}
	for i, reason := range b.Reasons {
		errs = append(errs, choice(&reason, api.DisruptionReasons, path.Child("reasons").Index(i))...)
	}
	return errs
}

func validateBudgetNodes(nodes string, path *field.Path) finding.List {
	number, isPercent := strings.CutSuffix(nodes, "%")
	n, err := strconv.ParseUint(number, 10, 31)
	switch {
	case nodes == "":
		return finding.List{finding.Required(path, finding.Say("how many nodes may go at a time"), finding.Say("set it, such as 3 or %q", "10%"))}
	case err != nil:
		return finding.List{finding.Invalid(path, nodes, finding.Say("must be a number of nodes or a percentage"), adviseNodes(nodes))}
	case isPercent && n > 100:
		return finding.List{finding.Invalid(path, nodes, finding.Say("must be from 0%% to 100%%"), suggest.Value("100%"))}
	}
	return nil
}

// nodesForm is a number with an optional percent sign, however written.
var nodesForm = regexp.MustCompile(`([0-9]{1,9})(?:\.[0-9]*)?\s*(%?)`)

func adviseNodes(nodes string) finding.Message {
	found := nodesForm.FindStringSubmatch(nodes)
	switch {
	case strings.HasPrefix(strings.TrimSpace(nodes), "-"):
		return suggest.Value("0")
	case found == nil:
		return finding.Say(`write it in digits, such as "3" or "10%%"`)
	case found[2] == "%" && len(strings.TrimLeft(found[1], "0")) > 2:
		return suggest.Value("100%")
	}
	return suggest.Value(found[1] + found[2])
}

func durationNotNegative(d *metav1.Duration, path *field.Path) finding.List {
	if d == nil || d.Duration >= 0 {
		return nil
	}
	return finding.List{negative(path, d.Duration.String())}
}
