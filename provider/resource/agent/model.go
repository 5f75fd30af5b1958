package agent

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/kubevalue"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/value"
)

// model is the state of packhorse_agent.
type model struct {
	Namespace         types.String    `tfsdk:"namespace"`
	Name              types.String    `tfsdk:"name"`
	ClusterName       types.String    `tfsdk:"cluster_name"`
	Region            types.String    `tfsdk:"region"`
	RoleARN           types.String    `tfsdk:"role_arn"`
	Queue             types.String    `tfsdk:"interruption_queue"`
	InstanceProfile   types.String    `tfsdk:"default_instance_profile"`
	Endpoints         types.Map       `tfsdk:"endpoints"`
	Options           types.Map       `tfsdk:"options"`
	NodePools         types.Bool      `tfsdk:"node_pools"`
	Image             types.String    `tfsdk:"image"`
	PullSecrets       types.List      `tfsdk:"image_pull_secrets"`
	Replicas          types.Int64     `tfsdk:"replicas"`
	CPURequest        kubevalue.Value `tfsdk:"cpu_request"`
	Memory            kubevalue.Value `tfsdk:"memory"`
	PriorityClassName types.String    `tfsdk:"priority_class_name"`
	NodeSelector      types.Map       `tfsdk:"node_selector"`
	Tolerations       types.List      `tfsdk:"tolerations"`
	CABundle          types.String    `tfsdk:"ca_bundle"`
	Environment       types.Map       `tfsdk:"environment"`
	CreateNamespace   types.Bool      `tfsdk:"create_namespace"`
	InstallCRDs       types.Bool      `tfsdk:"install_crds"`
	NetworkPolicy     types.Bool      `tfsdk:"network_policy"`
	OnDestroy         types.String    `tfsdk:"on_destroy"`
	KeepCRDs          types.Bool      `tfsdk:"keep_crds"`
	ForceConflicts    types.Bool      `tfsdk:"force_conflicts"`
	Timeouts          timeouts.Value  `tfsdk:"timeouts"`
	Revision          types.String    `tfsdk:"revision"`
	Leader            types.String    `tfsdk:"leader"`
	ImageDigest       types.String    `tfsdk:"image_digest"`
	CRDVersions       types.Map       `tfsdk:"crd_versions"`
}

// settings returns the settings of the model, with defaults for the rest.
func (m *model) settings(version string) install.Settings {
	s := install.Settings{
		Namespace: m.Namespace.ValueString(), Name: m.Name.ValueString(),
		OmitNamespace: off(m.CreateNamespace), OmitCRDs: off(m.InstallCRDs), OmitNetworkPolicy: off(m.NetworkPolicy),
		ClusterName: m.ClusterName.ValueString(), Region: m.Region.ValueString(), RoleARN: m.RoleARN.ValueString(),
		Queue: m.Queue.ValueString(), InstanceProfile: m.InstanceProfile.ValueString(),
		Endpoints: value.Strings(m.Endpoints), Options: m.options(),
		Image: m.Image.ValueString(), CPURequest: m.CPURequest.ValueString(), Memory: m.Memory.ValueString(),
		PriorityClassName: m.PriorityClassName.ValueString(), NodeSelector: value.Strings(m.NodeSelector), Environment: value.Strings(m.Environment),
		PullSecrets: value.Listed(m.PullSecrets), CABundle: m.CABundle.ValueString(),
	}
	if !m.Replicas.IsNull() && !m.Replicas.IsUnknown() {
		s.Replicas = ptr.To(int32(m.Replicas.ValueInt64()))
	}
	for _, element := range m.Tolerations.Elements() {
		if t, ok := element.(types.Object); ok && !t.IsNull() {
			given := value.Fields(t)
			s.Tolerations = append(s.Tolerations, corev1.Toleration{
				Key: given["key"], Operator: corev1.TolerationOperator(given["operator"]), Value: given["value"], Effect: corev1.TaintEffect(given["effect"]),
			})
		}
	}
	return s.Defaulted(version)
}

// optionNodePools is the agent's flag for the attribute node_pools.
const optionNodePools = "node-pools"

