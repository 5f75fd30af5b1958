package check

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/kinds"
)

const (
	coreDomain = "karpenter.sh"

	maxRequirements = 100
	maxBudgets      = 50
	maxLabels       = 100
	maxMinValues    = 50
	maxWeight       = 100
	maxKey          = 316
	maxLabelValue   = 63
)

// awsLabels are the keys of karpenter.k8s.aws that labels and requirements may have.
var awsLabels = []string{
	"instance-tenancy", "capacity-reservation-type", "capacity-reservation-id", "capacity-reservation-interruptible", "ec2nodeclass",
	"instance-encryption-in-transit-supported", "instance-category", "instance-hypervisor", "instance-family", "instance-generation",
	"instance-local-nvme", "instance-size", "instance-cpu", "instance-cpu-manufacturer", "instance-cpu-sustained-clock-speed-mhz",
	"instance-memory", "instance-ebs-bandwidth", "instance-network-bandwidth", "instance-gpu-name", "instance-gpu-manufacturer",
	"instance-gpu-count", "instance-gpu-memory", "instance-accelerator-name", "instance-accelerator-manufacturer",
	"instance-accelerator-count", "instance-capability-flex", "placement-group-id", "placement-group-partition",
}

// pool checks a NodePool of v1.
func (r *rules) pool(p *kinds.NodePool) {
	if !r.require("spec", p.Spec != nil, "") || !r.require("spec.template", p.Spec.Template != nil, "") {
		return
	}
	template := p.Spec.Template
	if m := template.Metadata; m != nil {
		r.labels("spec.template.metadata.labels", m.Labels)
	}
	if r.require("spec.template.spec", template.Spec != nil, "") {
		r.nodes(template.Spec)
	}
	if d := p.Spec.Disruption; d != nil {
		r.disruption(d)
	}
	if p.Spec.Weight != nil {
		number(r, "spec.weight", p.Spec.Weight, 1, maxWeight)
	}
	r.static(p.Spec)
}

// static checks what a NodePool with a fixed number of nodes cannot have.
func (r *rules) static(spec *kinds.PoolSpec) {
	if spec.Replicas == nil {
		return
	}
	if *spec.Replicas < 0 {
		r.refuse("spec.replicas", "must not be negative", "")
	}
	if _, nodes := spec.Limits["nodes"]; len(spec.Limits) > 1 || len(spec.Limits) == 1 && !nodes {
		r.refuse("spec.limits", "cannot be combined with replicas", "only limits.nodes can")
	}
	if spec.Weight != nil {
		r.refuse("spec.weight", "cannot be combined with replicas", "remove one of the two")
	}
}

func (r *rules) labels(path string, labels map[string]string) {
	r.most(path, len(labels), maxLabels)
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		at, value := path+"["+key+"]", labels[key]
		r.in(labelValue, at, &value)
		if len(value) > maxLabelValue {
			r.refuse(at, fmt.Sprintf("is longer than %d characters", maxLabelValue), "shorten it")
		}
		r.domain(at, key)
	}
}

// domain refuses labels that Karpenter keeps to itself.
func (r *rules) domain(path, key string) {
	domain, name, _ := strings.Cut(key, "/")
	switch {
	case key == api.LabelNodePool:
		r.refuse(path, "the label is set by the controller on every node", "remove it")
	case key == api.LabelHostname:
		r.refuse(path, "the label is different on every node", "remove it")
	case key == api.LabelCapacityType:
	case strings.HasSuffix(domain, coreDomain):
		r.refuse(path, "the domain "+coreDomain+" is reserved", "remove it")
	case strings.HasSuffix(domain, api.AWSDomain) && (domain != api.AWSDomain || !slices.Contains(awsLabels, name)):
		advice := "remove it"
		if near, ok := api.Suggest(name, awsLabels); ok {
			advice = "did you mean " + api.AWSDomain + "/" + near + "?"
		}
		r.refuse(path, "is not a known label of "+api.AWSDomain, advice)
	}
}

func (r *rules) nodes(spec *kinds.PoolNodes) {
	const path = "spec.template.spec."
	if r.require(path+"nodeClassRef", spec.NodeClassRef != nil, "name an EC2NodeClass") {
		r.classRef(path+"nodeClassRef.", spec.NodeClassRef)
	}
	r.require(path+"requirements", spec.Requirements != nil, "an empty list [] is allowed")
	r.requirements(path+"requirements", spec.Requirements)
	r.taints(path+"taints", spec.Taints)
	r.taints(path+"startupTaints", spec.StartupTaints)
	r.in(lifetime, path+"expireAfter", spec.ExpireAfter)
	r.in(grace, path+"terminationGracePeriod", spec.TerminationGracePeriod)
}

