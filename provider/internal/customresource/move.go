package customresource

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/wire"
)

// MoveState moves the state of kubernetes_manifest and kubectl_manifest with a `moved` block.
func (r *Resource) MoveState(context.Context) []resource.StateMover {
	return []resource.StateMover{{StateMover: r.moveManifest}}
}

// moveManifest sets the state to what the manifest declares, so that the same configuration plans no
// change.
func (r *Resource) moveManifest(ctx context.Context, req resource.MoveStateRequest, resp *resource.MoveStateResponse) {
	read := manifestReader(req.SourceTypeName, req.SourceProviderAddress)
	if read == nil {
		return // the resource type has no manifest
	}
	declared, err := readManifest(read, req.SourceRawState, r.kind)
	if err != nil {
		resp.Diagnostics.AddError(fmt.Sprintf("move to %s: %s", r.kind.Title(), err), lifecycle.NothingChanged)
		return
	}
	spec, _, err := unstructured.NestedMap(declared.Object, "spec")
	if err != nil {
		resp.Diagnostics.AddError(fmt.Sprintf("move to %s %s: %s", r.kind.Title(), declared.GetName(), err), "")
		return
	}
	m, err := r.kind.Codec().DecodeModel(spec, wire.NewModel(wire.TypeOf(ctx, resp.TargetState.Schema), declared.GetName()), true)
	if err != nil {
		resp.Diagnostics.AddError(fmt.Sprintf("move to %s %s: %s", r.kind.Title(), declared.GetName(), err), "")
		return
	}
	if doc := r.encode(m, &resp.Diagnostics); doc != nil {
		resp.Diagnostics.Append(resp.TargetState.Set(ctx, r.withComputed(ctx, m, doc, &resp.Diagnostics))...)
	}
	resp.Diagnostics.Append(lifecycle.ClusterRecord{}.Save(ctx, resp.TargetPrivate)...)
	lifecycle.SetName(ctx, resp.TargetIdentity, declared.GetName(), &resp.Diagnostics)
}

// manifestReader returns the function that reads the manifest in the state of a resource type, or nil
// if it has none.
func manifestReader(typeName, provider string) func(json.RawMessage) (map[string]any, error) {
	switch {
	case typeName == "kubernetes_manifest" && lifecycle.IsProvider(provider, "hashicorp/kubernetes"):
		return manifestValue
	case typeName == "kubectl_manifest" && (lifecycle.IsProvider(provider, "gavinbunney/kubectl") || lifecycle.IsProvider(provider, "alekc/kubectl")):
		return manifestText
	}
	return nil
}

// manifestValue reads the state of kubernetes_manifest, which has the type of its argument besides the
// value.
func manifestValue(state json.RawMessage) (map[string]any, error) {
	var held struct {
		Manifest struct {
			Value json.RawMessage `json:"value"`
		} `json:"manifest"`
	}
	if err := json.Unmarshal(state, &held); err != nil {
		return nil, err
	}
	return jsonObject(held.Manifest.Value)
}

// manifestText reads the state of kubectl_manifest, which contains YAML.
func manifestText(state json.RawMessage) (map[string]any, error) {
	var held struct {
		Body string `json:"yaml_body"`
	}
	if err := json.Unmarshal(state, &held); err != nil {
		return nil, err
	}
	raw, err := yaml.YAMLToJSON([]byte(held.Body))
	if err != nil {
		return nil, err
	}
	return jsonObject(raw)
}

// jsonObject reads JSON as Kubernetes does: whole numbers stay whole.
func jsonObject(raw json.RawMessage) (map[string]any, error) {
	var out map[string]any
	err := kjson.Unmarshal(raw, &out)
	return out, err
}

func readManifest(read func(json.RawMessage) (map[string]any, error), state *tfprotov6.RawState, k Kind) (*unstructured.Unstructured, error) {
	if state == nil || len(state.JSON) == 0 {
		return nil, errors.New("the state to move is empty")
	}
	fields, err := read(state.JSON)
	if err != nil {
		return nil, fmt.Errorf("read the manifest: %w", err)
	}
	declared := &unstructured.Unstructured{Object: fields}
	want := k.Object()
	if gvk := declared.GroupVersionKind(); gvk.Kind != want.Name || gvk.GroupVersion() != want.Resource.GroupVersion() {
		return nil, fmt.Errorf("the manifest is of %s %s, not of %s %s", declared.GetAPIVersion(), declared.GetKind(), want.Resource.GroupVersion(), want.Name)
	}
	return declared, nil
}
