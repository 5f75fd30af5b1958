package parity_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/sandboxtest"
	"github.com/packhorse-io/terraform-provider-packhorse/provider"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/cmd/terraform-provider-packhorse/platform"
)

// patience bounds each wait.
const patience = 2 * time.Minute

// stage is a cluster of its own for one scenario.
type stage struct {
	t       *testing.T
	box     *sandbox.Sandbox
	kube    kubernetes.Interface
	dynamic dynamic.Interface
	mapper  *restmapper.DeferredDiscoveryRESTMapper
}

func newStage(t *testing.T) *stage {
	t.Helper()
	box := sandboxtest.Start(t, sandbox.Options{})
	for _, variable := range box.Env() {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
	var err error
	s := &stage{t: t, box: box}
	if s.kube, err = kubernetes.NewForConfig(box.RESTConfig()); err != nil {
		t.Fatal(err)
	}
	if s.dynamic, err = dynamic.NewForConfig(box.RESTConfig()); err != nil {
		t.Fatal(err)
	}
	s.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(s.kube.Discovery()))
	for _, crd := range api.CRDs() {
		s.apply(crd.YAML)
	}
	return s
}

// apply declares the objects of a YAML stream. Kinds that have just been defined
// are waited for.
func (s *stage) apply(text []byte) {
	s.t.Helper()
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			s.t.Fatal(err)
		}
		if len(object.Object) > 0 {
			s.applyOne(object)
		}
	}
}

func (s *stage) applyOne(object *unstructured.Unstructured) {
	s.t.Helper()
	kind := object.GroupVersionKind()
	err := wait.PollUntilContextTimeout(s.t.Context(), 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		mapping, err := s.mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if meta.IsNoMatchError(err) {
			s.mapper.Reset()
			return false, nil
		}
		if err != nil {
			return false, err
		}
		client := s.dynamic.Resource(mapping.Resource)
		var in dynamic.ResourceInterface = client
		if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
			in = client.Namespace(object.GetNamespace())
		}
		_, err = in.Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: "test", Force: true})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		s.t.Fatalf("apply %s %s: %v", kind.Kind, object.GetName(), err)
	}
}

// awaitUnschedulable waits until all pods of all Deployments are there and marked,
// and returns their number.
func (s *stage) awaitUnschedulable() int {
	s.t.Helper()
	marked := 0
	err := wait.PollUntilContextTimeout(s.t.Context(), 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		wanted, err := s.wanted(ctx)
		if err != nil {
			return false, err
		}
		pods, err := s.kube.CoreV1().Pods(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		marked = 0
		for i := range pods.Items {
			for _, c := range pods.Items[i].Status.Conditions {
				if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable {
					marked++
				}
			}
		}
		return marked == wanted, nil
	})
	if err != nil {
		s.t.Fatalf("wait until all pods are marked unschedulable, %d are: %v", marked, err)
	}
	return marked
}

func (s *stage) wanted(ctx context.Context) (int, error) {
	deployments, err := s.kube.AppsV1().Deployments(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	n := 0
	for _, d := range deployments.Items {
		n += int(*d.Spec.Replicas)
	}
	return n, nil
}

// simulation reads the attribute plan of the provider's data source.
func (s *stage) simulation() string {
	s.t.Helper()
	server := providerserver.NewProtocol6(provider.New("test", platform.Connect)())()
	schemas, err := server.GetProviderSchema(s.t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		s.t.Fatal(err)
	}
	configured, err := server.ConfigureProvider(s.t.Context(), &tfprotov6.ConfigureProviderRequest{
		Config: s.object(schemas.Provider, map[string]tftypes.Value{"cluster_name": tftypes.NewValue(tftypes.String, s.box.ClusterName)}),
	})
	if err != nil || len(configured.Diagnostics) > 0 {
		s.t.Fatalf("configure the provider: %v, %v", err, configured.Diagnostics)
	}
	const name = "packhorse_simulation"
	read, err := server.ReadDataSource(s.t.Context(), &tfprotov6.ReadDataSourceRequest{
		TypeName: name, Config: s.object(schemas.DataSourceSchemas[name], nil),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, d := range read.Diagnostics {
		s.t.Fatalf("simulate: %s: %s", d.Summary, d.Detail)
	}
	state, err := read.State.Unmarshal(schemas.DataSourceSchemas[name].ValueType())
	if err != nil {
		s.t.Fatal(err)
	}
	var attributes map[string]tftypes.Value
	var plan string
	if err := errors.Join(state.As(&attributes), attributes["plan"].As(&plan)); err != nil {
		s.t.Fatal(err)
	}
	return plan
}

// object is a configuration with some attributes set.
func (s *stage) object(schema *tfprotov6.Schema, set map[string]tftypes.Value) *tfprotov6.DynamicValue {
	s.t.Helper()
	typ := schema.ValueType().(tftypes.Object)
	values := map[string]tftypes.Value{}
	for name, t := range typ.AttributeTypes {
		values[name] = tftypes.NewValue(t, nil)
	}
	maps.Copy(values, set)
	out, err := tfprotov6.NewDynamicValue(typ, tftypes.NewValue(typ, values))
	if err != nil {
		s.t.Fatal(err)
	}
	return &out
}
