package stage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
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

	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
)

var crdResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// settings are those of the installation that StartAgent runs agents of.
func (s *Stage) settings(role string) install.Settings {
	options := map[string]string{"log-format": "text"}
	maps.Copy(options, s.Options)
	return install.Settings{
		Namespace: Namespace, ClusterName: s.Sandbox.ClusterName, Region: s.Sandbox.Region, RoleARN: role,
		InstanceProfile: NodeRole, Options: options,
	}.Defaulted("dev")
}

// Prepare installs all but the agent's Deployment, so that StartAgent can start
// agents one by one. Where a whole installation is wanted there is StartHost.
func (s *Stage) Prepare(ctx context.Context) error {
	settings := s.settings("")
	objects, err := settings.Objects()
	if err != nil {
		return err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(s.Kube.Discovery()))
	for _, object := range objects {
		if object.GetKind() == "Deployment" {
			continue
		}
		if err := s.applyOne(ctx, mapper, object); err != nil {
			return err
		}
		if object.GetKind() == "CustomResourceDefinition" {
			if err := s.awaitCRD(ctx, object.GetName()); err != nil {
				return err
			}
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

// ignoreNotFound is for objects that may be gone already.
func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
