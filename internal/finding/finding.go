// Package finding is what a rule says about one field: what is wrong and what would be
// right, as a value that each audience renders in its own terms.
package finding

import (
	"errors"
	"fmt"
	"strings"
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
type Finding struct { //nolint:errname // it may be a warning
	Severity Severity
	// Path is the JSON path of the field, such as spec.requirements[0].key. It is
	// empty for the whole object.
	Path string
	// Text says what is wrong, without a full stop.
	Text Message
	// Advice says what would be right, without a full stop. It may be empty.
	Advice Message
}

// Moved returns the finding as one about the object that stands behind another one: the
// function gives the path there of a path here.
func (f Finding) Moved(to func(path string) string) Finding {
	f.Path, f.Text, f.Advice = to(f.Path), f.Text.moved(to), f.Advice.moved(to)
	return f
}

// Error returns the path, what is wrong and what would be right on one line.
func (f Finding) Error() string {
	if f.Path == "" {
		return f.Body()
	}
	return f.Path + ": " + f.Body()
}

// Body returns what is wrong and what would be right on one line, without the path.
func (f Finding) Body() string {
	if f.Advice.Empty() {
		return f.Text.String()
	}
	return f.Text.String() + "; " + f.Advice.String()
}

// List is errors and warnings about one object, in the order of its fields.
type List []Finding //nolint:errname // they may be warnings

// Error returns one line for each finding.
func (fs List) Error() string { return strings.Join(fs.Lines(), "\n") }

// Lines returns each finding on a line of its own.
func (fs List) Lines() []string {
	var out []string
	for _, f := range fs {
		out = append(out, f.Error())
	}
	return out
}

// Summary returns all findings on one line, for a condition or an event. Of many
// it shows the first few and counts the rest.
func (fs List) Summary() string {
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
func (fs List) Errors() List { return fs.of(Error) }

// Warnings returns the findings that break no rule.
func (fs List) Warnings() List { return fs.of(Warning) }

func (fs List) of(s Severity) List {
	var out List
	for _, f := range fs {
		if f.Severity == s {
			out = append(out, f)
		}
	}
	return out
}

// Of returns what an error says about single fields. An error that says
// nothing about a field is one finding about the whole object.
func Of(err error) List {
	var many List
	var one Finding
	switch {
	case err == nil:
		return nil
	case errors.As(err, &many):
		return many
	case errors.As(err, &one):
		return List{one}
	}
	return List{{Severity: Error, Text: Plain(err.Error())}}
}
