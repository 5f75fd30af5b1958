package validate

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/suggest"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// maxUserData is the limit of EC2 on user data before encoding, in bytes.
const maxUserData = 16 << 10

// nodeTemplateErrors checks a node profile resource by every rule of the API.
func nodeTemplateErrors(t *api.AWSNodeTemplate) finding.List {
	var errs finding.List
	name := field.NewPath("metadata", "name")
	switch {
	case t.Name != "":
		errs = checkForm(name, t.Name, validation.IsDNS1123Subdomain)
	case t.GenerateName == "":
		errs = finding.List{finding.Required(name, finding.Say("a node profile needs a name"), finding.Say("set it, such as default"))}
	}
	return append(errs, nodeProfileErrors(&t.Spec, field.NewPath("spec"))...)
}

// nodeProfileErrors checks a node profile that stands at path. Selectors may
// be missing: see DefaultSelectors.
func nodeProfileErrors(s *api.NodeProfile, path *field.Path) finding.List {
	errs := validateSelector(s.SubnetSelector, subnetSelector, path.Child("subnetSelector"))
	errs = append(errs, validateSelector(s.SecurityGroupSelector, securityGroupSelector, path.Child("securityGroupSelector"))...)
	errs = append(errs, validateSelector(s.AMISelector, amiSelector, path.Child("amiSelector"))...)
	errs = append(errs, validateLaunchTemplate(s, path)...)
	errs = append(errs, validateInstanceProfile(s.InstanceProfile, path.Child("instanceProfile"))...)
	errs = append(errs, validateImage(s, path)...)
	errs = append(errs, validateTags(s.Tags, path.Child("tags"))...)
	errs = append(errs, validateMetadataOptions(s.MetadataOptions, path.Child("metadataOptions"))...)
	errs = append(errs, validateInstanceStore(s, path)...)
	errs = append(errs, validateVolumes(s, path.Child("blockDeviceMappings"))...)
	return errs
}

// familiesWithInstanceStore have software that joins local disks.
var familiesWithInstanceStore = []string{api.FamilyAL2, api.FamilyAL2023, api.FamilyBottlerocket}

func validateInstanceStore(s *api.NodeProfile, path *field.Path) finding.List {
	errs := choice(s.InstanceStorePolicy, []string{api.InstanceStoreRAID0}, path.Child("instanceStorePolicy"))
	// The user data of an EC2NodeClass with images of its own may join the disks.
	if s.Class != nil && ptr.Deref(s.AMIFamily, "") == api.FamilyCustom {
		return errs
	}
	if s.InstanceStorePolicy != nil && s.AMIFamily != nil && !slices.Contains(familiesWithInstanceStore, *s.AMIFamily) {
		errs = append(errs, finding.Forbidden(path.Child("instanceStorePolicy"), finding.Say("images of %s %s do not join local disks", finding.In(path, "amiFamily"), *s.AMIFamily), finding.Say("use %s, or remove it", strings.Join(familiesWithInstanceStore, ", "))))
	}
	return errs
}

func notEmpty(value *string, path *field.Path) finding.List {
	if value == nil || *value != "" {
		return nil
	}
	return finding.List{finding.Required(path, finding.Say("must not be empty"), finding.Say("remove it instead"))}
}

// instanceProfileName is what IAM takes.
var instanceProfileName = regexp.MustCompile(`^[A-Za-z0-9_+=,.@-]{1,128}$`)

// validateInstanceProfile refuses what can be no name of an instance profile, above
// all its ARN.
func validateInstanceProfile(name *string, path *field.Path) finding.List {
	if errs := notEmpty(name, path); errs != nil || name == nil || instanceProfileName.MatchString(*name) {
		return errs
	}
	text, near := finding.Say("must be a name of up to 128 letters, digits and _+=,.@-"), suggest.ShortForm(*name)
	if strings.HasPrefix(*name, "arn:") {
		text = finding.Say("is an ARN, and must be a name")
	}
	if near != *name && instanceProfileName.MatchString(near) {
		return finding.List{finding.Invalid(path, *name, text, suggest.Value(near))}
	}
	return finding.List{finding.Invalid(path, *name, text, finding.Say("write it as aws iam list-instance-profiles shows it"))}
}

