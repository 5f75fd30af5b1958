package validate

import (
	"errors"
	"fmt"
	"mime"
	"mime/multipart"
	"net/mail"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/decode"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// userDataForm is what a text of user data is written in.
type userDataForm string

const (
	formUnknown    userDataForm = ""
	formMIME       userDataForm = "a MIME archive"
	formShell      userDataForm = "a shell script"
	formCloudInit  userDataForm = "a cloud-config"
	formNodeConfig userDataForm = "a NodeConfig"
	formTOML       userDataForm = "TOML"
	formPowerShell userDataForm = "a PowerShell script"
	formBatch      userDataForm = "a batch script"
	formLaunch     userDataForm = "a list of tasks for EC2Launch"
)

// userDataForms are what the families read. A text of no known form is left to the
// image, but for Bottlerocket, which takes nothing but TOML.
var userDataForms = map[string][]userDataForm{
	api.FamilyAL2:          {formMIME, formShell, formCloudInit},
	api.FamilyUbuntu:       {formMIME, formShell, formCloudInit},
	api.FamilyAL2023:       {formMIME, formShell, formCloudInit, formNodeConfig},
	api.FamilyBottlerocket: {formTOML},
	api.FamilyWindows2019:  {formPowerShell},
	api.FamilyWindows2022:  {formPowerShell},
}

// tomlLine is how a line of TOML begins: a table, or a key with its value.
var tomlLine = regexp.MustCompile(`^(\[{1,2}[A-Za-z0-9_."' -]+\]{1,2}|[A-Za-z0-9_."'-]+\s*=\s*\S.*)(\s*#.*)?$`)

// EC2Launch runs a script between tags. Where there is one of PowerShell, a batch script may stand beside it.
var (
	powerShell  = regexp.MustCompile(`(?is)<powershell>.*?</powershell>`)
	batchScript = regexp.MustCompile(`(?im)^\s*<script>`)
	launchTasks = regexp.MustCompile(`(?m)^tasks:`)
)

// formOf recognises the form of user data by how it begins.
func formOf(text string) userDataForm {
	first := firstLine(text)
	switch {
	case strings.HasPrefix(strings.ToLower(first), "mime-version:"), strings.HasPrefix(strings.ToLower(first), "content-type:"):
		return formMIME
	case strings.HasPrefix(text, "#cloud-config"):
		return formCloudInit
	case strings.HasPrefix(text, "#!"):
		return formShell
	case strings.HasPrefix(first, "<") && batchScript.MatchString(powerShell.ReplaceAllString(text, "")):
		return formBatch
	case strings.HasPrefix(strings.ToLower(first), "<powershell>"):
		return formPowerShell
	case strings.HasPrefix(first, "version:") && launchTasks.MatchString(text):
		return formLaunch
	case strings.Contains(text, "node.eks.aws/"):
		return formNodeConfig
	case strings.HasPrefix(first, "[") && tomlLine.MatchString(first):
		return formTOML
	}
	return formUnknown
}

// firstLine is the first line that is no comment.
func firstLine(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return line
		}
	}
	return ""
}

// validateUserData refuses what the family cannot read, as far as that can be said
// without the image.
func validateUserData(s *api.NodeProfile, profile *field.Path) finding.List {
	path, family := profile.Child("userData"), finding.In(profile, "amiFamily")
	text := strings.TrimSpace(ptr.Deref(s.UserData, ""))
	if advice := nodeNaming(text); !advice.Empty() {
		return refusedText(path, finding.Say("gives the node a name that is not the private DNS name of its machine, under which the agent creates the Node: pods bound to it would never start"), advice)
	}
	if s.AMIFamily == nil || *s.AMIFamily == api.FamilyCustom {
		return nil
	}
	takes, known := userDataForms[*s.AMIFamily]
	if text == "" || !known {
		return nil
	}
	form := formOf(text)
	if form == formUnknown && *s.AMIFamily == api.FamilyBottlerocket && !tomlLine.MatchString(firstLine(text)) {
		return refusedText(path, finding.Say("is not TOML, the only form that %s Bottlerocket reads", family),
			finding.Say("begin it with a table such as [settings.kubernetes], or set the %s that it is for", family))
	}
	if form != formUnknown && !slices.Contains(takes, form) {
		return refusedText(path, finding.Say("is %s, which %s %s does not read", form, family, *s.AMIFamily),
			finding.Say("write %s, or set the %s that it is for", finding.Choice(takes), family))
	}
	if form == formUnknown && *s.AMIFamily == api.FamilyBottlerocket {
		form = formTOML // which begins with a key
	}
	if problem, advice := formProblem(form, text); !problem.Empty() {
		return refusedText(path, problem, advice)
	}
	return nil
}

