package install

import (
	"bytes"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// Objects returns everything that an installation consists of, in the order in
// which it has to be applied: definitions, namespace, access, and the agent last.
// The settings must be defaulted and valid.
func (s *Settings) Objects() ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	if !s.OmitCRDs {
		for _, crd := range api.CRDs() {
			definition := &unstructured.Unstructured{}
			if err := yaml.Unmarshal(crd.YAML, &definition.Object); err != nil {
				return nil, fmt.Errorf("read the definition %s: %w", crd.Name, err)
			}
			out = append(out, definition)
		}
	}
	var typed []any
	if !s.OmitNamespace {
		typed = append(typed, s.namespace())
	}
	typed = append(typed, s.serviceAccount(), s.clusterRole(), s.clusterRoleBinding(), s.role(), s.roleBinding())
	if !s.OmitNetworkPolicy {
		typed = append(typed, s.networkPolicy())
	}
	typed = append(typed, s.disruptionBudget(), s.service(), s.Deployment())
	for _, object := range typed {
		plain, err := plain(object)
		if err != nil {
			return nil, err
		}
		out = append(out, plain)
	}
	return out, nil
}

// Unpruned are annotations with which Argo CD and Flux keep an object that is no longer in what they apply. Without a
// definition, the API server deletes all of its objects, and the agent drains their nodes.
func Unpruned() map[string]string {
	return map[string]string{"argocd.argoproj.io/sync-options": "Prune=false", "kustomize.toolkit.fluxcd.io/prune": "disabled"}
}

// plain leaves out what a typed object has and a manifest has not.
func plain(object any) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("render %T: %w", object, err)
	}
	delete(fields, "status")
	unstructured.RemoveNestedField(fields, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(fields, "spec", "template", "metadata", "creationTimestamp")
	return &unstructured.Unstructured{Object: fields}, nil
}

// YAML renders objects as a stream of documents.
func YAML(objects []*unstructured.Unstructured) ([]byte, error) {
	var out bytes.Buffer
	for i, object := range objects {
		if i > 0 {
			out.WriteString("---\n")
		}
		text, err := yaml.Marshal(object.Object)
		if err != nil {
			return nil, fmt.Errorf("render %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		out.Write(text)
	}
	return out.Bytes(), nil
}

// namespace enforces the strictest of Kubernetes' Pod Security Standards.
func (s *Settings) namespace() *corev1.Namespace {
	space := &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: s.clusterMeta(s.Namespace)}
	for _, mode := range []string{"enforce", "audit", "warn"} {
		space.Labels["pod-security.kubernetes.io/"+mode] = "restricted"
	}
	return space
}

func (s *Settings) meta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: s.Name, Namespace: s.Namespace, Labels: s.labels()}
}

func (s *Settings) clusterMeta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: s.labels()}
}
