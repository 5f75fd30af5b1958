package api

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"sync"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
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
	for _, crd := range CRDs() {
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

// CheckBounds reports what the API server would refuse in a spec because it is
// too large or has another form. Resource is that of the definition, such as
// provisioners.karpenter.sh.
func CheckBounds(resource string, spec map[string]any) Findings {
	return definitions()[resource].check(spec, field.NewPath("spec"))
}

func (b *bounds) check(value any, path *field.Path) Findings {
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

func (b *bounds) checkText(text string, path *field.Path) Findings {
	if size := utf8.RuneCountInString(text); b.MaxLength != nil && size > *b.MaxLength {
		return Findings{invalid(path, abbreviated(text), say("has %d characters", size), say("shorten it to %d", *b.MaxLength))}
	}
	if b.Pattern != nil && !b.Pattern.MatchString(text) {
		return Findings{invalid(path, text, say("must have the form %s", b.Pattern), none)}
	}
	return nil
}

func tooMany(have int, most *int, path *field.Path) Findings {
	if most == nil || have <= *most {
		return nil
	}
	return Findings{broken(field.ErrorTypeTooMany, path, have, Plain(field.TooMany(nil, have, *most).Detail), none)}
}

// abbreviated is the beginning of a long text.
func abbreviated(text string) string {
	const longest = 60
	if runes := []rune(text); len(runes) > longest {
		return string(runes[:longest]) + "…"
	}
	return text
}
