// Package corpus holds NodePools and EC2NodeClasses, right and wrong ones, with what
// the API server says to each. Tests of this repository check them by the rules of
// package karpenter, and tests with Karpenter's published definitions by the API server.
package corpus

import (
	_ "embed"
	"fmt"
	"maps"

	"sigs.k8s.io/yaml"
)

//go:embed nodepools.yaml
var nodePools []byte

//go:embed nodeclasses.yaml
var nodeClasses []byte

// Case is one manifest.
type Case struct {
	Name string
	// Refused is the path of the field for which the API server refuses it, empty for a
	// manifest that it takes.
	Refused  string
	Document map[string]any
}

// file is the form of a file: a manifest that is right, and what cases change in it as
// JSON merge patches.
type file struct {
	Base  map[string]any `json:"base"`
	Cases []struct {
		Name    string         `json:"name"`
		Refused string         `json:"refused"`
		Patch   map[string]any `json:"patch"`
	} `json:"cases"`
}

// Cases returns all manifests. Their names differ.
func Cases() ([]Case, error) {
	var out []Case
	for _, text := range [][]byte{nodePools, nodeClasses} {
		var f file
		if err := yaml.UnmarshalStrict(text, &f); err != nil {
			return nil, fmt.Errorf("read the corpus: %w", err)
		}
		kind, _ := f.Base["kind"].(string)
		for _, c := range f.Cases {
			out = append(out, Case{Name: kind + ": " + c.Name, Refused: c.Refused, Document: merge(f.Base, c.Patch)})
		}
	}
	return out, nil
}

// merge applies a JSON merge patch (RFC 7386).
func merge(base, patch map[string]any) map[string]any {
	out := maps.Collect(maps.All(base)) // never nil
	for key, value := range patch {
		switch v := value.(type) {
		case nil:
			delete(out, key)
		case map[string]any:
			inner, _ := out[key].(map[string]any)
			out[key] = merge(inner, v)
		default:
			out[key] = v
		}
	}
	return out
}
