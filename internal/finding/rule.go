package finding

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// None is the advice of a rule that has none of its own: the usual one is given then.
var None Message

// At names a field by its whole path in a message.
func At(path *field.Path) Field { return Field{Path: path.String()} }

// In names a field by its own name in a message. Names are those of the steps from
// the path to the field.
func In(path *field.Path, names ...string) Field {
	return Field{Path: path.Child(names[0], names[1:]...).String(), Name: names[len(names)-1]}
}

// pathOf returns the text of a path; it is empty for the whole object.
func pathOf(path *field.Path) string {
	if path == nil {
		return ""
	}
	return path.String()
}

// Doubtful is a Finding about what breaks no rule.
func Doubtful(path *field.Path, text, advice Message) Finding {
	return Finding{Path: pathOf(path), Text: text, Advice: advice}
}

// Required is the error of a field that is missing.
func Required(path *field.Path, text, advice Message) Finding {
	return Broken(field.ErrorTypeRequired, path, "", text, advice)
}

// Invalid is the error of a value that breaks a rule.
func Invalid(path *field.Path, value any, text, advice Message) Finding {
	return Broken(field.ErrorTypeInvalid, path, value, text, advice)
}

// Forbidden is the error of a field that may not be set.
func Forbidden(path *field.Path, text, advice Message) Finding {
	return Broken(field.ErrorTypeForbidden, path, "", text, advice)
}

// Duplicate is the error of a value that may be there once.
func Duplicate(path *field.Path, value any, text Message) Finding {
	return Broken(field.ErrorTypeDuplicate, path, value, text, None)
}

// TooLong is the error of a text of more bytes than allowed.
func TooLong(path *field.Path, most int, advice Message) Finding {
	return Broken(field.ErrorTypeTooLong, path, "", Plain(field.TooLong(nil, "", most).Detail), advice)
}

// Broken is an error in the words of Kubernetes for its kind. Values that are wrong for a
// reason which the rule does not know get that reason instead: see culprit.
func Broken(kind field.ErrorType, path *field.Path, value any, text, advice Message) Finding {
	out := Finding{Severity: Error, Path: pathOf(path)}
	if found, ok := culprit(path, value); ok {
		return found
	}
	out.Text = Plain((&field.Error{Type: kind, BadValue: value}).ErrorBody())
	if !text.Empty() {
		out.Text = Say("%s: %s", out.Text, text)
	}
	if out.Advice = advice; advice.Empty() {
		out.Advice = Plain(usualAdvice[kind])
	}
	return out
}

// Mistyped is the error of a value that cannot be read as its type. The text shows the
// value.
func Mistyped(path *field.Path, value any, text, advice Message) Finding {
	if found, ok := culprit(path, value); ok {
		return found
	}
	return Finding{Severity: Error, Path: pathOf(path), Text: text, Advice: advice}
}

// usualAdvice is what to do about an error that has no advice of its own.
var usualAdvice = map[field.ErrorType]string{
	field.ErrorTypeDuplicate:    "remove one of the two",
	field.ErrorTypeForbidden:    "remove it",
	field.ErrorTypeNotSupported: "choose one of these values",
	field.ErrorTypeTooLong:      "shorten it",
	field.ErrorTypeTooMany:      "shorten it",
}

// Either returns the first advice that says something.
func Either(first, second Message) Message {
	if first.Empty() {
		return second
	}
	return first
}
