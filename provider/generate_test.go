package provider_test

import (
	"fmt"
	"maps"
	"strings"

	"pgregory.net/rapid"
)

// arguments are those of one resource, as Terraform's JSON has them.
type arguments = map[string]any

// maybe draws an argument or leaves it out, which is as common.
func maybe(t *rapid.T, out arguments, name string, draw func(*rapid.T) any) {
	if rapid.Bool().Draw(t, name+"?") {
		out[name] = draw(t)
	}
}

// some draws one or more of the values, each once, in their order.
func some[T any](t *rapid.T, label string, values ...T) []any {
	var out []any
	for i, v := range values {
		if rapid.Bool().Draw(t, fmt.Sprint(label, i)) {
			out = append(out, v)
		}
	}
	if len(out) == 0 {
		out = append(out, values[0])
	}
	return out
}

func oneOf[T any](t *rapid.T, label string, values ...T) any {
	return rapid.SampledFrom(values).Draw(t, label)
}

func whole(t *rapid.T, label string, from, to int) any {
	return rapid.IntRange(from, to).Draw(t, label)
}

func textsOf(t *rapid.T, label string, keys []string, values ...string) arguments {
	out := arguments{}
	for _, key := range some(t, label, keys...) {
		out[key.(string)] = oneOf(t, label+key.(string), values...)
	}
	return out
}

// aProvisioner draws a valid provisioner; over many draws all arguments occur.
func aProvisioner() *rapid.Generator[arguments] {
	return rapid.Custom(func(t *rapid.T) arguments {
		out := arguments{}
		maybe(t, out, "labels", func(t *rapid.T) any {
			return textsOf(t, "labels", []string{"example.com/team", "tier", "node.kubernetes.io/purpose"}, "a", "b-c", "")
		})
		maybe(t, out, "annotations", func(t *rapid.T) any {
			return textsOf(t, "annotations", []string{"example.com/note", "b"}, "hello there", "", "{}")
		})
		maybe(t, out, "taints", func(t *rapid.T) any { return drawTaints(t, "taint", "dedicated", "gpu") })
		maybe(t, out, "startup_taints", func(t *rapid.T) any {
			return drawTaints(t, "startup", "node.kubernetes.io/not-ready", "cni.example.com/agent-not-ready")
		})
		maybe(t, out, "requirements", drawRequirements)
		maybe(t, out, "instance_types", func(t *rapid.T) any { return some(t, "types", "m5.large", "m5.xlarge", "c6g.large") })
		maybe(t, out, "pod_overrides", func(t *rapid.T) any {
			return some(t, "overrides", "kubernetes.io/arch", "topology.kubernetes.io/zone")
		})
		maybe(t, out, "kubelet_configuration", drawKubelet)
		maybe(t, out, "limits", func(t *rapid.T) any {
			return textsOf(t, "limits", []string{"cpu", "memory", "example.com/gpu"}, "1k", "1000", "0", "1.5", "500m", "10Gi", "1e3")
		})
		maybe(t, out, "ttl_seconds_until_expired", func(t *rapid.T) any { return whole(t, "expiry", 0, 2592000) })
		maybe(t, out, "weight", func(t *rapid.T) any { return whole(t, "weight", 1, 100) })
		maybe(t, out, "pod_binding", func(t *rapid.T) any { return oneOf(t, "binding", "Immediate", "Scheduler") })
		maybe(t, out, "disruption", drawDisruption)
		maybe(t, out, "timeouts", func(t *rapid.T) any { return arguments{"create": "5m", "delete": oneOf(t, "timeout", "30m", "1h")} })
		drawEmptiness(t, out)
		drawProfile(t, out)
		return out
	})
}

// drawEmptiness draws one of the two ways to get rid of empty nodes, or neither.
func drawEmptiness(t *rapid.T, out arguments) {
	switch oneOf(t, "emptiness", "consolidation", "ttl", "neither") {
	case "consolidation":
		out["consolidation"] = arguments{"enabled": true}
	case "ttl":
		out["ttl_seconds_after_empty"] = whole(t, "empty", 0, 3600)
		maybe(t, out, "consolidation", func(*rapid.T) any { return arguments{"enabled": false} })
	}
}

// drawProfile draws an inline node profile or a reference to one.
func drawProfile(t *rapid.T, out arguments) {
	switch oneOf(t, "profile", "inline", "reference", "neither") {
	case "inline":
		out["node_profile"] = aNodeProfile().Draw(t, "inline profile")
	case "reference":
		ref := arguments{"name": "default"}
		maybe(t, ref, "kind", func(*rapid.T) any { return "AWSNodeTemplate" })
		maybe(t, ref, "api_version", func(*rapid.T) any { return "karpenter.k8s.aws/v1alpha1" })
		out["provider_ref"] = ref
	}
}