// options returns the agent's flags, including the one for node_pools.
func (m *model) options() map[string]string {
	out := value.Strings(m.Options)
	if _, own := out[optionNodePools]; !own && m.NodePools.ValueBool() {
		out[optionNodePools] = "true"
	}
	return out
}

// refreshOptions sets options and node_pools to the flags of the live installation.
func (m *model) refreshOptions(before, live map[string]string) {
	if _, own := value.Strings(m.Options)[optionNodePools]; !own {
		before, live = maps.Clone(before), maps.Clone(live)
		on, _ := strconv.ParseBool(live[optionNodePools])
		if on || !m.NodePools.IsNull() {
			m.NodePools = types.BoolValue(on)
		}
		delete(before, optionNodePools)
		delete(live, optionNodePools)
	}
	m.Options = sameMap(m.Options, before, live)
}

func off(b types.Bool) bool { return !b.IsNull() && !b.IsUnknown() && !b.ValueBool() }

// unknown reports whether a setting is known only after apply.
func (m *model) unknown(ctx context.Context) bool {
	values := []attr.Value{
		m.Namespace, m.Name, m.ClusterName, m.Region, m.RoleARN, m.Queue, m.InstanceProfile, m.Endpoints, m.Options, m.NodePools, m.Image, m.PullSecrets, m.Replicas,
		m.CPURequest, m.Memory, m.PriorityClassName, m.NodeSelector, m.Tolerations, m.CABundle, m.Environment, m.CreateNamespace, m.InstallCRDs, m.NetworkPolicy,
	}
	return slices.ContainsFunc(values, func(v attr.Value) bool { return !value.FullyKnown(ctx, v) })
}

// refresh sets the attributes to the settings of the live installation.
func (m *model) refresh(live install.Settings, version string) {
	before := m.settings(version)
	if before.Options["log-format"] == "json" { // the default
		delete(before.Options, "log-format")
	}
	live = live.InTermsOf(before)
	m.Namespace, m.Name = types.StringValue(live.Namespace), types.StringValue(live.Name)
	m.ClusterName, m.Region = types.StringValue(live.ClusterName), value.TextOrNull(live.Region)
	m.RoleARN = value.Declared(m.RoleARN, live.RoleARN)
	m.Queue = value.Declared(m.Queue, live.Queue)
	m.InstanceProfile = value.Declared(m.InstanceProfile, live.InstanceProfile)
	m.CABundle = value.Declared(m.CABundle, live.CABundle)
	m.Image, m.PriorityClassName = types.StringValue(live.Image), types.StringValue(live.PriorityClassName)
	m.Replicas = types.Int64Value(int64(ptr.Deref(live.Replicas, install.DefaultReplicas)))
	m.CPURequest, m.Memory = sameAmount(m.CPURequest, live.CPURequest), sameAmount(m.Memory, live.Memory)
	m.Endpoints = sameMap(m.Endpoints, before.Endpoints, live.Endpoints)
	m.refreshOptions(before.Options, live.Options)
	m.NodeSelector = sameMap(m.NodeSelector, before.NodeSelector, live.NodeSelector)
	m.Environment = sameMap(m.Environment, before.Environment, live.Environment)
	if !slices.Equal(before.PullSecrets, live.PullSecrets) || m.PullSecrets.IsNull() {
		m.PullSecrets = stringList(live.PullSecrets)
	}
	if !reflect.DeepEqual(slices.Concat(before.Tolerations), slices.Concat(live.Tolerations)) {
		m.Tolerations = tolerationList(live.Tolerations)
	}
	m.CreateNamespace = types.BoolValue(!live.OmitNamespace)
	m.NetworkPolicy = types.BoolValue(!live.OmitNetworkPolicy)
}

// inheritEndpoints sets the endpoints to those of the provider block for the services that the agent calls,
// except services whose endpoints the agent's environment sets.
func (m *model) inheritEndpoints(given map[string]string) {
	if m.Environment.IsUnknown() {
		return
	}
	environment, endpoints := value.Strings(m.Environment), map[string]string{}
	_, forAll := environment[install.EndpointForAll]
	for _, service := range install.EndpointServices() {
		if _, own := environment[install.EndpointVariable(service)]; given[service] != "" && !own && !forAll {
			endpoints[service] = given[service]
		}
	}
	m.Endpoints = types.MapNull(types.StringType)
	if len(endpoints) > 0 {
		m.Endpoints = value.Map(endpoints)
	}
}

