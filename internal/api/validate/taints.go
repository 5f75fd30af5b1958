package validate

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

var taintEffects = []string{
	string(corev1.TaintEffectNoSchedule), string(corev1.TaintEffectPreferNoSchedule), string(corev1.TaintEffectNoExecute),
}

// taintID is what a node may carry once.
type taintID struct {
	key    string
	effect corev1.TaintEffect
}

// validateTaints checks taints and startup taints. The same key and effect may
// occur once in both lists together, since a node can carry it once.
func validateTaints(spec *api.ProvisionerSpec, path *field.Path) finding.List {
	var errs finding.List
	first := map[taintID]*field.Path{}
	check := func(taints []corev1.Taint, path *field.Path) {
		for i := range taints {
			at, id := path.Index(i), taintID{taints[i].Key, taints[i].Effect}
			errs = append(errs, validateTaint(&taints[i], at)...)
			if before, seen := first[id]; seen {
				errs = append(errs, finding.Duplicate(at, fmt.Sprintf("%s:%s", id.key, id.effect), finding.Say("the same key and effect as %s", finding.At(before))))
				continue
			}
			first[id] = at
		}
	}
	check(spec.Taints, path.Child("taints"))
	check(spec.StartupTaints, path.Child("startupTaints"))
	return errs
}

func validateTaint(taint *corev1.Taint, path *field.Path) finding.List {
	var errs finding.List
	if taint.Key == "" {
		errs = append(errs, finding.Required(path.Child("key"), finding.Say("a taint needs a key"), finding.Say("set it, such as dedicated, or remove the taint")))
	} else {
		errs = append(errs, checkLabelKey(taint.Key, path.Child("key"))...)
	}
	errs = append(errs, checkLabelValue(taint.Value, path.Child("value"))...)
	effect := string(taint.Effect)
	switch {
	case effect == "":
		errs = append(errs, finding.Required(path.Child("effect"), finding.Say("one of %q", taintEffects), finding.Say("set it, NoSchedule keeps pods away that do not tolerate the taint")))
	case !slices.Contains(taintEffects, effect):
		errs = append(errs, unsupported(path.Child("effect"), effect, taintEffects))
	}
	return errs
}
