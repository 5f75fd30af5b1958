package manifest

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
)

// classPriorities are those of a set of PriorityClasses.
type classPriorities struct {
	byName   map[string]int32
	fallback int32
}

// priorities starts with the two classes that every cluster has.
func priorities(classes []*schedulingv1.PriorityClass) *classPriorities {
	out := &classPriorities{byName: map[string]int32{
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
func (c *classPriorities) set(spec *corev1.PodSpec, object, path string, r *remarks) {
	if spec.Priority != nil {
		return
	}
	value := c.fallback
	if name := spec.PriorityClassName; name != "" {
		var known bool
		if value, known = c.byName[name]; !known {
			r.add(object, path+".priorityClassName", fmt.Sprintf("no file has the PriorityClass %s, so its value counts as 0", name), "add the file that declares it")
		}
	}
	spec.Priority = &value
}