// imported reports whether the installation has just been imported, so that its state has no more than its location.
func (m *model) imported() bool { return m.OnDestroy.IsNull() }

// complete sets the attributes of an imported resource that cannot be read.
func (m *model) complete() {
	if m.imported() {
		m.OnDestroy, m.InstallCRDs = types.StringValue(drainNodes), types.BoolValue(true)
	}
}

// sameAmount returns the live amount, in the spelling of before if it is the same.
func sameAmount(before kubevalue.Value, live string) kubevalue.Value {
	now := kubevalue.Value{StringValue: types.StringValue(live)}
	if same, diags := before.StringSemanticEquals(context.Background(), now); same && !diags.HasError() && !before.IsNull() {
		return before
	}
	return now
}

func sameMap(m types.Map, before, live map[string]string) types.Map {
	if maps.Equal(before, live) && !m.IsUnknown() {
		return m
	}
	if len(live) == 0 {
		return types.MapNull(types.StringType)
	}
	return value.Map(live)
}

func stringList(values []string) types.List {
	if len(values) == 0 {
		return types.ListNull(types.StringType)
	}
	return value.List(values)
}

var tolerationType = types.ObjectType{AttrTypes: map[string]attr.Type{
	"key": types.StringType, "operator": types.StringType, "value": types.StringType, "effect": types.StringType,
}}

func tolerationList(tolerations []corev1.Toleration) types.List {
	if len(tolerations) == 0 {
		return types.ListNull(tolerationType)
	}
	elements := make([]attr.Value, len(tolerations))
	for i, t := range tolerations {
		elements[i] = types.ObjectValueMust(tolerationType.AttrTypes, map[string]attr.Value{
			"key": value.TextOrNull(t.Key), "operator": value.TextOrNull(string(t.Operator)),
			"value": value.TextOrNull(t.Value), "effect": value.TextOrNull(string(t.Effect)),
		})
	}
	return types.ListValueMust(tolerationType, elements)
}

// report sets the attributes about the status of the agent.
func (m *model) report(s install.Status) {
	m.Leader, m.ImageDigest = types.StringValue(s.Leader), types.StringValue(s.ImageDigest)
	stored := map[string]string{}
	for name, versions := range s.Definitions {
		stored[name] = strings.Join(versions, ",")
	}
	m.CRDVersions = value.Map(stored)
}

// inventory returns the objects of the installation with only what their names depend on, so that the
// installation can be removed even if other settings are invalid.
func (m *model) inventory() ([]*unstructured.Unstructured, error) {
	s := install.Settings{
		Namespace: m.Namespace.ValueString(), Name: m.Name.ValueString(),
		OmitNamespace: off(m.CreateNamespace), OmitCRDs: off(m.InstallCRDs), OmitNetworkPolicy: off(m.NetworkPolicy),
	}.Defaulted("")
	return s.Objects()
}

// onDestroy returns what happens to the nodes on destroy.
func (m *model) onDestroy() string { return cmp.Or(m.OnDestroy.ValueString(), drainNodes) }

// deletesObjects reports whether custom resources that others have declared are deleted too. keep_crds must
// explicitly be false for that.
func (m *model) deletesObjects() bool { return off(m.KeepCRDs) && !off(m.InstallCRDs) }

// id returns the import id of the installation.
func (m *model) id() string { return m.Namespace.ValueString() + "/" + m.Name.ValueString() }

// title returns the name of the installation for messages.
func (m *model) title() string { return "agent " + m.id() }

// pick returns the live object for each declared one, and nil if there is none.
func pick(declared, all []*unstructured.Unstructured) []*unstructured.Unstructured {
	out := make([]*unstructured.Unstructured, len(declared))
	for i, d := range declared {
		at := slices.IndexFunc(all, func(o *unstructured.Unstructured) bool {
			return o != nil && o.GetKind() == d.GetKind() && o.GetName() == d.GetName()
		})
		if at >= 0 {
			out[i] = all[at]
		}
	}
	return out
}