// refusedText is an error about user data. It shows nothing of the text, which may hold secrets.
func refusedText(path *field.Path, problem, advice finding.Message) finding.List {
	return finding.List{{Severity: finding.Error, Path: path.String(), Text: problem, Advice: advice}}
}

// quotation is what an error of a parser quotes of the text. Characters and keywords, which it may have expected,
// are shorter.
var quotation = regexp.MustCompile(`'[^']{6,}'|"[^"]{6,}"|\x60[^\x60]+\x60|(header line: ).*`)

// withoutQuotations returns the error of a parser without the text that it quotes.
func withoutQuotations(err error) string { return quotation.ReplaceAllString(err.Error(), "$1…") }

// namings are settings that name a node other than by the private DNS name of its machine. A name that a script finds
// out may be that one, so only a fixed name and an instance ID are refused.
var namings = []struct {
	setting *regexp.Regexp
	advice  finding.Message
}{
	{regexp.MustCompile(`\bInstanceIdNodeName["']?\s*:\s*["']?true\b`), finding.Say("remove InstanceIdNodeName from featureGates")},
	{regexp.MustCompile(`\bhostname-override-source["']?\s*=\s*["']instance-id["']`), finding.Say(`write hostname-override-source = "private-dns-name", or remove it`)},
	{regexp.MustCompile(`(^|[.{,\s"'])hostname-override["']?\s*=\s*["'][^"'$]*["']`), finding.Say("remove hostname-override")},
	{regexp.MustCompile(`--hostname-override[=\s]\s*["']?([^\s"'$` + "`" + `{]+(["'\s,\]]|$)|(\$\([^)]*|\S*)(?i:instance.?id))`), finding.Say("remove the flag --hostname-override")},
}

// nodeNaming says what to do about a setting that names the node.
func nodeNaming(text string) (advice finding.Message) {
	documents, err := archiveParts(text)
	if err != nil {
		documents = []string{text}
	}
	for line := range strings.Lines(strings.Join(documents, "\n")) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "#") {
			continue
		}
		for _, n := range namings {
			if n.setting.MatchString(line) {
				return n.advice
			}
		}
	}
	return finding.None
}

// kubeletFlag is a flag with which a kubelet labels or taints the Node that it creates.
var kubeletFlag = regexp.MustCompile(`--(node-labels|register-with-taints)[= ]["']?([^\s"'\\\]]+)`)

// bottlerocketKey is a label or a taint in Bottlerocket's settings, after the name of its table.
var bottlerocketKey = regexp.MustCompile(`^settings\.kubernetes\.(node-labels|node-taints)\.["']?([^\s"'=]+)["']?\s*=`)

// warnUserData tells of labels and taints that the node does not get.
func warnUserData(s *api.NodeProfile, profile *field.Path) finding.List {
	labels, taints := kubeletKeys(ptr.Deref(s.UserData, ""), ptr.Deref(s.AMIFamily, ""))
	var out finding.List
	for _, of := range []struct {
		what string
		keys []string
	}{{"labels", labels}, {"taints", taints}} {
		if len(of.keys) > 0 {
			out = append(out, finding.Doubtful(profile.Child("userData"),
				finding.Say("gives the kubelet %s that the node does not get, because the agent creates the Node first: %s", of.what, strings.Join(of.keys, ", ")),
				finding.Say("write them as %s of each Provisioner or NodePool that uses this", of.what)))
		}
	}
	return out
}

