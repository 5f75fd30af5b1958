package api

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// say is Say for the rules of this package, of which each has several messages.
func say(format string, args ...any) Message { return Say(format, args...) }

// none is the advice of a rule that has none of its own: see usualAdvice.
var none Message

// fieldAt names a field by its whole path in a message.
func fieldAt(path *field.Path) Field { return Field{Path: path.String()} }

// fieldIn names a field by its own name in a message. Names are those of the steps from
// the path to the field.
func fieldIn(path *field.Path, names ...string) Field {
	return Field{Path: path.Child(names[0], names[1:]...).String(), Name: names[len(names)-1]}
}

// pathOf returns the text of a path; it is empty for the whole object.
func pathOf(path *field.Path) string {
	if path == nil {
		return ""
	}
	return path.String()
}

// warning is a Finding about what breaks no rule.
func warning(path *field.Path, text, advice Message) Finding {
	return Finding{Path: pathOf(path), Text: text, Advice: advice}
}

// required is the error of a field that is missing.
func required(path *field.Path, text, advice Message) Finding {
	return broken(field.ErrorTypeRequired, path, "", text, advice)
}

// invalid is the error of a value that breaks a rule.
func invalid(path *field.Path, value any, text, advice Message) Finding {
	return broken(field.ErrorTypeInvalid, path, value, text, advice)
}

// forbidden is the error of a field that may not be set.
func forbidden(path *field.Path, text, advice Message) Finding {
	return broken(field.ErrorTypeForbidden, path, "", text, advice)
}

// duplicate is the error of a value that may be there once.
func duplicate(path *field.Path, value any, text Message) Finding {
	return broken(field.ErrorTypeDuplicate, path, value, text, none)
}

// tooLong is the error of a text of more bytes than allowed.
func tooLong(path *field.Path, most int, advice Message) Finding {
	return broken(field.ErrorTypeTooLong, path, "", Plain(field.TooLong(nil, "", most).Detail), advice)
}

// broken is an error in the words of Kubernetes for its kind. Values that are wrong for a
// reason which the rule does not know get that reason instead: see culprit.
func broken(kind field.ErrorType, path *field.Path, value any, text, advice Message) Finding {
	out := Finding{Severity: Error, Path: pathOf(path), Value: value}
	if found, ok := culprit(path, value); ok {
		return found
	}
	out.Text = Plain((&field.Error{Type: kind, BadValue: value}).ErrorBody())
	if !text.Empty() {
		out.Text = say("%s: %s", out.Text, text)
	}
	if out.Advice = advice; advice.Empty() {
		out.Advice = Plain(usualAdvice[kind])
	}
	return out
}

// mistyped is the error of a value that cannot be read as its type. The text shows the
// value.
func mistyped(path *field.Path, value any, text, advice Message) Finding {
	if found, ok := culprit(path, value); ok {
		return found
	}
	return Finding{Severity: Error, Path: pathOf(path), Value: value, Text: text, Advice: advice}
}

// usualAdvice is what to do about an error that has no advice of its own.
var usualAdvice = map[field.ErrorType]string{
	field.ErrorTypeDuplicate:    "remove one of the two",
	field.ErrorTypeForbidden:    "remove it",
	field.ErrorTypeNotSupported: "choose one of these values",
	field.ErrorTypeTooLong:      "shorten it",
	field.ErrorTypeTooMany:      "shorten it",
}

// either returns the first advice that says something.
func either(first, second Message) Message {
	if first.Empty() {
		return second
	}
	return first
}
