package validate

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/suggest"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// unsupported reports a value outside a fixed choice, with the nearest of them.
func unsupported(path *field.Path, value string, allowed []string) finding.Finding {
	quoted := make([]string, len(allowed))
	for i, a := range allowed {
		quoted[i] = fmt.Sprintf("%q", a)
	}
	text := finding.Say("must be one of %s", strings.Join(quoted, ", "))
	if len(quoted) == 1 {
		text = finding.Say("must be %s", quoted[0])
	}
	return finding.Broken(field.ErrorTypeNotSupported, path, value, text, didYouMean(value, allowed))
}

// didYouMean is the advice to take the nearest of the allowed values, if there is one.
func didYouMean(value string, allowed []string) finding.Message {
	if len(allowed) == 1 {
		return suggest.Value(allowed[0])
	}
	if near, ok := api.Suggest(value, allowed); ok && near != value {
		return finding.Say("did you mean %q?", near)
	}
	return finding.None
}

// choice checks an optional value of a fixed choice.
func choice(value *string, allowed []string, path *field.Path) finding.List {
	if value == nil || slices.Contains(allowed, *value) {
		return nil
	}
	return finding.List{unsupported(path, *value, allowed)}
}

// checkQuotes reports typographic quotes. Where it does, the other checks of
// the value have nothing to add.
func checkQuotes(value string, path *field.Path) finding.List {
	quote := finding.TypographicQuote(value)
	if quote == "" {
		return nil
	}
	without := finding.WithoutQuotes(value)
	if len(validation.IsValidLabelValue(without)) > 0 {
		without = cleaned(without)
	}
	advice := finding.Say("use plain quotes or none")
	if without != "" {
		advice = suggest.Value(without)
	}
	return finding.List{finding.Typographic(path, value, quote, advice)}
}

// checkLabelKey checks the syntax of a label, taint or requirement key.
func checkLabelKey(key string, path *field.Path) finding.List {
	if errs := checkQuotes(key, path); errs != nil {
		return errs
	}
	return checkForm(path, key, validation.IsQualifiedName)
}

// checkLabelValue checks the syntax of a label's value.
func checkLabelValue(value string, path *field.Path) finding.List {
	if errs := checkQuotes(value, path); errs != nil {
		return errs
	}
	return checkForm(path, value, validation.IsValidLabelValue)
}

// checkForm reports what a check of Kubernetes finds, without its regular
// expressions and with the nearest value that passes the check.
func checkForm(path *field.Path, value string, check func(string) []string) finding.List {
	var errs finding.List
	for _, detail := range check(value) {
		detail, _, _ = strings.Cut(detail, " (e.g.")
		advice := finding.Say("write it in plain letters, digits and hyphens")
		near := cleaned(value)
		for _, candidate := range []string{near, strings.ToLower(strings.ReplaceAll(near, "_", "-"))} {
			if candidate != "" && candidate != value && len(check(candidate)) == 0 {
				advice = suggest.Value(candidate)
				break
			}
		}
		errs = append(errs, finding.Invalid(path, value, finding.Plain(detail), advice))
	}
	return errs
}

// cleaned puts a hyphen in place of each character that names of Kubernetes do
// not have, and drops those at the ends.
func cleaned(value string) string {
	plain := strings.Map(func(r rune) rune {
		if r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r)) || strings.ContainsRune("-_./", r) {
			return r
		}
		return '-'
	}, value)
	return strings.Trim(plain, "-_./")
}

// notNegative checks an optional number.
func notNegative[T int32 | int64](value *T, path *field.Path) finding.List {
	if value == nil || *value >= 0 {
		return nil
	}
	return finding.List{negative(path, *value)}
}

// negative is the error of a negative amount.
func negative(path *field.Path, value any) finding.Finding {
	return finding.Invalid(path, value, finding.Say("must not be negative"), finding.Say("the nearest valid value is 0"))
}

// within checks an optional number against inclusive bounds.
func within[T int32 | int64](value *T, low, high T, path *field.Path) finding.List {
	if value == nil || (*value >= low && *value <= high) {
		return nil
	}
	nearest := min(max(*value, low), high)
	return finding.List{finding.Invalid(path, *value, finding.Say("must be from %d to %d", low, high), finding.Say("the nearest valid value is %d", nearest))}
}
