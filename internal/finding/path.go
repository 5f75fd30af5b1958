package finding

import "strings"

// Step is a part of a path.
type Step struct {
	Name      string
	Subscript bool
}

// Steps splits a path such as a.b[c.d/e][0]. Subscripts may contain dots.
func Steps(path string) []Step {
	var steps []Step
	for path != "" {
		if inner, ok := strings.CutPrefix(path, "["); ok {
			name, rest, _ := strings.Cut(inner, "]")
			steps = append(steps, Step{strings.Trim(name, `"`), true})
			path = strings.TrimPrefix(rest, ".")
			continue
		}
		end := strings.IndexAny(path+".", ".[")
		steps = append(steps, Step{path[:end], false})
		path = strings.TrimPrefix(path[end:], ".")
	}
	return steps
}
