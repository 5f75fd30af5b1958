package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// written is a policy as a user writes it, with all that IAM knows in one that is
// attached to a role.
type written struct {
	Version   string
	ID        string `json:"Id"`
	Statement statements
}

type writtenStatement struct {
	Sid                   string
	Effect                string
	Action, NotAction     values
	Resource, NotResource values
	Condition             map[string]map[string]conditionValues
}

// statements are a list, or one without it.
type statements []writtenStatement

// UnmarshalJSON reads a statement or a list of them, and no field that IAM does not know.
func (s *statements) UnmarshalJSON(raw []byte) error {
	if strings.HasPrefix(string(raw), "{") {
		raw = append(append([]byte("["), raw...), ']')
	}
	var list []writtenStatement
	if err := strictly(raw, &list); err != nil {
		return err
	}
	*s = list
	return nil
}

// conditionValues are a string, a number or a truth value, or a list of them.
type conditionValues []any

// UnmarshalJSON reads one value or a list of them.
func (v *conditionValues) UnmarshalJSON(raw []byte) error {
	var list []any
	if json.Unmarshal(raw, &list) == nil {
		*v = list
		return nil
	}
	var one any
	err := json.Unmarshal(raw, &one)
	if _, object := one.(map[string]any); object {
		return errors.New("a condition must have a value or a list of values")
	}
	*v = conditionValues{one}
	return err
}

func strictly(raw []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more text after its end")
	}
	return nil
}

var (
	action      = regexp.MustCompile(`^(\*|[A-Za-z0-9-]+:[\w*?]+)$`)
	resource    = regexp.MustCompile(`^(\*|arn:.+)$`)
	statementID = regexp.MustCompile(`^[A-Za-z0-9]*$`)
)

// CheckDocument says what IAM would refuse in the policy of a role.
func CheckDocument(raw string) error {
	var doc written
	if err := strictly([]byte(raw), &doc); err != nil {
		return fmt.Errorf("is not an IAM policy: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if doc.Version != "" && doc.Version != "2012-10-17" && doc.Version != "2008-10-17" {
		return fmt.Errorf("has the Version %q: IAM knows 2012-10-17 and 2008-10-17", doc.Version)
	}
	if len(doc.Statement) == 0 {
		return errors.New("has no Statement")
	}
	for i := range doc.Statement {
		if err := doc.Statement[i].check(); err != nil {
			return fmt.Errorf("statement %d: %w", i+1, err)
		}
	}
	return nil
}

func (s *writtenStatement) check() error {
	if s.Effect != "Allow" && s.Effect != "Deny" {
		return fmt.Errorf("its Effect %q must be Allow or Deny", s.Effect)
	}
	if !statementID.MatchString(s.Sid) {
		return fmt.Errorf("its Sid %q may hold letters and digits only", s.Sid)
	}
	for _, part := range []struct {
		name, otherName string
		one, other      values
		form            *regexp.Regexp
		says            string
	}{
		{"Action", "NotAction", s.Action, s.NotAction, action, `must be SERVICE:ACTION, such as "s3:GetObject", or "*"`},
		{"Resource", "NotResource", s.Resource, s.NotResource, resource, `must be an ARN or "*"`},
	} {
		if (len(part.one) == 0) == (len(part.other) == 0) {
			return fmt.Errorf("it needs either %s or %s", part.name, part.otherName)
		}
		for _, value := range slices.Concat(part.one, part.other) {
			if !part.form.MatchString(value) {
				return fmt.Errorf("%s %q %s", part.name, value, part.says)
			}
		}
	}
	return nil
}
