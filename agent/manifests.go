package agent

import (
	"bytes"
	_ "embed"
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/util/validation"
)

//go:embed manifests.yaml
var manifests []byte

// installedNamespace is the namespace in the embedded manifests.
var installedNamespace = regexp.MustCompile(`\bpackhorse-system\b`)

// Manifests returns the agent's access rights as YAML: a namespace, a
// ServiceAccount in it, and roles with the verbs that the agent uses.
func Manifests(namespace string) ([]byte, error) {
	if errs := validation.IsDNS1123Label(namespace); len(errs) > 0 {
		return nil, fmt.Errorf("render manifests for namespace %q: %s", namespace, errs[0])
	}
	return bytes.TrimLeft(installedNamespace.ReplaceAll(manifests, []byte(namespace)), "\n"), nil
}
