package validate

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/suggest"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// knownValues are the usual values of labels that are not a fixed choice.
var knownValues = map[string][]string{
	api.LabelArch:         {"amd64", "arm64"},
	api.LabelOS:           {"linux", "windows"},
	api.LabelCapacityType: capacityTypes,
}

// knownResources are the resources that machines have, and what limits call the number of
// nodes. Others are of the user's own, such as example.com/licence.
var knownResources = []string{
	"cpu", "memory", "ephemeral-storage", "pods", "nodes", "hugepages-2Mi", "hugepages-1Gi",
	"nvidia.com/gpu", "amd.com/gpu", "habana.ai/gaudi", "aws.amazon.com/neuron", "aws.amazon.com/neuroncore",
	"vpc.amazonaws.com/pod-eni", "vpc.amazonaws.com/efa", "vpc.amazonaws.com/PrivateIPv4Address",
}

// warnProvisioner returns what is accepted and yet probably not meant or out of
// date.
func warnProvisioner(p *api.Provisioner) finding.List {
	spec := field.NewPath("spec")
	var out finding.List
	warn := func(path *field.Path, text, advice finding.Message) {
		out = append(out, finding.Doubtful(path, text, advice))
	}
	warnKeys(&p.Spec, spec, warn)
	warnValues(p.Spec.Requirements, spec.Child("requirements"), warn)
	warnLabels(p.Spec.Labels, spec.Child("labels"), warn)
	warnLimits(p.Spec.Limits, spec.Child("limits"), warn)
	warnKubelet(p.Spec.KubeletConfiguration, spec.Child("kubeletConfiguration"), warn)
	warnBudgets(p.Spec.Disruption, spec.Child("disruption", "budgets"), warn)
	if expiry := p.Spec.TTLSecondsUntilExpired; expiry != nil && *expiry == 0 {
		warn(spec.Child("ttlSecondsUntilExpired"), finding.Say("0 replaces every node as soon as it is up"), finding.Say("set a time in seconds, such as 2592000 for 30 days, or remove it"))
	}
	if p.Spec.Provider == nil && p.Spec.ProviderRef == nil {
		warn(spec.Child("providerRef"), finding.Say("neither %s nor %s is set, so machines are built from the defaults of a node profile", finding.In(spec, "providerRef"), finding.In(spec, "provider")), finding.Say("name an %s", api.NodeTemplateKind))
	}
	if p.Spec.Provider != nil {
		warn(api.ProviderPath, finding.Say("an inline node profile is deprecated"), finding.Say("move it into an %s and point %s to it", api.NodeTemplateKind, finding.In(spec, "providerRef")))
		if inline, err := p.InlineProfile(); err == nil {
			out = append(out, warnProfile(inline, api.ProviderPath)...)
		}
		_, ignored, _ := p.DecodeInline() // what does not decode is an error of the validation
		out = append(out, ignored...)
	}
	return out
}

// warnProfile does for a node profile that stands at path what warnProvisioner does for a Provisioner.
func warnProfile(s *api.NodeProfile, path *field.Path) finding.List {
	return slices.Concat(warnUserData(s, path), warnTags(s.Tags, path.Child("tags")), warnLaunchTemplate(s, path))
}

// warnLaunchTemplate tells of what may stand beside a launch template of the user's own, as with Karpenter, although
// only the launch template decides it.
func warnLaunchTemplate(s *api.NodeProfile, path *field.Path) finding.List {
	if s.LaunchTemplate == nil || s.DetailedMonitoring == nil {
		return nil
	}
	return finding.List{finding.Doubtful(path.Child("detailedMonitoring"),
		finding.Say("has no effect beside %s, because the launch template alone says how its machines are monitored", finding.In(path, "launchTemplate")),
		finding.Say("set it in the launch template, and remove it here"))}
}

// warner adds one warning: what is doubtful, and what would be right.
type warner func(path *field.Path, text, advice finding.Message)

func warnKeys(spec *api.ProvisionerSpec, path *field.Path, warn warner) {
	deprecated := func(key string, at *field.Path) {
		if successor := api.NormalizeLabel(key); successor != key {
			warn(at, finding.Say("%s is deprecated", key), finding.Say("use %s", successor))
		}
	}
	for i, r := range spec.Requirements {
		at := path.Child("requirements").Index(i).Child("key")
		deprecated(r.Key, at)
		if near, ok := api.Suggest(r.Key, api.WellKnownLabels()); ok && !strings.Contains(r.Key, "/") && suggest.Same(suggest.ShortForm(near), r.Key) {
			warn(at, finding.Say("%q is a label of your own, which no machine has by itself", r.Key), finding.Say("did you mean %q?", near))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(spec.Labels)) {
		deprecated(key, path.Child("labels").Key(key))
	}
	for i, key := range spec.PodOverrides {
		deprecated(key, path.Child("podOverrides").Index(i))
	}
	if len(spec.InstanceTypes) > 0 {
		warn(path.Child("instanceTypes"), finding.Say("deprecated"), finding.Say("use a requirement %s In [%s]", api.LabelInstanceType, strings.Join(spec.InstanceTypes, ", ")))
	}
}

func warnValues(requirements []api.Requirement, path *field.Path, warn warner) {
	for i, r := range requirements {
		seen := map[string]bool{}
		for j, value := range r.Values {
			at := path.Index(i).Child("values").Index(j)
			if seen[value] {
				warn(at, finding.Say("%q is repeated", value), finding.Say("remove it"))
			}
			seen[value] = true
			known, ok := knownValues[api.NormalizeLabel(r.Key)]
			if api.NormalizeLabel(r.Key) == api.LabelCapacityType && (value == api.CapacityReserved || r.Operator == api.OpIn && !slipsIn(value, r.Values, capacityTypes)) {
				continue // refused, or of a NodePool
			}
			if ok && !slices.Contains(known, value) {
				warnUnknown(value, known, at, warn)
			}
		}
		if r.Operator == api.OpNotIn && len(r.Values) == 0 {
			warn(path.Index(i).Child("values"), finding.Say("NotIn without values excludes nothing"), finding.Say("add values, or remove the requirement"))
		}
	}
}

// warnLabels tells of values that no machine has: a label of the nodes is a requirement, too.
func warnLabels(labels map[string]string, path *field.Path, warn warner) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		known, ok := knownValues[api.NormalizeLabel(key)]
		if ok && !slices.Contains(known, labels[key]) && api.NormalizeLabel(key) != api.LabelCapacityType { // others are refused
			warnUnknown(labels[key], known, path.Key(key), warn)
		}
	}
}

