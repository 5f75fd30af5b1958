package api

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Severity says how bad a Finding is.
type Severity int

const (
	// Warning marks what is accepted and yet has no effect, is out of date or is
	// probably not what the author meant.
	Warning Severity = iota
	// Error marks what breaks a rule. An object with an error is not acted on.
	Error
)

// Finding is what the rules of the API say about one field.
//
// +kubebuilder:object:generate=false
type Finding struct { //nolint:errname // it may be a warning
	Severity Severity
	// Path is the JSON path of the field, such as spec.requirements[0].key. It is
	// empty for the whole object.
	Path string
	// Value is the offending value, nil where there is none to show.
	Value any
	// Text says what is wrong, without a full stop.
	Text string
	// Advice says what would be right, without a full stop. It may be empty.
	Advice string
}

// Error returns the path, what is wrong and what would be right on one line.
func (f Finding) Error() string {
	out := f.Text
	if f.Path != "" {
		out = f.Path + ": " + out
	}
	if f.Advice != "" {
		out += "; " + f.Advice
	}
	return out
}

// Findings are errors and warnings about one object, in the order of its fields.
//
// +kubebuilder:object:generate=false
type Findings []Finding //nolint:errname // they may be warnings

// Error returns one line for each finding.
func (fs Findings) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.Error()
	}
	return strings.Join(lines, "\n")
}

// Summary returns all findings on one line, for a condition or an event. Of many
// it shows the first few and counts the rest.
func (fs Findings) Summary() string {
	const most = 8
	var sentences []string
	for _, f := range fs[:min(len(fs), most)] {
		sentences = append(sentences, strings.TrimRight(f.Error(), ".?"))
	}
	if more := len(fs) - most; more > 0 {
		sentences = append(sentences, fmt.Sprintf("And %d more", more))
	}
	return strings.Join(sentences, ". ")
}

// Errors returns the findings that break a rule.
func (fs Findings) Errors() Findings { return fs.of(Error) }

// Warnings returns the findings that break no rule.
func (fs Findings) Warnings() Findings { return fs.of(Warning) }

func (fs Findings) of(s Severity) Findings {
	var out Findings
	for _, f := range fs {
		if f.Severity == s {
			out = append(out, f)
		}
	}
	return out
}

// FindingsOf returns what an error says about single fields. An error that says
// nothing about a field is one finding about the whole object.
func FindingsOf(err error) Findings {
	var many Findings
	var one Finding
	switch {
	case err == nil:
		return nil
	case errors.As(err, &many):
		return many
	case errors.As(err, &one):
		return Findings{one}
	}
	return Findings{{Severity: Error, Text: err.Error()}}
}

// CheckProvisioner checks a Provisioner by every rule of the API: what it breaks,
// and what is accepted and yet doubtful. One that stands for an object of another kind
// is judged by what of that object is not supported, and by its requirements and limits:
// its other fields are not the user's.
func CheckProvisioner(p *Provisioner) Findings {
	if p.Source != nil {
		return append(p.Source.findings(), p.Source.own(warnProvisioner(p))...)
	}
	return append(broken(ValidateProvisioner(p)), warnProvisioner(p)...)
}

// CheckNodeTemplate checks a node profile as CheckProvisioner does a Provisioner.
func CheckNodeTemplate(t *AWSNodeTemplate) Findings {
	if t.Source != nil {
		return t.Source.findings()
	}
	return append(broken(ValidateNodeTemplate(t)), warnTags(t.Spec.Tags, field.NewPath("spec", "tags"))...)
}

// broken returns the findings for rules that are broken. The detail of such an
// error says what is wrong and, after a semicolon, what would be right.
func broken(errs field.ErrorList) Findings {
	out := make(Findings, len(errs))
	for i, err := range errs {
		what := *err
		var advice string
		what.Detail, advice = cutAdvice(err.Detail)
		text := what.ErrorBody()
		if err.Type == field.ErrorTypeTypeInvalid {
			text = what.Detail // which shows the value already
		}
		out[i] = Finding{Severity: Error, Path: err.Field, Value: err.BadValue, Text: text, Advice: advice}
		if advice == "" {
			out[i].Advice = usualAdvice[err.Type]
		}
		if text, advice := culprit(err.BadValue); text != "" && !strings.Contains(what.Detail, "typographic") && !strings.Contains(what.Detail, "template") {
			out[i].Text, out[i].Advice = text, advice
		}
	}
	return out
}

// usualAdvice is what to do about an error that has no advice of its own.
var usualAdvice = map[field.ErrorType]string{
	field.ErrorTypeDuplicate:    "remove one of the two",
	field.ErrorTypeForbidden:    "remove it",
	field.ErrorTypeNotSupported: "choose one of these values",
	field.ErrorTypeTooLong:      "shorten it",
	field.ErrorTypeTooMany:      "shorten it",
}

// cutAdvice cuts a detail at its first semicolon that stands outside of quotes.
func cutAdvice(detail string) (what, advice string) {
	quoted := false
	for i := range detail {
		switch {
		case detail[i] == '"' && (i == 0 || detail[i-1] != '\\'):
			quoted = !quoted
		case !quoted && strings.HasPrefix(detail[i:], "; "):
			return detail[:i], detail[i+len("; "):]
		}
	}
	return detail, ""
}
