package validate

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// word draws what people put anywhere: right, nearly right and nonsense.
var word = rapid.OneOf(
	rapid.SampledFrom(append(api.WellKnownLabels(), "", "team", "a b", "1", "-1", "9223372036854775807", "spot", "on_demand", "“a”",
		api.LabelProvisioner, "beta.kubernetes.io/arch", "memory.available", "5%", "NaN%", "1Gi", "@daily", "0 9 * * *", "aws::ids", "subnet-0a,")),
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

var requirement = rapid.Custom(func(t *rapid.T) api.Requirement {
	return api.Requirement{
		Key:      word.Draw(t, "key"),
		Operator: api.Operator(rapid.SampledFrom(append(operators, "", "in")).Draw(t, "operator")),
		Values:   words().Draw(t, "values"),
	}
})

var provisioner = rapid.Custom(func(t *rapid.T) *api.Provisioner {
	p := &api.Provisioner{Spec: api.ProvisionerSpec{
		Labels:        wordMap().Draw(t, "labels"),
		Annotations:   wordMap().Draw(t, "annotations"),
		Taints:        rapid.SliceOfN(taint, 0, 3).Draw(t, "taints"),
		StartupTaints: rapid.SliceOfN(taint, 0, 3).Draw(t, "startupTaints"),
		Requirements:  rapid.SliceOfN(requirement, 0, 5).Draw(t, "requirements"),
		InstanceTypes: words().Draw(t, "instanceTypes"),
		PodOverrides:  words().Draw(t, "podOverrides"),
		PodBinding:    api.PodBinding(word.Draw(t, "podBinding")),
	}}
	p.Name = word.Draw(t, "name")
	if rapid.Bool().Draw(t, "kubelet") {
		p.Spec.KubeletConfiguration = &api.KubeletConfiguration{
			ClusterDNS: words().Draw(t, "dns"), EvictionHard: wordMap().Draw(t, "hard"), EvictionSoft: wordMap().Draw(t, "soft"),
			MaxPods: ptr.To(rapid.Int32().Draw(t, "maxPods")),
		}
	}
	if rapid.Bool().Draw(t, "disruption") {
		p.Spec.Disruption = &api.Disruption{Budgets: []api.Budget{{Nodes: api.NumberOrPercent(word.Draw(t, "nodes")), Schedule: ptr.To(word.Draw(t, "schedule"))}}}
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

		_ = ProvisionerErrors(p)
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
		if len(ProvisionerErrors(p)) > 0 {
			p.Spec = api.ProvisionerSpec{Requirements: p.Spec.Requirements}
		}
		if len(ProvisionerErrors(p)) > 0 {
			return
		}
		if errs := ProvisionerErrors(p.Defaulted()); len(errs) > 0 {
			t.Fatalf("valid until defaulted: %v", errs)
		}
	})
}

// TestRequirementsAgreeWithBruteForce compares the check for contradictions with
// trying every value of a small universe.
func TestRequirementsAgreeWithBruteForce(t *testing.T) {
	universe := []string{"", "0", "1", "2", "3", "4", "5", "6", "a", "b"}
	rapid.Check(t, func(t *rapid.T) {
		var spec api.ProvisionerSpec
		for range rapid.IntRange(1, 4).Draw(t, "count") {
			r := api.Requirement{Key: "team", Operator: api.Operator(rapid.SampledFrom(operators).Draw(t, "operator"))}
			switch r.Operator {
			case api.OpIn, api.OpNotIn:
				r.Values = rapid.SliceOfN(rapid.SampledFrom(universe), 1, 3).Draw(t, "values")
			case api.OpGt, api.OpLt, api.OpGte, api.OpLte:
				r.Values = []string{rapid.SampledFrom([]string{"0", "1", "2", "3", "4"}).Draw(t, "bound")}
			}
			spec.Requirements = append(spec.Requirements, r)
		}
		p := &api.Provisioner{Spec: spec}
		p.Name = "a"
		accepted := len(ProvisionerErrors(p)) == 0
		// Values outside the universe are as good as its largest number or letter.
		if want := bruteForce(spec.Requirements, append(universe, "z", "100")); accepted != want {
			t.Fatalf("accepted = %t, want %t: %v", accepted, want, spec.Requirements)
		}
	})
}

func bruteForce(requirements []api.Requirement, universe []string) bool {
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
func meets(value *string, r api.Requirement) bool {
	contains := false
	for _, v := range r.Values {
		contains = contains || (value != nil && v == *value)
	}
	var n, bound int64
	isNumber := false
	if value != nil {
		n, isNumber = api.ParseBound(*value)
	}
	if len(r.Values) == 1 {
		bound, _ = api.ParseBound(r.Values[0])
	}
	switch r.Operator {
	case api.OpIn:
		return contains
	case api.OpNotIn:
		return !contains
	case api.OpExists:
		return value != nil
	case api.OpDoesNotExist:
		return value == nil
	case api.OpGt:
		return isNumber && n > bound
	case api.OpGte:
		return isNumber && n >= bound
	case api.OpLt:
		return isNumber && n < bound
	default:
		return isNumber && n <= bound
	}
}
