package manifest

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// version is the only one in which API servers serve the kinds of readers.
const version = "v1"

// served is the apiVersion of each of these kinds, and groups are theirs and the one that
// Deployments and their like had first. Other groups may have kinds of the same name.
var served, groups = func() (map[string]string, map[string]bool) {
	of, groups := map[string]string{}, map[string]bool{"extensions": true}
	for name := range readers {
		kind, group, _ := strings.Cut(name, ".")
		of[kind] = schema.GroupVersion{Group: group, Version: version}.String()
		groups[group] = true
	}
	return of, groups
}()

// checkVersion refuses objects of Kubernetes in a version that API servers do not serve.
// Without a version an object of another group may be meant, but kubectl refuses it too.
func checkVersion(t metav1.TypeMeta) error {
	want, ours := served[t.Kind]
	if !ours || !groups[t.GroupVersionKind().Group] || t.APIVersion == want {
		return nil
	}
	at, advice := field.NewPath("apiVersion"), finding.Say("write %s", want)
	if t.APIVersion == "" {
		return finding.Required(at, finding.Plain(""), advice)
	}
	return finding.Invalid(at, t.APIVersion, finding.Say("API servers do not serve a %s in this version", t.Kind), advice)
}
