package validate

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"sync"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// bounds are what a CustomResourceDefinition says of one value that the rules
// in Go leave to it: how large it may be and which form it has.
type bounds struct {
	MaxLength            *int               `json:"maxLength"`
	MaxItems             *int               `json:"maxItems"`
	MaxProperties        *int               `json:"maxProperties"`
	Pattern              *regexp.Regexp     `json:"pattern"`
	Properties           map[string]*bounds `json:"properties"`
	Items                *bounds            `json:"items"`
	AdditionalProperties entries            `json:"additionalProperties"`
}

// entries are the bounds of each value of a map, nil if it has none.
type entries struct{ *bounds }

// UnmarshalJSON also takes what only says whether there may be any.
func (e *entries) UnmarshalJSON(raw []byte) error {
	if raw[0] != '{' {
		return nil
	}
	e.bounds = &bounds{}
	return json.Unmarshal(raw, e.bounds)
}

// definitions are the bounds of the spec, by the name of the definition.
var definitions = sync.OnceValue(func() map[string]*bounds {
	out := map[string]*bounds{}
	for _, crd := range api.CRDs() {
		var definition struct {
			Spec struct {
				Versions []struct {
					Schema struct {
						OpenAPIV3Schema bounds `json:"openAPIV3Schema"`
					} `json:"schema"`
				} `json:"versions"`
			} `json:"spec"`
		}
		if err := yaml.Unmarshal(crd.YAML, &definition); err != nil {
			panic("embedded CRD " + crd.Name + ": " + err.Error()) // a mistake of the build, not of the user
		}
		out[crd.Name] = definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	}
	return out
})

// Bounds reports what the API server would refuse in a spec because it is
// too large or has another form. Resource is that of the definition, such as
// provisioners.karpenter.sh.
func Bounds(resource string, spec map[string]any) finding.List {
	return definitions()[resource].check(spec, field.NewPath("spec"))
}

func (b *bounds) check(value any, path *field.Path) finding.List {
	if b == nil {
		return nil
	}
	switch value := value.(type) {
	case string:
		return b.checkText(value, path)
	case []any:
		errs := tooMany(len(value), b.MaxItems, path)
		for i, item := range value {
			errs = append(errs, b.Items.check(item, path.Index(i))...)
		}
		return errs
	case map[string]any:
		errs := tooMany(len(value), b.MaxProperties, path)
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if inner, ok := b.Properties[name]; ok {
				errs = append(errs, inner.check(value[name], path.Child(name))...)
			} else {
				errs = append(errs, b.AdditionalProperties.check(value[name], path.Key(name))...)
			}
		}
		return errs
	}
	return nil
}

func (b *bounds) checkText(text string, path *field.Path) finding.List {
	if size := utf8.RuneCountInString(text); b.MaxLength != nil && size > *b.MaxLength {
		return finding.List{finding.Invalid(path, finding.Abbreviated(text), finding.Say("has %d characters", size), finding.Say("shorten it to %d", *b.MaxLength))}
	}
	if b.Pattern != nil && !b.Pattern.MatchString(text) {
		return finding.List{finding.Invalid(path, text, finding.Say("must have the form %s", b.Pattern), finding.None)}
	}
	return nil
}

func tooMany(have int, most *int, path *field.Path) finding.List {
	if most == nil || have <= *most {
		return nil
	}
	return finding.List{finding.Broken(field.ErrorTypeTooMany, path, have, finding.Plain(field.TooMany(nil, have, *most).Detail), finding.None)}
}