func drawTaints(t *rapid.T, label string, keys ...string) any {
	var out []any
	for _, key := range some(t, label, keys...) {
		taint := arguments{"key": key, "effect": oneOf(t, label+"effect", "NoSchedule", "PreferNoSchedule", "NoExecute")}
		maybe(t, taint, "value", func(t *rapid.T) any { return oneOf(t, label+"value", "batch", "true", "") })
		out = append(out, taint)
	}
	return out
}

func drawRequirements(t *rapid.T) any {
	requirement := func(key, operator string, values ...any) arguments {
		out := arguments{"key": key, "operator": operator}
		if len(values) > 0 {
			out["values"] = values
		}
		return out
	}
	return some(t, "requirements",
		requirement("karpenter.sh/capacity-type", "In", some(t, "capacity", "spot", "on-demand")...),
		requirement("kubernetes.io/arch", "In", some(t, "arch", "amd64", "arm64")...),
		requirement("karpenter.k8s.aws/instance-cpu", oneOf(t, "cpu operator", "Gt", "Gte").(string), "3"),
		requirement("karpenter.k8s.aws/instance-cpu", oneOf(t, "cpu limit", "Lt", "Lte").(string), "65"),
		requirement("karpenter.k8s.aws/instance-category", "NotIn", "t", "p"),
		requirement("topology.kubernetes.io/zone", "In", "eu-west-1a", "eu-west-1b", "eu-west-1a"),
		requirement("example.com/pool", "Exists"),
		arguments{"key": "karpenter.k8s.aws/instance-family", "operator": "Exists", "min_values": oneOf(t, "choice", 1, 5, 50)},
		requirement("example.com/never", "DoesNotExist"),
		requirement("kubernetes.io/os", "In", "linux"),
		requirement("kubernetes.io/os", "NotIn", "windows"),
	)
}

func drawKubelet(t *rapid.T) any {
	out := arguments{}
	reserved := []string{"cpu", "memory", "ephemeral-storage", "pid"}
	signals := []string{"memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available", "pid.available"}
	maybe(t, out, "cluster_dns", func(t *rapid.T) any { return some(t, "dns", "10.0.0.10", "fd00::10") })
	maybe(t, out, "container_runtime", func(*rapid.T) any { return "containerd" })
	maybe(t, out, "system_reserved", func(t *rapid.T) any { return textsOf(t, "system", reserved, "100m", "0.1", "1") })
	maybe(t, out, "kube_reserved", func(t *rapid.T) any { return textsOf(t, "kube", reserved, "200m", "1Gi", "100Mi") })
	maybe(t, out, "eviction_hard", func(t *rapid.T) any { return textsOf(t, "hard", signals, "5%", "100Mi", "0.5%") })
	if rapid.Bool().Draw(t, "soft?") {
		soft := textsOf(t, "soft", signals, "10%", "500Mi")
		grace := arguments{}
		for signal := range maps.Keys(soft) {
			grace[signal] = oneOf(t, "grace", "60s", "1m", "1m30s", "90s")
		}
		out["eviction_soft"], out["eviction_soft_grace_period"] = soft, grace
	}
	maybe(t, out, "eviction_max_pod_grace_period", func(t *rapid.T) any { return whole(t, "pod grace", 0, 600) })
	maybe(t, out, "image_gc_high_threshold_percent", func(t *rapid.T) any { return whole(t, "high", 81, 100) })
	maybe(t, out, "image_gc_low_threshold_percent", func(t *rapid.T) any { return whole(t, "low", 0, 80) })
	maybe(t, out, "cpu_cfs_quota", func(t *rapid.T) any { return rapid.Bool().Draw(t, "quota") })
	maybe(t, out, "pods_per_core", func(t *rapid.T) any { return whole(t, "per core", 0, 50) })
	maybe(t, out, "max_pods", func(t *rapid.T) any { return whole(t, "max pods", 1, 250) })
	return out
}

func drawDisruption(t *rapid.T) any {
	out := arguments{}
	maybe(t, out, "budgets", func(t *rapid.T) any {
		always := arguments{"nodes": oneOf(t, "nodes", "10%", "3", "0", "100%")}
		maybe(t, always, "reasons", func(t *rapid.T) any { return some(t, "reasons", "drift", "emptiness", "expiry") })
		office := arguments{"nodes": "0", "schedule": oneOf(t, "cron", "0 9 * * mon-fri", "@daily"), "duration": oneOf(t, "for", "8h", "90m", "1h30m")}
		return some(t, "budgets", always, office)
	})
	maybe(t, out, "consolidate_after", func(t *rapid.T) any { return oneOf(t, "after", "30s", "90s", "1m30s", "0s") })
	maybe(t, out, "eviction_cost", func(t *rapid.T) any { return oneOf(t, "cost", "0", "0.5", "2", "Never") })
	maybe(t, out, "windows", func(t *rapid.T) any {
		nights := arguments{"schedule": oneOf(t, "opens", "0 22 * * *", "@weekly"), "duration": oneOf(t, "open for", "8h", "90m")}
		maybe(t, nights, "time_zone", func(t *rapid.T) any { return oneOf(t, "zone", "Europe/Berlin", "UTC") })
		return []any{nights}
	})
	maybe(t, out, "termination_grace_period", func(t *rapid.T) any { return oneOf(t, "termination", "1h", "48h") })
	maybe(t, out, "drift", func(t *rapid.T) any { return rapid.Bool().Draw(t, "drift") })
	return out
}

