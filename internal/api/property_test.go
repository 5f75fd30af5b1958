package api

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
)

// word draws what people put anywhere: right, nearly right and nonsense.
var word = rapid.OneOf(
	rapid.SampledFrom(append(WellKnownLabels(), "", "team", "a b", "1", "-1", "9223372036854775807", "spot", "on_demand", "“a”",
		LabelProvisioner, "beta.kubernetes.io/arch", "memory.available", "5%", "NaN%", "1Gi", "@daily", "0 9 * * *", "aws::ids", "subnet-0a,")),
	rapid.String(),
)

func words() *rapid.Generator[[]string] { return rapid.SliceOfN(word, 0, 4) }

func wordMap() *rapid.Generator[map[string]string] { return rapid.MapOfN(word, word, 0, 4) }

var taint = rapid.Custom(func(t *rapid.T) corev1.Taint {
	return corev1.Taint{
		Key: word.Draw(t, "key"), Value: word.Draw(t, "value"),
		Effect: corev1.TaintEffect(rapid.SampledFrom(append(taintEffects, "", "x")).Draw(t, "effect")),
	}
})

var requirement = rapid.Custom(func(t *rapid.T) Requirement {
	return Requirement{
		Key:      word.Draw(t, "key"),
		Operator: Operator(rapid.SampledFrom(append(operators, "", "in")).Draw(t, "operator")),
		Values:   words().Draw(t, "values"),
	}
})

var provisioner = rapid.Custom(func(t *rapid.T) *Provisioner {
	p := &Provisioner{Spec: ProvisionerSpec{
		Labels:        wordMap().Draw(t, "labels"),
		Annotations:   wordMap().Draw(t, "annotations"),
		Taints:        rapid.SliceOfN(taint, 0, 3).Draw(t, "taints"),
		StartupTaints: rapid.SliceOfN(taint, 0, 3).Draw(t, "startupTaints"),
		Requirements:  rapid.SliceOfN(requirement, 0, 5).Draw(t, "requirements"),
		InstanceTypes: words().Draw(t, "instanceTypes"),
		PodOverrides:  words().Draw(t, "podOverrides"),
		PodBinding:    PodBinding(word.Draw(t, "podBinding")),
	}}
	p.Name = word.Draw(t, "name")
	if rapid.Bool().Draw(t, "kubelet") {
		p.Spec.KubeletConfiguration = &KubeletConfiguration{
			ClusterDNS: words().Draw(t, "dns"), EvictionHard: wordMap().Draw(t, "hard"), EvictionSoft: wordMap().Draw(t, "soft"),
			MaxPods: ptr.To(rapid.Int32().Draw(t, "maxPods")),
		}
	}
	if rapid.Bool().Draw(t, "disruption") {
		p.Spec.Disruption = &Disruption{Budgets: []Budget{{Nodes: word.Draw(t, "nodes"), Schedule: ptr.To(word.Draw(t, "schedule"))}}}
	}
	if rapid.Bool().Draw(t, "provider") {
		raw, err := json.Marshal(map[string]any{word.Draw(t, "field"): word.Draw(t, "value"), "subnetSelector": wordMap().Draw(t, "selector")})
		if err != nil {
			t.Fatal(err)
		}
		p.Spec.Provider = &runtime.RawExtension{Raw: raw}
	}
	return p
})

// TestAnyProvisioner holds for whatever reaches the API: checking never panics
// and never changes its argument, defaulting is idempotent, the hash ignores it.
func TestAnyProvisioner(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := provisioner.Draw(t, "provisioner")
		before := p.DeepCopy()

		_ = ValidateProvisioner(p)
		_ = warnProvisioner(p)
		once := p.Defaulted()

		if diff := cmp.Diff(before, p); diff != "" {
			t.Fatalf("the argument changed:\n%s", diff)
		}
		if diff := cmp.Diff(once, once.Defaulted()); diff != "" {
			t.Fatalf("defaulting twice differs:\n%s", diff)
		}
		if once.Hash() != p.Hash() {
			t.Fatal("defaults changed the hash")
		}
	})
}

// TestDefaultsKeepValidity holds that defaults make nothing valid invalid.
func TestDefaultsKeepValidity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := provisioner.Draw(t, "provisioner")
		p.Name, p.Spec.PodBinding = "a", ""
		if len(ValidateProvisioner(p)) > 0 {
			p.Spec = ProvisionerSpec{Requirements: p.Spec.Requirements}
		}
		if len(ValidateProvisioner(p)) > 0 {
			return
		}
		if errs := ValidateProvisioner(p.Defaulted()); len(errs) > 0 {
			t.Fatalf("valid until defaulted: %v", errs)
		}
	})
}

// TestRequirementsAgreeWithBruteForce compares the check for contradictions with
// trying every value of a small universe.
func TestRequirementsAgreeWithBruteForce(t *testing.T) {
	universe := []string{"", "0", "1", "2", "3", "4", "5", "6", "a", "b"}
	rapid.Check(t, func(t *rapid.T) {
		var spec ProvisionerSpec
		for range rapid.IntRange(1, 4).Draw(t, "count") {
			r := Requirement{Key: "team", Operator: Operator(rapid.SampledFrom(operators).Draw(t, "operator"))}
			switch r.Operator {
			case OpIn, OpNotIn:
				r.Values = rapid.SliceOfN(rapid.SampledFrom(universe), 1, 3).Draw(t, "values")
			case OpGt, OpLt, OpGte, OpLte:
				r.Values = []string{rapid.SampledFrom([]string{"0", "1", "2", "3", "4"}).Draw(t, "bound")}
			}
			spec.Requirements = append(spec.Requirements, r)
		}
		p := &Provisioner{Spec: spec}
		p.Name = "a"
		accepted := len(ValidateProvisioner(p)) == 0
		// Values outside the universe are as good as its largest number or letter.
		if want := bruteForce(spec.Requirements, append(universe, "z", "100")); accepted != want {
			t.Fatalf("accepted = %t, want %t: %v", accepted, want, spec.Requirements)
		}
	})
}

func bruteForce(requirements []Requirement, universe []string) bool {
	fits := func(value *string) bool {
		for _, r := range requirements {
			if !meets(value, r) {
				return false
			}
		}
		return true
	}
	for i := range universe {
		if fits(&universe[i]) {
			return true
		}
	}
	return fits(nil)
}

// meets says whether a label with the value, or without one, meets r.
func meets(value *string, r Requirement) bool {
	contains := false
	for _, v := range r.Values {
		contains = contains || (value != nil && v == *value)
	}
	var n, bound int64
	isNumber := false
	if value != nil {
		n, isNumber = parseBound(*value)
	}
	if len(r.Values) == 1 {
		bound, _ = parseBound(r.Values[0])
	}
	switch r.Operator {
	case OpIn:
		return contains
	case OpNotIn:
		return !contains
	case OpExists:
		return value != nil
	case OpDoesNotExist:
		return value == nil
	case OpGt:
		return isNumber && n > bound
	case OpGte:
		return isNumber && n >= bound
	case OpLt:
		return isNumber && n < bound
	default:
		return isNumber && n <= bound
	}
}
