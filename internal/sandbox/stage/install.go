package stage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

var crdResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// installCRDs applies the CRDs and waits until the API server serves them.
func (s *Stage) installCRDs(ctx context.Context) error {
	for _, crd := range api.CRDs() {
		if err := s.Apply(ctx, crd.YAML); err != nil {
			return err
		}
		if err := s.awaitCRD(ctx, crd.Name); err != nil {
			return err
		}
	}
	return nil
}

func (s *Stage) awaitCRD(ctx context.Context, name string) error {
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 20*time.Second, true, func(ctx context.Context) (bool, error) {
		obj, err := s.Dynamic.Resource(crdResource).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
		for _, c := range conditions {
			if m, ok := c.(map[string]any); ok && m["type"] == "Established" && m["status"] == "True" {
				return true, nil
			}
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("wait for the CRD %s to be established: %w", name, err)
	}
	return nil
}

// installRBAC applies what `packhorse-agent manifests` prints.
func (s *Stage) installRBAC(ctx context.Context) error {
	bin, err := s.Binary("packhorse-agent")
	if err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, bin, "manifests", "--namespace", Namespace).Output()
	if err != nil {
		return fmt.Errorf("print the agent's manifests: %w", withStderr(err))
	}
	return s.Apply(ctx, out)
}

// Apply creates or updates the objects of a YAML stream by server-side apply.
func (s *Stage) Apply(ctx context.Context, manifest []byte) error {
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(s.Kube.Discovery()))
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), 4096)
	for {
		obj := &unstructured.Unstructured{}
		if err := decoder.Decode(&obj.Object); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("read a manifest: %w", err)
		}
		if len(obj.Object) == 0 {
			continue
		}
		if err := s.applyOne(ctx, mapper, obj); err != nil {
			return err
		}
	}
}

func (s *Stage) applyOne(ctx context.Context, mapper meta.RESTMapper, obj *unstructured.Unstructured) error {
	gvk := obj.GroupVersionKind()
	mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return fmt.Errorf("find the resource of %s: %w", gvk, err)
	}
	var client dynamic.ResourceInterface = s.Dynamic.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		if obj.GetNamespace() == "" {
			obj.SetNamespace(metav1.NamespaceDefault)
		}
		client = s.Dynamic.Resource(mapping.Resource).Namespace(obj.GetNamespace())
	}
	_, err = client.Apply(ctx, obj.GetName(), obj, metav1.ApplyOptions{FieldManager: "packhorse-stage", Force: true})
	if err != nil {
		return fmt.Errorf("apply %s %s: %w", gvk.Kind, obj.GetName(), err)
	}
	return nil
}

// withStderr adds what a failed command printed to its error.
func withStderr(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
	}
	return err
}

// ignoreNotFound is for objects that may be gone already.
func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
