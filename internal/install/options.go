package install

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// optionForm says what values a flag takes.
type optionForm struct {
	check   func(string) bool
	says    string
	choices []string // all that it takes, if these are few
	within  *Range   // of numbers and durations
}

var (
	anyText  = optionForm{check: func(v string) bool { return v != "" }, says: "not empty"}
	switched = optionForm{check: func(v string) bool { _, err := strconv.ParseBool(v); return err == nil }, says: "true or false", choices: []string{"true", "false"}}
	pairs    = optionForm{check: func(v string) bool {
		for pair := range strings.SplitSeq(v, ",") {
			if key, _, found := strings.Cut(pair, "="); !found || key == "" {
				return false
			}
		}
		return true
	}, says: "KEY=VALUE, with commas between several"}
)

func oneOf(values ...string) optionForm {
	return optionForm{check: func(v string) bool { return slices.Contains(values, v) }, says: "one of " + strings.Join(values, ", "), choices: values}
}

func ranged(r Range) optionForm {
	form := optionForm{within: &r, says: "a number such as 7.5"}
	switch {
	case r.Duration:
		form.says = "a duration such as 15m or 500ms"
	case r.Whole:
		form.says = "a whole number"
	}
	form.check = func(v string) bool { _, err := r.read(v); return err == nil }
	return form
}

// options are the flags of `packhorse-agent run` that an installation may set by
// their names. The others follow from the settings.
var options = map[string]optionForm{
	"batch-idle":                 ranged(Range{Least: 0, Most: 60, Duration: true}),
	"batch-max":                  ranged(Range{Least: 0, Most: 600, Duration: true}),
	"startup-timeout":            ranged(Range{Least: 1, Most: 24 * 3600, Duration: true}),
	"unhealthy-after":            ranged(Range{Least: 1, Most: 7 * 24 * 3600, Off: []float64{-1}, Duration: true}),
	"min-node-lifetime":          ranged(Range{Least: 0, Most: 30 * 24 * 3600, Off: []float64{-1}, Duration: true}),
	"node-cost":                  ranged(Range{Least: 0, Most: 100}),
	"reserved-enis":              ranged(Range{Least: 0, Most: 15, Whole: true}),
	"vm-memory-overhead-percent": ranged(Range{Least: 1, Most: 50, Off: []float64{0}}),

	"evict-ownerless-pods": switched, "guide-arrivals": switched, "steer-departures": switched, "prefix-delegation": switched, "pod-eni": switched, "ignore-enis": switched, "efa": switched,
	"no-pricing": switched, "node-pools": switched,
	"scheduler-name": anyText, "cluster-endpoint": anyText, "tag": pairs,
	"log-level": oneOf("trace", "debug", "info", "warn", "error"), "log-format": oneOf("text", "json"),
}

// ownFlags are set by the installation itself, each with what to use instead.
var ownFlags = map[string]string{
	"cluster-name": "the cluster's name", "region": "the region", "namespace": "the namespace",
	"interruption-queue": "the interruption queue", "default-instance-profile": "the default instance profile",
	"lease-name": "", "leader-elect": "", "kubeconfig": "", "kube-context": "", "metrics-address": "", "health-address": "", "status-address": "",
}

// OptionNames lists the flags that Settings.Options takes, in order.
func OptionNames() []string { return slices.Sorted(maps.Keys(options)) }

// ChoicesOf returns what values a flag takes, if these are few.
func ChoicesOf(flag string) []string { return options[flag].choices }

func checkOptions(at *field.Path, given map[string]string) (errs field.ErrorList) {
	if wrong := NonsenseBatch(given["batch-idle"], given["batch-max"]); wrong != "" {
		errs = append(errs, field.Invalid(at.Key("batch-max"), cmp.Or(given["batch-max"], DefaultBatchMax.String()), wrong))
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		form, known := options[name]
		hint, own := ownFlags[name]
		switch {
		case known && !form.check(given[name]):
			errs = append(errs, field.Invalid(at.Key(name), given[name], "must be "+form.says))
		case known && Nonsense(name, given[name]) != "":
			errs = append(errs, field.Invalid(at.Key(name), given[name], Nonsense(name, given[name])))
		case own && hint != "":
			errs = append(errs, field.Invalid(at.Key(name), given[name], "has a setting of its own: set "+hint))
		case own:
			errs = append(errs, field.Invalid(at.Key(name), given[name], "is set by the installation"))
		case !known:
			message := "is not an option of the agent; options are " + strings.Join(OptionNames(), ", ")
			if meant, ok := api.Suggest(name, OptionNames()); ok {
				message = fmt.Sprintf("is not an option of the agent; did you mean %q?", meant)
			}
			errs = append(errs, field.Invalid(at, name, message))
		}
	}
	return errs
}
