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

// checked is a validator of strings.
type checked struct {
	says  string
	check func(string) error
}

// Form accepts strings of a form, such as that of a name or an ARN in AWS.
func Form(form policy.Form) validator.String { return checked{form.Says(), form.Check} }

// FormOrEmpty also accepts an empty string, which stands for none.
func FormOrEmpty(form policy.Form) validator.String {
	return checked{form.Says(), func(value string) error {
		if value == "" {
			return nil
		}
		return form.Check(value)
	}}
}

// KeyForEvents accepts KMS keys that can encrypt a queue to which EventBridge sends. AWS managed keys, for whose
// aliases AWS reserves the prefix, have policies that nobody can change, and theirs do not let EventBridge use them.
// SQS accepts such a key, and every event is lost.
func KeyForEvents() validator.String {
	return checked{"not an AWS managed key", func(value string) error {
		if strings.Contains(":"+value, ":alias/aws/") {
			return fmt.Errorf("%q is an AWS managed key, which EventBridge cannot use: omit it, so that SQS manages the key, or set a key of your own", value)
		}
		return policy.Key.Check(value)
	}}
}

// NotEmpty refuses an empty string, which would be replaced by the default.
func NotEmpty() validator.String {
	return checked{"not empty", func(value string) error {
		if value == "" {
			return errors.New("must not be empty: omit it for the default")
		}
		return nil
	}}
}

// EachForm applies Form to the elements of a set.
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

// attributePath returns the attribute names at the beginning of a path. The step of an element of a
// set is its value, which the message contains anyway.
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

// descriptionForm is the form of a description in IAM
// (https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreateRole.html).
var descriptionForm = regexp.MustCompile(`^[\t\n\r\x20-\x7e\xa1-\xff]{0,1000}$`)

// Description accepts descriptions that IAM accepts.
func Description() validator.String {
	return checked{"a description that IAM accepts", func(value string) error {
		if !descriptionForm.MatchString(value) {
			return errors.New("must have at most 1000 characters, all of them in Latin-1")
		}
		return nil
	}}
}

// The limits of AWS for tags.
const (
	maxTags     = 50
	maxTagKey   = 128
	maxTagValue = 256
)

var tagForm = regexp.MustCompile(`^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$`)

// ValidTags accepts tags that AWS accepts.
type ValidTags struct{}

// Description implements [validator.Map].
func (ValidTags) Description(context.Context) string { return "tags that AWS accepts" }

// MarkdownDescription implements [validator.Map].
func (v ValidTags) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

// ValidateMap reports each tag that AWS would refuse, with the reason.
func (ValidTags) ValidateMap(_ context.Context, req validator.MapRequest, resp *validator.MapResponse) {
	elements := req.ConfigValue.Elements()
	root := req.Path.Steps()[0].String()
	if len(elements) > maxTags {
		resp.Diagnostics.AddAttributeError(req.Path, fmt.Sprintf("%s: %d tags, but AWS accepts at most %d", root, len(elements), maxTags), "")
	}
	for _, key := range slices.Sorted(maps.Keys(elements)) {
		if err := checkTag(key, value.TextOf(elements[key])); err != nil {
			resp.Diagnostics.AddAttributeError(req.Path, fmt.Sprintf("%s[%q]: %s", root, key, err), "")
		}
	}
}

func checkTag(key, value string) error {
	const letters = "may only contain letters, digits, spaces and _.:/=+-@"
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