// kubeletKeys returns the keys of the labels and taints that user data gives the kubelet, as settings
// of Bottlerocket or as flags.
func kubeletKeys(text, family string) (labels, taints []string) {
	add := func(to, key string) {
		// Kubelets of Karpenter's own images have its taint until they have registered.
		if len(validation.IsQualifiedName(key)) > 0 || strings.HasPrefix(key, api.ProvisionerGroup+"/") {
			return
		}
		if strings.HasSuffix(to, "labels") {
			labels = append(labels, key)
		} else {
			taints = append(taints, key)
		}
	}
	inTOML, table := family == api.FamilyBottlerocket || formOf(strings.TrimSpace(text)) == formTOML, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch name, isTable := strings.CutPrefix(line, "["); {
		case strings.HasPrefix(line, "#"):
		case inTOML && isTable:
			name, _, _ = strings.Cut(name, "]")
			table = name + "."
		case inTOML:
			if m := bottlerocketKey.FindStringSubmatch(table + line); m != nil {
				add(m[1], m[2])
			}
		default:
			for _, flag := range kubeletFlag.FindAllStringSubmatch(line, -1) {
				for pair := range strings.SplitSeq(flag[2], ",") {
					key, _, _ := strings.Cut(strings.ReplaceAll(pair, ":", "="), "=")
					add(flag[1], key)
				}
			}
		}
	}
	return labels, taints
}

// formProblem says why a text of a form cannot be read.
func formProblem(form userDataForm, text string) (problem, advice finding.Message) {
	switch form {
	case formMIME:
		if _, err := archiveParts(text); err != nil {
			return finding.Say("is a MIME archive that cannot be read: %s", withoutQuotations(err)), finding.Say("name the boundary in the Content-Type, and begin each part with it")
		}
	case formTOML:
		if err := checkTOML(text); err != nil {
			return finding.Say("is TOML that cannot be read: %s", withoutQuotations(err)), finding.Say("correct it")
		}
	case formNodeConfig:
		var document map[string]any
		for part := range strings.SplitSeq(text, "\n---") {
			if err := yaml.Unmarshal([]byte(part), &document); err != nil {
				return finding.Say("is a NodeConfig that is not valid YAML: %s", strings.TrimPrefix(withoutQuotations(err), "error converting YAML to JSON: ")), finding.Say("correct the line")
			}
		}
	}
	return finding.None, finding.None
}

// checkTOML reads the settings of Bottlerocket, to which the agent adds the node's.
func checkTOML(text string) error {
	document := map[string]any{}
	err := toml.Unmarshal([]byte(text), &document)
	if at := (*toml.DecodeError)(nil); errors.As(err, &at) {
		line, _ := at.Position()
		return fmt.Errorf("line %d: %s", line, strings.TrimPrefix(at.Error(), "toml: "))
	}
	for _, path := range []string{"settings", "settings.kubernetes", "settings.kubernetes.node-labels", "settings.kubernetes.node-taints"} {
		at := any(document)
		for key := range strings.SplitSeq(path, ".") {
			parent, _ := at.(map[string]any)
			at = parent[key]
		}
		if _, isTable := at.(map[string]any); at != nil && !isTable {
			return fmt.Errorf("%s must be a table", path)
		}
	}
	return err
}

// archiveParts reads all parts of a MIME archive.
func archiveParts(text string) (parts []string, err error) {
	message, err := mail.ReadMessage(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	kind, parameters, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(kind, "multipart/") || parameters["boundary"] == "" {
		return nil, errors.New("it is of type " + kind + " and names no boundary")
	}
	read, err := decode.Parts(multipart.NewReader(message.Body, parameters["boundary"]))
	if err != nil {
		return nil, fmt.Errorf("part %d: %w", len(read)+1, err)
	}
	if len(read) == 0 {
		return nil, errors.New("it has no parts")
	}
	for _, part := range read {
		parts = append(parts, part.Content)
	}
	return parts, nil
}