// validateLaunchTemplate refuses, beside a launch template of the user's own,
// the fields that a generated one would hold.
func validateLaunchTemplate(s *api.NodeProfile, path *field.Path) finding.List {
	if s.LaunchTemplate == nil {
		return nil
	}
	at := path.Child("launchTemplate")
	errs := append(notEmpty(s.LaunchTemplate, at), finding.Rendered(*s.LaunchTemplate, at)...)
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"amiFamily", s.AMIFamily != nil},
		{"amiSelector", len(s.AMISelector) > 0},
		{"userData", s.UserData != nil},
		{"securityGroupSelector", len(s.SecurityGroupSelector) > 0},
		{"metadataOptions", s.MetadataOptions != nil},
		{"blockDeviceMappings", len(s.BlockDeviceMappings) > 0},
		{"instanceStorePolicy", s.InstanceStorePolicy != nil},
		{"instanceProfile", s.InstanceProfile != nil},
	} {
		if f.set {
			errs = append(errs, finding.Forbidden(path.Child(f.name), finding.Say("the launch template holds this already"), finding.Say("remove it, or remove %s", finding.In(path, "launchTemplate"))))
		}
	}
	return errs
}

func validateImage(s *api.NodeProfile, path *field.Path) finding.List {
	errs := choice(s.AMIFamily, api.AMIFamilies, path.Child("amiFamily"))
	if s.AMIFamily != nil && *s.AMIFamily == api.FamilyCustom && len(s.ImageSelectors()) == 0 {
		errs = append(errs, finding.Required(path.Child("amiSelector"), finding.Say("%s Custom has no images of its own", finding.In(path, "amiFamily")), finding.Say("name yours by tag, aws::name or aws::ids")))
	}
	errs = append(errs, validateUserData(s, path)...)
	if s.UserData != nil && len(*s.UserData) > maxUserData {
		errs = append(errs, finding.TooLong(path.Child("userData"), maxUserData, finding.Say("let it download large parts, for example from S3")))
	}
	return errs
}

// reservedTags are tag keys that tell which machines are ours.
var reservedTags = []string{api.LabelProvisioner, api.TagManagedBy, api.TagLaunchID}

// maxTags is how many tags beside Name a profile may have. EC2 allows 50 on a machine, of which a launch sets 7: Name, the
// two of ownership, the Provisioner, the launch id and two hashes.
const maxTags = 43

// maxTagKey and maxTagValue are the most characters that EC2 allows in a tag.
const maxTagKey, maxTagValue = 127, 256

func validateTags(tags map[string]string, path *field.Path) finding.List {
	var errs finding.List
	most := maxTags
	if _, ok := tags["Name"]; ok {
		most++
	}
	if len(tags) > most {
		errs = append(errs, finding.Broken(field.ErrorTypeTooMany, path, len(tags),
			finding.Say("must have at most %d tags: EC2 allows 50, and Packhorse sets the others", most), finding.Say("remove %d", len(tags)-most)))
	}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		at := path.Key(key)
		switch {
		case key == "":
			errs = append(errs, finding.Required(at, finding.Say("a tag needs a key"), finding.Say("write one, or remove the entry")))
		case slices.Contains(reservedTags, key), strings.HasPrefix(key, api.TagClusterPrefix):
			errs = append(errs, finding.Invalid(at, key, finding.Say("is set by Packhorse to know its own machines and cannot be overridden"), finding.Say("remove it")))
		case strings.HasPrefix(strings.ToLower(key), "aws:"):
			errs = append(errs, finding.Invalid(at, key, finding.Say("the prefix aws: is reserved by AWS"), adviseTag(key)))
		case utf8.RuneCountInString(key) > maxTagKey:
			errs = append(errs, finding.TooLong(at, maxTagKey, finding.None))
		default:
			errs = append(errs, checkQuotes(key, at)...)
		}
		if utf8.RuneCountInString(tags[key]) > maxTagValue {
			errs = append(errs, finding.TooLong(at, maxTagValue, finding.None))
		}
		errs = append(errs, checkQuotes(tags[key], at)...)
	}
	return errs
}

// adviseTag names the key without the prefix that AWS keeps to itself.
func adviseTag(key string) finding.Message {
	if own := key[len("aws:"):]; own != "" {
		return suggest.Value(own)
	}
	return finding.Say("remove it")
}

func validateMetadataOptions(m *api.MetadataOptions, path *field.Path) finding.List {
	if m == nil {
		return nil
	}
	onOff := []string{api.MetadataEnabled, api.MetadataDisabled}
	errs := choice(m.HTTPEndpoint, onOff, path.Child("httpEndpoint"))
	errs = append(errs, choice(m.HTTPProtocolIPv6, onOff, path.Child("httpProtocolIPv6"))...)
	errs = append(errs, within(m.HTTPPutResponseHopLimit, 1, 64, path.Child("httpPutResponseHopLimit"))...)
	errs = append(errs, choice(m.HTTPTokens, []string{api.TokensRequired, api.TokensOptional}, path.Child("httpTokens"))...)
	return errs
}
