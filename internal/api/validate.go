package api

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// typographicQuotes come into manifests from documents and chats, where they
// look like quotes and are part of the value.
const typographicQuotes = "“”„‟‘’‚‛«»"

// unsupported reports a value outside a fixed choice, with the nearest of them.
func unsupported(path *field.Path, value string, allowed []string) *field.Error {
	quoted := make([]string, len(allowed))
	for i, a := range allowed {
		quoted[i] = fmt.Sprintf("%q", a)
	}
	detail := "must be " + strings.Join(quoted, ", ")
	if len(quoted) > 1 {
		detail = "must be one of " + strings.Join(quoted, ", ")
	}
	return &field.Error{
		Type:     field.ErrorTypeNotSupported,
		Field:    path.String(),
		BadValue: value,
		Detail:   detail + didYouMean(value, allowed),
	}
}

// nearestValue is the end of a message that names the nearest valid value.
func nearestValue(value string) string { return fmt.Sprintf("; the nearest valid value is %q", value) }

// didYouMean is the end of a message that names the nearest valid value, or nothing.
func didYouMean(value string, allowed []string) string {
	if len(allowed) == 1 {
		return nearestValue(allowed[0])
	}
	if near, ok := Suggest(value, allowed); ok && near != value {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

// choice checks an optional value of a fixed choice.
func choice(value *string, allowed []string, path *field.Path) field.ErrorList {
	if value == nil || slices.Contains(allowed, *value) {
		return nil
	}
	return field.ErrorList{unsupported(path, *value, allowed)}
}

// checkQuotes reports typographic quotes. Where it does, the other checks of
// the value have nothing to add.
func checkQuotes(value string, path *field.Path) field.ErrorList {
	quote := typographicQuote(value)
	if quote == "" {
		return nil
	}
	detail := fmt.Sprintf("holds the typographic quote %s as part of the value", quote)
	without := withoutQuotes(value)
	if len(validation.IsValidLabelValue(without)) > 0 {
		without = cleaned(without)
	}
	if without == "" {
		return field.ErrorList{field.Invalid(path, value, detail+"; use plain quotes or none")}
	}
	return field.ErrorList{field.Invalid(path, value, detail+nearestValue(without))}
}

// checkLabelKey checks the syntax of a label, taint or requirement key.
func checkLabelKey(key string, path *field.Path) field.ErrorList {
	if errs := checkQuotes(key, path); errs != nil {
		return errs
	}
	return invalid(path, key, validation.IsQualifiedName)
}

// checkLabelValue checks the syntax of a label's value.
func checkLabelValue(value string, path *field.Path) field.ErrorList {
	if errs := checkQuotes(value, path); errs != nil {
		return errs
	}
	return invalid(path, value, validation.IsValidLabelValue)
}

// invalid reports what a check of Kubernetes finds, without its regular
// expressions and with the nearest value that passes the check.
func invalid(path *field.Path, value string, check func(string) []string) field.ErrorList {
	var errs field.ErrorList
	for _, detail := range check(value) {
		detail, _, _ = strings.Cut(detail, " (e.g.")
		if near := cleaned(value); near != "" && near != value && len(check(near)) == 0 {
			detail += nearestValue(near)
		} else if near = strings.ToLower(strings.ReplaceAll(near, "_", "-")); near != "" && near != value && len(check(near)) == 0 {
			detail += nearestValue(near)
		} else {
			detail += "; write it in plain letters, digits and hyphens"
		}
		errs = append(errs, field.Invalid(path, value, detail))
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
func notNegative[T int32 | int64](value *T, path *field.Path) field.ErrorList {
	if value == nil || *value >= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, *value, notNegativeDetail)}
}

// notNegativeDetail is what is wrong with a negative amount.
const notNegativeDetail = "must not be negative; the nearest valid value is 0"

// within checks an optional number against inclusive bounds.
func within[T int32 | int64](value *T, low, high T, path *field.Path) field.ErrorList {
	if value == nil || (*value >= low && *value <= high) {
		return nil
	}
	nearest := min(max(*value, low), high)
	return field.ErrorList{field.Invalid(path, *value,
		fmt.Sprintf("must be from %d to %d; the nearest valid value is %d", low, high, nearest))}
}