func warnUnknown(value string, known []string, path *field.Path, warn warner) {
	warn(path, finding.Say("no machine has %q, only %s", value, strings.Join(known, " and ")), didYouMean(value, known))
}

// warnTags tells of templates, which AWS takes for text.
func warnTags(tags map[string]string, path *field.Path) finding.List {
	var out finding.List
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		if found := finding.Template(key + " " + tags[key]); found != "" {
			out = append(out, finding.Doubtful(path.Key(key), finding.Unrendered(found), finding.Plain(finding.RenderFirst)))
		}
	}
	return out
}

func warnLimits(limits *api.Limits, path *field.Path, warn warner) {
	if limits == nil {
		return
	}
	if len(limits.Resources) == 0 {
		warn(path, finding.Say("empty limits limit nothing"), finding.Say("set %s, such as cpu: 100, or remove %s", finding.At(path.Child("resources")), finding.Field{Path: path.String(), Name: "limits"}))
	}
	warnUnits(limits.Resources, "Gi", path.Child("resources"), warn)
	for _, name := range slices.Sorted(maps.Keys(limits.Resources)) {
		_, misspelt := suggest.Misspelt(string(name), knownResources)
		if misspelt || !strings.Contains(string(name), "/") && !slices.Contains(knownResources, string(name)) {
			warn(path.Child("resources").Key(string(name)), finding.Say("no machine has this resource, so the limit has no effect"),
				finding.Either(didYouMean(string(name), knownResources), finding.Say("remove it, or write a resource of your own with its domain, such as example.com/licence")))
		}
		if q := limits.Resources[name]; q.IsZero() {
			warn(path.Child("resources").Key(string(name)), finding.Say("a limit of 0 freezes the Provisioner: it buys no node with %s", name), finding.Say("remove it to go on buying"))
		}
	}
}

// warnBudgets tells of budgets that let no node go, ever.
func warnBudgets(d *api.Disruption, path *field.Path, warn warner) {
	if d == nil {
		return
	}
	for i := range d.Budgets {
		if b := &d.Budgets[i]; b.Schedule == nil && b.Nodes != "" && strings.Trim(string(b.Nodes), "0%") == "" {
			what := "voluntarily"
			if len(b.Reasons) > 0 {
				what = "for " + strings.Join(b.Reasons, ", ")
			}
			warn(path.Index(i).Child("nodes"), finding.Say("%s without a schedule lets no node go %s, ever", b.Nodes, what), finding.Say("give the budget a schedule and a duration, or allow at least 1"))
		}
	}
}

func warnKubelet(k *api.KubeletConfiguration, path *field.Path, warn warner) {
	// Defaults of the kubelet, which applies them to the threshold that is not given.
	const defaultHigh, defaultLow = 85, 80
	if k == nil {
		return
	}
	warnReserved(k.SystemReserved, path.Child("systemReserved"), warn)
	warnReserved(k.KubeReserved, path.Child("kubeReserved"), warn)
	warnThresholds(k.EvictionHard, path.Child("evictionHard"), warn)
	warnThresholds(k.EvictionSoft, path.Child("evictionSoft"), warn)
	if most := k.MaxPods; most != nil && *most == 0 {
		warn(path.Child("maxPods"), finding.Say("0 leaves room for no pod on any node"), finding.Say("set how many pods a node may have, such as 110, or remove it"))
	}
	if ptr.Deref(k.ContainerRuntime, "") == "dockerd" {
		warn(path.Child("containerRuntime"), finding.Say("dockerd is no longer supported by Kubernetes, nodes use containerd"), finding.Say("remove it"))
	}
	high, low := k.ImageGCHighThresholdPercent, k.ImageGCLowThresholdPercent
	if high != nil && low == nil && *high <= defaultLow {
		warn(path.Child("imageGCHighThresholdPercent"), finding.Say("%d is not above the kubelet's default of %s, %d", *high, finding.In(path, "imageGCLowThresholdPercent"), defaultLow), finding.Say("set both"))
	}
	if low != nil && high == nil && *low >= defaultHigh {
		warn(path.Child("imageGCLowThresholdPercent"), finding.Say("%d is not below the kubelet's default of %s, %d", *low, finding.In(path, "imageGCHighThresholdPercent"), defaultHigh), finding.Say("set both"))
	}
}
