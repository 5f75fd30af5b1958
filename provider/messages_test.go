package provider_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the golden files again")

const goldenMessages = "testdata/messages.golden"

// brokenRules is a configuration for each rule of the API that breaks it alone,
// in YAML, by resource type.
var brokenRules = map[string]map[string]string{
	"packhorse_provisioner": {
		"name: syntax":                           `name: Not_A_Name`,
		"name: length":                           `name: a123456789-123456789-123456789-123456789-123456789-123456789-123`,
		"labels: key syntax":                     `labels: {"a b": c}`,
		"labels: value syntax":                   `labels: {a: "b c"}`,
		"labels: typographic quotes":             `labels: {a: "“b”"}`,
		"labels: Packhorse's own key":            `labels: {karpenter.sh/provisioner-name: a}`,
		"labels: hostname":                       `labels: {kubernetes.io/hostname: a}`,
		"labels: restricted domain":              `labels: {k8s.io/team: a}`,
		"labels: unknown key of the AWS domain":  `labels: {karpenter.k8s.aws/instance-famly: m5}`,
		"labels: unknown capacity type":          `labels: {karpenter.sh/capacity-type: on_demand}`,
		"labels: against a requirement":          `{labels: {kubernetes.io/arch: arm64}, requirements: [{key: kubernetes.io/arch, operator: In, values: [amd64]}]}`,
		"annotations: key syntax":                `annotations: {"a b": c}`,
		"taints: no key":                         `taints: [{key: "", effect: NoSchedule}]`,
		"taints: key syntax":                     `taints: [{key: "a b", effect: NoSchedule}]`,
		"taints: value syntax":                   `taints: [{key: a, value: "b c", effect: NoSchedule}]`,
		"taints: no effect":                      `taints: [{key: a, effect: ""}]`,
		"taints: unknown effect":                 `taints: [{key: a, effect: NoScheduling}]`,
		"taints: twice":                          `taints: [{key: a, effect: NoSchedule}, {key: a, value: b, effect: NoSchedule}]`,
		"startup_taints: no effect":              `startup_taints: [{key: a, effect: ""}]`,
		"startup_taints: unknown effect":         `startup_taints: [{key: a, effect: NoExec}]`,
		"startup_taints: twice, across both":     `{taints: [{key: a, effect: NoSchedule}], startup_taints: [{key: a, effect: NoSchedule}]}`,
		"requirements: no key":                   `requirements: [{key: "", operator: Exists}]`,
		"requirements: key syntax":               `requirements: [{key: "a b", operator: Exists}]`,
		"requirements: restricted key":           `requirements: [{key: kubernetes.io/hostname, operator: In, values: [a]}]`,
		"requirements: Packhorse's own key":      `requirements: [{key: karpenter.sh/provisioner-name, operator: Exists}]`,
		"requirements: reserved domain":          `requirements: [{key: kubernetes.io/team, operator: Exists}]`,
		"requirements: unknown AWS key":          `requirements: [{key: karpenter.k8s.aws/instance-cpus, operator: Exists}]`,
		"requirements: typographic quotes":       `requirements: [{key: a, operator: In, values: [“b”]}]`,
		"requirements: contradiction of Exists":  `requirements: [{key: a, operator: Exists}, {key: a, operator: DoesNotExist}]`,
		"requirements: no operator":              `requirements: [{key: a, operator: ""}]`,
		"requirements: unknown operator":         `requirements: [{key: a, operator: Ins, values: [b]}]`,
		"requirements: In without values":        `requirements: [{key: a, operator: In}]`,
		"requirements: Gt without a value":       `requirements: [{key: karpenter.k8s.aws/instance-cpu, operator: Gt}]`,
		"requirements: Gt with two values":       `requirements: [{key: karpenter.k8s.aws/instance-cpu, operator: Gt, values: ["1", "2"]}]`,
		"requirements: Lt with a text":           `requirements: [{key: karpenter.k8s.aws/instance-cpu, operator: Lt, values: [many]}]`,
		"requirements: Gte with a negative":      `requirements: [{key: karpenter.k8s.aws/instance-cpu, operator: Gte, values: ["-1"]}]`,
		"requirements: Exists with values":       `requirements: [{key: a, operator: Exists, values: [b]}]`,
		"requirements: DoesNotExist with values": `requirements: [{key: a, operator: DoesNotExist, values: [b]}]`,
		"requirements: value syntax":             `requirements: [{key: a, operator: In, values: ["b c"]}]`,
		"requirements: capacity type":            `requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [on_demand]}]`,
		"requirements: contradiction":            `requirements: [{key: karpenter.k8s.aws/instance-cpu, operator: Gt, values: ["8"]}, {key: karpenter.k8s.aws/instance-cpu, operator: Lt, values: ["4"]}]`,
		"requirements: contradiction of In":      `requirements: [{key: kubernetes.io/arch, operator: In, values: [amd64]}, {key: kubernetes.io/arch, operator: NotIn, values: [amd64]}]`,
		"instance_types: empty":                  `instance_types: [""]`,
		"instance_types: against a requirement":  `{instance_types: [m5.large], requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [c5.large]}]}`,
		"pod_overrides: no known label":          `pod_overrides: [example.com/team]`,
		"pod_overrides: own label":               `pod_overrides: [kubernetes.io/arc]`,
		"kubelet_configuration: address":         `kubelet_configuration: {cluster_dns: [10.0.0]}`,
		"kubelet_configuration: runtime":         `kubelet_configuration: {container_runtime: docker}`,
		"kubelet_configuration: reserved name":   `kubelet_configuration: {system_reserved: {gpu: "1"}}`,
		"kubelet_configuration: reserved amount": `kubelet_configuration: {kube_reserved: {cpu: "-1"}}`,
		"kubelet_configuration: signal":          `kubelet_configuration: {eviction_hard: {memory.free: 5%}}`,
		"kubelet_configuration: far signal":      `kubelet_configuration: {eviction_hard: {disk.free: 5%}}`,
		"kubelet_configuration: low percentage":  `kubelet_configuration: {image_gc_low_threshold_percent: -1}`,
		"kubelet_configuration: threshold":       `kubelet_configuration: {eviction_hard: {memory.available: little}}`,
		"kubelet_configuration: threshold in %":  `kubelet_configuration: {eviction_hard: {memory.available: 101%}}`,
		"kubelet_configuration: negative":        `kubelet_configuration: {eviction_hard: {memory.available: -1Mi}}`,
		"kubelet_configuration: soft, no grace":  `kubelet_configuration: {eviction_soft: {memory.available: 5%}}`,
		"kubelet_configuration: grace, no soft":  `kubelet_configuration: {eviction_soft_grace_period: {memory.available: 1m}}`,
		"kubelet_configuration: negative grace":  `kubelet_configuration: {eviction_soft: {memory.available: 5%}, eviction_soft_grace_period: {memory.available: -1m}}`,
		"kubelet_configuration: pod grace":       `kubelet_configuration: {eviction_max_pod_grace_period: -1}`,
		"kubelet_configuration: percentage":      `kubelet_configuration: {image_gc_high_threshold_percent: 101}`,
		"kubelet_configuration: high and low":    `kubelet_configuration: {image_gc_high_threshold_percent: 50, image_gc_low_threshold_percent: 60}`,
		"kubelet_configuration: pods per core":   `kubelet_configuration: {pods_per_core: -1}`,
		"kubelet_configuration: max pods":        `kubelet_configuration: {max_pods: -1}`,
		"labels: misspelt well-known label":      `labels: {kuberentes.io/arch: arm64}`,
		"requirements: misspelt label":           `requirements: [{key: karpenter.aws/instance-family, operator: In, values: [m5]}]`,
		"limits: negative":                       `limits: {cpu: "-1"}`,
		"limits: no quantity":                    `limits: {cpu: 10 cores}`,
		"consolidation: with emptiness":          `{consolidation: {enabled: true}, ttl_seconds_after_empty: 30}`,
		"ttl_seconds_after_empty: negative":      `ttl_seconds_after_empty: -1`,
		"ttl_seconds_until_expired: negative":    `ttl_seconds_until_expired: -1`,
		"weight: too low":                        `weight: 0`,
		"weight: too high":                       `weight: 101`,
		"provider_ref: with an inline profile":   `{provider_ref: {name: a}, node_profile: {subnet_selector: {a: b}}}`,
		"provider_ref: no name":                  `provider_ref: {name: ""}`,
		"provider_ref: unknown kind":             `provider_ref: {name: a, kind: NodeTemplate}`,
		"provider_ref: unknown version":          `provider_ref: {name: a, api_version: karpenter.k8s.aws/v1beta1}`,
		"node_profile: any rule of a profile":    `node_profile: {subnet_selector: {a: b}, ami_family: AL3}`,
		"disruption: budget":                     `disruption: {budgets: [{nodes: a few}]}`,
		"disruption: budget in words":            `disruption: {budgets: [{nodes: 3 nodes}]}`,
		"disruption: macro":                      `disruption: {budgets: [{nodes: "1", schedule: "@dayly", duration: 1h}]}`,
		"disruption: fields of a schedule":       `disruption: {budgets: [{nodes: "1", schedule: 0 9 * *, duration: 1h}]}`,
		"disruption: range of a schedule":        `disruption: {budgets: [{nodes: "1", schedule: 0 17-9 * * *, duration: 1h}]}`,
		"disruption: step of a schedule":         `disruption: {budgets: [{nodes: "1", schedule: "*/0 * * * *", duration: 1h}]}`,
		"disruption: time zone":                  `disruption: {budgets: [{nodes: "1", schedule: TZ=UTC 0 9 * * *, duration: 1h}]}`,
		"disruption: budget in %":                `disruption: {budgets: [{nodes: 101%}]}`,
		"disruption: schedule":                   `disruption: {budgets: [{nodes: "1", schedule: 0 25 * * *, duration: 1h}]}`,
		"disruption: schedule, no duration":      `disruption: {budgets: [{nodes: "1", schedule: "@daily"}]}`,
		"disruption: duration, no schedule":      `disruption: {budgets: [{nodes: "1", duration: 1h}]}`,
		"disruption: duration":                   `disruption: {budgets: [{nodes: "1", schedule: "@daily", duration: 1 day}]}`,
		"disruption: no duration at all":         `disruption: {budgets: [{nodes: "1", schedule: "@daily", duration: 0s}]}`,
		"disruption: reason":                     `disruption: {budgets: [{nodes: "1", reasons: [drifted]}]}`,
		"disruption: consolidate_after":          `disruption: {consolidate_after: -1s}`,
		"disruption: termination_grace_period":   `disruption: {termination_grace_period: -1s}`,
		"pod_binding: other values":              `pod_binding: immediately`,
	},
	"packhorse_node_profile": {
		"name: syntax":                                     `name: Not_A_Name`,
		"subnet_selector: empty key":                       `subnet_selector: {"": a}`,
		"subnet_selector: no id":                           `subnet_selector: {"aws::ids": subnet}`,
		"subnet_selector: ids that exclude each other":     `subnet_selector: {"aws::ids": subnet-0a, aws-ids: subnet-0b}`,
		"subnet_selector: no alternative":                  `subnet_selector: {a: ","}`,
		"security_group_selector: no id":                   `security_group_selector: {"aws::ids": subnet-0123456789abcdef0}`,
		"ami_selector: unknown key":                        `ami_selector: {"aws::nam": a}`,
		"ami_selector: needed":                             `ami_family: Custom`,
		"ami_family: unknown":                              `ami_family: AL2024`,
		"launch_template: with an image":                   `{launch_template: a, ami_family: AL2}`,
		"launch_template: with an image selector":          `{launch_template: a, ami_selector: {a: b}}`,
		"launch_template: with user data":                  `{launch_template: a, user_data: b}`,
		"launch_template: with security groups":            `{launch_template: a, security_group_selector: {a: b}}`,
		"launch_template: with metadata options":           `{launch_template: a, metadata_options: {http_tokens: required}}`,
		"launch_template: with volumes":                    `{launch_template: a, block_device_mappings: [{device_name: /dev/xvda, ebs: {volume_size: 20Gi}}]}`,
		"launch_template: with instance profile":           `{launch_template: a, instance_profile: b}`,
		"launch_template: with local disks":                `{launch_template: a, instance_store_policy: RAID0}`,
		"instance_profile: ARN":                            `instance_profile: "arn:aws:iam::123456789012:instance-profile/nodes"`,
		"user_data: another family's":                      `{ami_family: Bottlerocket, user_data: "#!/bin/bash"}`,
		"instance_store_policy: unknown":                   `instance_store_policy: RAID1`,
		"instance_store_policy: family":                    `{instance_store_policy: RAID0, ami_family: Ubuntu}`,
		"user_data: length":                                `user_data: ` + strings.Repeat("x", 16<<10+1),
		"tags: length of a key":                            `tags: {` + strings.Repeat("k", 128) + `: a}`,
		"tags: length of a value":                          `tags: {a: ` + strings.Repeat("v", 257) + `}`,
		"tags: typographic quotes":                         `tags: {a: “b”}`,
		"tags: empty key":                                  `tags: {"": a}`,
		"tags: Packhorse's own key":                        `tags: {karpenter.sh/provisioner-name: a}`,
		"tags: ownership":                                  `tags: {kubernetes.io/cluster/prod: owned}`,
		"tags: AWS's prefix":                               `tags: {"aws:name": a}`,
		"metadata_options: endpoint":                       `metadata_options: {http_endpoint: enable}`,
		"metadata_options: IPv6":                           `metadata_options: {http_protocol_ipv6: "on"}`,
		"metadata_options: hop limit":                      `metadata_options: {http_put_response_hop_limit: 65}`,
		"metadata_options: tokens":                         `metadata_options: {http_tokens: require}`,
		"block_device_mappings: no device":                 `block_device_mappings: [{device_name: "", ebs: {volume_size: 20Gi}}]`,
		"block_device_mappings: device twice":              `block_device_mappings: [{device_name: /dev/xvda, ebs: {volume_size: 20Gi}}, {device_name: /dev/xvda, ebs: {volume_size: 20Gi}}]`,
		"block_device_mappings: two roots":                 `block_device_mappings: [{device_name: /dev/xvda, root_volume: true, ebs: {volume_size: 20Gi}}, {device_name: /dev/xvdb, root_volume: true, ebs: {volume_size: 20Gi}}]`,
		"block_device_mappings: no volume":                 `block_device_mappings: [{device_name: /dev/xvda}]`,
		"block_device_mappings: neither size nor snapshot": `block_device_mappings: [{device_name: /dev/xvda, ebs: {volume_type: gp3}}]`,
		"block_device_mappings: empty snapshot":            `block_device_mappings: [{device_name: /dev/xvda, ebs: {snapshot_id: ""}}]`,
		"block_device_mappings: volume type":               `block_device_mappings: [{device_name: /dev/xvda, ebs: {volume_size: 20Gi, volume_type: gp4}}]`,
		"block_device_mappings: bytes":                     `block_device_mappings: [{device_name: /dev/xvda, ebs: {volume_size: "100"}}]`,
		"block_device_mappings: too small":                 `block_device_mappings: [{device_name: /dev/xvdb, ebs: {volume_size: 20Gi, volume_type: st1}}]`,
		"block_device_mappings: too large":                 `block_device_mappings: [{device_name: /dev/xvda, ebs: {volume_size: 20Ti, volume_type: gp2}}]`,
		"block_device_mappings: no quantity":               `block_device_mappings: [{device_name: /dev/xvda, ebs: {volume_size: 20 GB}}]`,
		"block_device_mappings: operations":                `block_device_mappings: [{device_name: /dev/xvda, ebs: {volume_size: 20Gi, iops: 100}}]`,
		"block_device_mappings: operations needed":         `block_device_mappings: [{device_name: /dev/xvda, ebs: {volume_size: 20Gi, volume_type: io2}}]`,
		"block_device_mappings: throughput":                `block_device_mappings: [{device_name: /dev/xvda, ebs: {volume_size: 20Gi, volume_type: gp2, throughput: 125}}]`,
		"block_device_mappings: throughput of operations":  `block_device_mappings: [{device_name: /dev/xvda, ebs: {volume_size: 20Gi, throughput: 1000}}]`,
		"block_device_mappings: operations of size":        `block_device_mappings: [{device_name: /dev/xvda, ebs: {volume_size: 20Gi, iops: 16000}}]`,
		"block_device_mappings: hard disk to boot from":    `block_device_mappings: [{device_name: /dev/xvda, ebs: {volume_size: 125Gi, volume_type: st1}}]`,
	},
}