func (r *rules) classRef(path string, ref *kinds.ClassRef) {
	for _, part := range []struct {
		name, usual string
		value       *string
	}{{"group", kinds.NodeClasses.Group, ref.Group}, {"kind", kinds.NodeClassKind, ref.Kind}, {"name", "default", ref.Name}} {
		if r.require(path+part.name, part.value != nil, "such as "+part.usual) && *part.value == "" {
			r.refuse(path+part.name, "must not be empty", "such as "+part.usual)
		}
	}
	r.in(withoutSlashes, path+"group", ref.Group)
}

func (r *rules) requirements(path string, list []kinds.PoolRequirement) {
	r.most(path, len(list), maxRequirements)
	for i := range list {
		r.requirement(fmt.Sprintf("%s[%d].", path, i), &list[i])
	}
}

func (r *rules) requirement(path string, q *kinds.PoolRequirement) {
	if r.require(path+"key", q.Key != nil, "") {
		r.in(qualifiedName, path+"key", q.Key)
		if len(*q.Key) > maxKey {
			r.refuse(path+"key", fmt.Sprintf("is longer than %d characters", maxKey), "shorten it")
		}
		r.domain(path+"key", *q.Key)
	}
	number(r, path+"minValues", q.MinValues, 1, maxMinValues)
	if !r.require(path+"operator", q.Operator != nil, "") {
		return
	}
	operator := *q.Operator
	r.choose(path+"operator", q.Operator, "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte")
	switch operator {
	case "In":
		if len(q.Values) == 0 {
			r.refuse(path+"values", "In needs a value", "to allow any value use Exists")
		} else if q.MinValues != nil && int64(len(q.Values)) < *q.MinValues {
			r.refuse(path+"minValues", fmt.Sprintf("is more than the %d values", len(q.Values)), "add values, or lower it")
		}
	case "Gt", "Lt", "Gte", "Lte":
		if len(q.Values) != 1 {
			r.refuse(path+"values", operator+" takes exactly one value", "")
		} else if n, err := strconv.ParseInt(q.Values[0], 10, 64); err != nil || n < 0 {
			r.refuse(path+"values[0]", operator+" takes a whole number that is not negative", "")
		}
	}
}

func (r *rules) taints(path string, list []kinds.PoolTaint) {
	for i, t := range list {
		at := fmt.Sprintf("%s[%d].", path, i)
		if r.require(at+"key", t.Key != nil, "") {
			r.in(qualifiedName, at+"key", t.Key)
		}
		r.in(qualifiedName, at+"value", t.Value)
		if r.require(at+"effect", t.Effect != nil, "NoSchedule, PreferNoSchedule or NoExecute") {
			r.choose(at+"effect", t.Effect, "NoSchedule", "PreferNoSchedule", "NoExecute")
		}
	}
}

func (r *rules) disruption(d *kinds.PoolDisruption) {
	const path = "spec.disruption."
	r.choose(path+"consolidationPolicy", d.ConsolidationPolicy, "WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced")
	r.require(path+"consolidateAfter", d.ConsolidateAfter != nil, "a disruption that is given must give it, such as 0s, 5m or Never")
	r.in(lifetime, path+"consolidateAfter", d.ConsolidateAfter)
	r.most(path+"budgets", len(d.Budgets), maxBudgets)
	for i, b := range d.Budgets {
		at := fmt.Sprintf("%sbudgets[%d].", path, i)
		r.in(share, at+"nodes", b.Nodes)
		r.in(schedule, at+"schedule", b.Schedule)
		r.in(duration, at+"duration", b.Duration)
		if (b.Schedule == nil) != (b.Duration == nil) {
			r.refuse(strings.TrimSuffix(at, "."), "schedule and duration belong together", "set both or neither")
		}
		r.most(at+"reasons", len(b.Reasons), maxBudgets)
		for j, reason := range b.Reasons {
			// Unhealthy came with version 1.15.
			r.choose(fmt.Sprintf("%sreasons[%d]", at, j), &reason, "Underutilized", "Empty", "Drifted", "Unhealthy")
			if slices.Contains(b.Reasons[:j], reason) {
				r.refuse(fmt.Sprintf("%sreasons[%d]", at, j), "occurs twice", "remove one of the two")
			}
		}
	}
}
