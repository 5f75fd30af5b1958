package api

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func validateDisruption(d *Disruption, path *field.Path) field.ErrorList {
	if d == nil {
		return nil
	}
	var errs field.ErrorList
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

func validateConsolidateAfter(after *string, path *field.Path) field.ErrorList {
	if after == nil || *after == Never {
		return nil
	}
	d, err := time.ParseDuration(*after)
	if err != nil {
		advice := adviseDuration(*after)
		if strings.EqualFold(*after, Never) {
			advice = nearestValue(Never)
		}
		return field.ErrorList{field.Invalid(path, *after, "must be a duration such as 30s or 1h30m, or "+Never+advice)}
	}
	return durationNotNegative(&metav1.Duration{Duration: d}, path)
}

func validateEvictionCost(cost *NumberOrNever, path *field.Path) field.ErrorList {
	if cost == nil || *cost == Never {
		return nil
	}
	text := string(*cost)
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case err == nil && v < 0:
		return field.ErrorList{field.Invalid(path, text, "must not be negative: it is what moving a pod costs"+nearestValue("0"))}
	case err == nil && evictionCostForm.MatchString(text):
		return nil
	case strings.EqualFold(text, Never):
		return field.ErrorList{field.Invalid(path, text, "must be a number such as 1 or 0.5, or "+Never+nearestValue(Never))}
	}
	return field.ErrorList{field.Invalid(path, text, "must be a number such as 1 or 0.5, or "+Never+"; write it in digits")}
}

var evictionCostForm = regexp.MustCompile(`^[0-9]{1,9}([.][0-9]{1,9})?$`)

// longestGap between two matches of a schedule is that of 29 February around 2100.
const longestGap = 8*366 + 1

func validateWindow(w *Window, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if err := checkCron(w.Schedule); err != nil {
		errs = append(errs, field.Invalid(path.Child("schedule"), w.Schedule, err.Error()))
	} else if s, err := parseSchedule(w.Schedule); err == nil && !s.matchedSince(time.Date(2104, 3, 1, 0, 0, 0, 0, time.UTC), longestGap*24*time.Hour) {
		errs = append(errs, field.Invalid(path.Child("schedule"), w.Schedule, "no day matches it, so that the window never opens; correct day of month and month"))
	}
	if w.Duration.Duration <= 0 {
		errs = append(errs, field.Invalid(path.Child("duration"), w.Duration.Duration.String(), "must be above zero, or the window never opens; set how long it is open, such as 8h"))
	}
	if _, err := w.location(); err != nil {
		errs = append(errs, field.Invalid(path.Child("timeZone"), *w.TimeZone, "must be a time zone of the IANA database; write it such as Europe/Berlin"))
	}
	return errs
}

func validateBudget(b *Budget, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if problem := budgetNodesProblem(b.Nodes); problem != "" {
		errs = append(errs, field.Invalid(path.Child("nodes"), b.Nodes, problem))
	}
	switch {
	case b.Schedule != nil && b.Duration == nil:
		errs = append(errs, field.Required(path.Child("duration"), "a schedule needs a duration: how long the budget holds from each match; set it, such as 8h, or remove the schedule"))
	case b.Schedule == nil && b.Duration != nil:
		errs = append(errs, field.Required(path.Child("schedule"), "a duration needs a schedule: when the budget begins to hold; set it, such as @daily, or remove the duration"))
	}
	if b.Schedule != nil {
		if err := checkCron(*b.Schedule); err != nil {
			errs = append(errs, field.Invalid(path.Child("schedule"), *b.Schedule, err.Error()))
		}
	}
	if b.Duration != nil && b.Duration.Duration <= 0 {
		errs = append(errs, field.Invalid(path.Child("duration"), b.Duration.Duration.String(), "must be above zero; set how long the budget holds, such as 8h"))
	}
	for i, reason := range b.Reasons {
		errs = append(errs, choice(&reason, disruptionReasons, path.Child("reasons").Index(i))...)
	}
	return errs
}

// budgetNodesProblem says what is wrong with a budget's nodes, if anything.
func budgetNodesProblem(nodes string) string {
	number, isPercent := strings.CutSuffix(nodes, "%")
	n, err := strconv.ParseUint(number, 10, 31)
	switch {
	case err != nil:
		return "must be a number of nodes or a percentage" + adviseNodes(nodes)
	case isPercent && n > 100:
		return "must be from 0% to 100%" + nearestValue("100%")
	}
	return ""
}

// nodesForm is a number with an optional percent sign, however written.
var nodesForm = regexp.MustCompile(`([0-9]{1,9})(?:\.[0-9]*)?\s*(%?)`)

func adviseNodes(nodes string) string {
	found := nodesForm.FindStringSubmatch(nodes)
	switch {
	case strings.HasPrefix(strings.TrimSpace(nodes), "-"):
		return nearestValue("0")
	case found == nil:
		return `; write it in digits, such as "3" or "10%"`
	case found[2] == "%" && len(strings.TrimLeft(found[1], "0")) > 2:
		return nearestValue("100%")
	}
	return nearestValue(found[1] + found[2])
}

func durationNotNegative(d *metav1.Duration, path *field.Path) field.ErrorList {
	if d == nil || d.Duration >= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, d.Duration.String(), notNegativeDetail)}
}
