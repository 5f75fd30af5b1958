package manifest

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// classPriorities are those of a set of PriorityClasses.
type classPriorities struct {
	byName   map[string]int32
	fallback int32
	// missing are the fields that name a class which is not among them, by its name.
	missing map[string][]fieldOf
}

// fieldOf is a field of an object that Document.Object names.
type fieldOf struct{ object, path string }

// priorities starts with the two classes that every cluster has.
func priorities(classes []*schedulingv1.PriorityClass) *classPriorities {
	out := &classPriorities{missing: map[string][]fieldOf{}, byName: map[string]int32{
		"system-cluster-critical": 2_000_000_000,
		"system-node-critical":    2_000_001_000,
	}}
	for _, c := range classes {
		out.byName[c.Name] = c.Value
		if c.GlobalDefault {
			out.fallback = c.Value
		}
	}
	return out
}

// set does what the API server does at a pod's creation. The object has the pod's spec at
// a path. The API server refuses pods of a class that does not exist; here the class may
// merely be in no file.
func (c *classPriorities) set(spec *corev1.PodSpec, object, path string) {
	if spec.Priority != nil {
		return
	}
	value := c.fallback
	if name := spec.PriorityClassName; name != "" {
		var known bool
		if value, known = c.byName[name]; !known {
			c.missing[name] = append(c.missing[name], fieldOf{object, path + ".priorityClassName"})
		}
	}
	spec.Priority = &value
}

// warnOfClasses warns once of each class, at the first object that names it.
func (b *Builder) warnOfClasses(missing map[string][]fieldOf) {
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		at := missing[name]
		text := finding.Say("no file has the PriorityClass %s, so that its value counts as 0", name)
		if len(at) > 1 {
			text = finding.Say("no file has the PriorityClass %s, which %d objects name, so that its value counts as 0", name, len(at))
		}
		doc := b.seen[at[0].object]
		doc.Ignored = append(doc.Ignored, finding.Finding{Path: at[0].path, Text: text, Advice: finding.Say("add the file that declares it")})
	}
}