// Each rule of the API has a message, which names what was set and says what to
// do. Review a change of the golden file as a reader who has just met the error.
func TestMessages(t *testing.T) {
	var b strings.Builder
	for _, typeName := range []string{"packhorse_provisioner", "packhorse_node_profile"} {
		validate := validator(t, typeName)
		for _, rule := range sortedKeys(brokenRules[typeName]) {
			diags := validate(t, brokenRules[typeName][rule])
			fmt.Fprintf(&b, "%s %s\n", strings.TrimPrefix(typeName, "packhorse_"), rule)
			errors := 0
			for _, d := range diags {
				if d.Severity != tfprotov6.DiagnosticSeverityError {
					continue
				}
				errors++
				fmt.Fprintf(&b, "    %s\n    → %s\n", d.Summary, d.Detail)
				if d.Detail == "" || d.Attribute == nil || slices.Contains(empty, d.Detail) {
					t.Errorf("%s: %q does not say what to do, or where: %q", rule, d.Summary, d.Detail)
				}
			}
			if errors != 1 {
				t.Errorf("%s: %d errors, want one", rule, errors)
			}
		}
	}
	if *update {
		if err := os.WriteFile(goldenMessages, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(goldenMessages)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("messages; -update writes %s again (-want +got):\n%s", goldenMessages, diff)
	}
}

// empty are pieces of advice that leave the reader where they were.
var empty = []string{"Correct the value.", "Set it, or remove what needs it."}

// validator returns a function that validates arguments in YAML as Terraform has
// the provider do it. What a resource needs in any case is added.
func validator(t *testing.T, typeName string) func(t *testing.T, text string) []*tfprotov6.Diagnostic {
	t.Helper()
	server, err := factories()["packhorse"]()
	if err != nil {
		t.Fatal(err)
	}
	schemas := schemasOf(t, server)
	typ := schemas.ResourceSchemas[typeName].ValueType()
	return func(t *testing.T, text string) []*tfprotov6.Diagnostic {
		t.Helper()
		if !strings.HasPrefix(text, "{") {
			text = "{" + text + "}"
		}
		if !strings.Contains(text, "name: Not") && !strings.Contains(text, "{name: a1") {
			text = "{name: valid, " + text[1:]
		}
		raw, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		value, err := tftypes.ValueFromJSON(raw, typ) //nolint:staticcheck // it is how raw states are read, too
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		config, err := tfprotov6.NewDynamicValue(typ, value)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := server.ValidateResourceConfig(t.Context(), &tfprotov6.ValidateResourceConfigRequest{TypeName: typeName, Config: &config})
		if err != nil {
			t.Fatal(err)
		}
		return resp.Diagnostics
	}
}

func sortedKeys(m map[string]string) []string {
	var keys []string
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