// aNodeProfile draws a valid node profile.
func aNodeProfile() *rapid.Generator[arguments] {
	return rapid.Custom(func(t *rapid.T) arguments {
		out := arguments{"subnet_selector": textsOf(t, "subnets", []string{"karpenter.sh/discovery", "Name"}, "prod", "*", "a-*,b-*", "")}
		maybe(t, out, "tags", func(t *rapid.T) any { return textsOf(t, "tags", []string{"Name", "team"}, "a", "b c") })
		maybe(t, out, "detailed_monitoring", func(t *rapid.T) any { return rapid.Bool().Draw(t, "monitoring") })
		if rapid.IntRange(0, 4).Draw(t, "own template?") == 0 {
			out["launch_template"] = "mine"
			return out
		}
		maybe(t, out, "security_group_selector", func(*rapid.T) any {
			return arguments{"aws::ids": "sg-0123456789abcdef0,sg-0123456789abcdef1"}
		})
		maybe(t, out, "instance_profile", func(*rapid.T) any { return "node" })
		maybe(t, out, "ami_family", func(t *rapid.T) any {
			return oneOf(t, "family", "AL2", "AL2023", "Bottlerocket", "Ubuntu", "Windows2019", "Windows2022")
		})
		if rapid.Bool().Draw(t, "own image?") {
			out["ami_family"], out["ami_selector"] = "Custom", textsOf(t, "image", []string{"aws::name", "team"}, "node-*", "b")
		}
		if family := out["ami_family"]; family == nil || family == "AL2023" || family == "Bottlerocket" {
			maybe(t, out, "instance_store_policy", func(*rapid.T) any { return "RAID0" })
		}
		maybe(t, out, "metadata_options", drawMetadata)
		maybe(t, out, "block_device_mappings", drawVolumes)
		maybe(t, out, "user_data", func(t *rapid.T) any {
			if out["ami_family"] == "Bottlerocket" {
				return "[settings.kubernetes]\nmax-pods = 20\n"
			}
			if family, _ := out["ami_family"].(string); strings.HasPrefix(family, "Windows") {
				return "Write-Host hello\n"
			}
			return oneOf(t, "user data", "#!/bin/sh\necho hello\n", "#!/bin/bash\nset -e")
		})
		return out
	})
}

func drawMetadata(t *rapid.T) any {
	out := arguments{}
	maybe(t, out, "http_endpoint", func(t *rapid.T) any { return oneOf(t, "endpoint", "enabled", "disabled") })
	maybe(t, out, "http_protocol_ipv6", func(t *rapid.T) any { return oneOf(t, "ipv6", "enabled", "disabled") })
	maybe(t, out, "http_put_response_hop_limit", func(t *rapid.T) any { return whole(t, "hops", 1, 64) })
	maybe(t, out, "http_tokens", func(t *rapid.T) any { return oneOf(t, "tokens", "required", "optional") })
	return out
}

func drawVolumes(t *rapid.T) any {
	ebs := arguments{"volume_size": oneOf(t, "size", "20Gi", "100Gi", "1Ti", "30G")}
	maybe(t, ebs, "encrypted", func(t *rapid.T) any { return rapid.Bool().Draw(t, "encrypted") })
	maybe(t, ebs, "delete_on_termination", func(t *rapid.T) any { return rapid.Bool().Draw(t, "delete") })
	maybe(t, ebs, "kms_key_id", func(*rapid.T) any { return "alias/volumes" })
	maybe(t, ebs, "snapshot_id", func(*rapid.T) any { return "snap-0123456789abcdef0" })
	if rapid.Bool().Draw(t, "fast?") {
		ebs["volume_type"], ebs["iops"], ebs["throughput"] = "gp3", whole(t, "iops", 3000, 6000), whole(t, "throughput", 125, 500)
	}
	root := arguments{"device_name": "/dev/xvda", "ebs": ebs}
	maybe(t, root, "root_volume", func(*rapid.T) any { return true })
	data := arguments{"device_name": "/dev/xvdb", "ebs": arguments{"volume_size": "50Gi", "volume_type": oneOf(t, "type", "gp2", "gp3", "st1")}}
	if data["ebs"].(arguments)["volume_type"] == "st1" {
		data["ebs"].(arguments)["volume_size"] = "500Gi"
	}
	return some(t, "volumes", root, data)
}
