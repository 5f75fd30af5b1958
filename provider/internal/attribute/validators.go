package attribute

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/value"
)

// checked refuses strings that AWS would refuse, or take for something else.
type checked struct {
	says  string
	check func(string) error
}

// Form refuses what has not the form of a name or an ARN in AWS.
func Form(form policy.Form) validator.String { return checked{form.Says(), form.Check} }

// FormOrEmpty takes an empty string besides, which stands for none.
func FormOrEmpty(form policy.Form) validator.String {
	return checked{form.Says(), func(value string) error {
		if value == "" {
			return nil
		}
		return form.Check(value)
	}}
}

// EachForm does so for the elements of a set.
func EachForm(form policy.Form) []validator.Set {
	return []validator.Set{setvalidator.ValueStringsAre(Form(form))}
}

func (v checked) Description(context.Context) string { return v.says }

func (v checked) MarkdownDescription(context.Context) string { return v.says }

func (v checked) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if err := v.check(req.ConfigValue.ValueString()); err != nil {
		at := attributePath(req.Path)
		resp.Diagnostics.AddAttributeError(at, at.String()+": "+err.Error(), "")
	}
}

// attributePath is the path without what follows its names: that of an element of a
// set is its value, which the message has.
func attributePath(full path.Path) path.Path {
	out := path.Empty()
	for _, step := range full.Steps() {
		name, ok := step.(path.PathStepAttributeName)
		if !ok {
			break
		}
		out = out.AtName(string(name))
	}
	return out
}

// descriptionForm is what IAM takes for a description.
var descriptionForm = regexp.MustCompile(`^[\t\n\r\x20-\x7e\xa1-\xff]{0,1000}$`)

// Description refuses descriptions that IAM does not take.
func Description() validator.String {
	return checked{"a description that IAM takes", func(value string) error {
		if !descriptionForm.MatchString(value) {
			return errors.New("must have at most 1000 characters, of Latin-1 only")
		}
		return nil
	}}
}

// Limits that AWS sets on tags.
const (
	maxTags     = 50
	maxTagKey   = 128
	maxTagValue = 256
)

var tagForm = regexp.MustCompile(`^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$`)

// ValidTags refuses tags that AWS would.
type ValidTags struct{}

// Description implements [validator.Map].
func (ValidTags) Description(context.Context) string { return "tags that AWS takes" }

// MarkdownDescription implements [validator.Map].
func (v ValidTags) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

// ValidateMap names each tag that AWS would refuse, and why.
func (ValidTags) ValidateMap(_ context.Context, req validator.MapRequest, resp *validator.MapResponse) {
	elements := req.ConfigValue.Elements()
	root := req.Path.Steps()[0].String()
	if len(elements) > maxTags {
		resp.Diagnostics.AddAttributeError(req.Path, fmt.Sprintf("%s: %d tags, AWS takes at most %d", root, len(elements), maxTags), "")
	}
	for _, key := range slices.Sorted(maps.Keys(elements)) {
		if err := checkTag(key, value.TextOf(elements[key])); err != nil {
			resp.Diagnostics.AddAttributeError(req.Path, fmt.Sprintf("%s[%q]: %s", root, key, err), "")
		}
	}
}

func checkTag(key, value string) error {
	const letters = "may hold letters, digits, spaces and _.:/=+-@ only"
	switch {
	case key == "":
		return errors.New("a tag needs a key")
	case strings.HasPrefix(strings.ToLower(key), "aws:"):
		return errors.New("the prefix aws: is reserved by AWS")
	case len([]rune(key)) > maxTagKey:
		return fmt.Errorf("the key has more than %d characters", maxTagKey)
	case len([]rune(value)) > maxTagValue:
		return fmt.Errorf("the value has more than %d characters", maxTagValue)
	case !tagForm.MatchString(key):
		return errors.New("the key " + letters)
	case !tagForm.MatchString(value):
		return fmt.Errorf("the value %q %s", value, letters)
	}
	return nil
}
