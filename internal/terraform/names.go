// Package terraform spells the custom resources as Terraform configuration. The
// provider's schema and whoever writes configuration share its names.
package terraform

import (
	"strings"
	"unicode"
)

// Fields are the attributes whose JSON field is not their name in camel case. A
// dotted field reaches into an object that has no attribute of its own.
var Fields = map[string]string{
	"cluster_dns":                     "clusterDNS",
	"cpu_cfs_quota":                   "cpuCFSQuota",
	"http_protocol_ipv6":              "httpProtocolIPv6",
	"image_gc_high_threshold_percent": "imageGCHighThresholdPercent",
	"image_gc_low_threshold_percent":  "imageGCLowThresholdPercent",
	"kms_key_id":                      "kmsKeyID",
	"limits":                          "limits.resources",
	"node_profile":                    "provider",
	"snapshot_id":                     "snapshotID",
}

// attributeOf returns the attribute of a JSON field.
func attributeOf(field string) string {
	for attribute, known := range Fields {
		if head, _, _ := strings.Cut(known, "."); head == field {
			return attribute
		}
	}
	var b strings.Builder
	for _, r := range field {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// Identifier makes a name of a resource out of any text. Names of Kubernetes
// objects, which have no underscores, stay different.
func Identifier(text string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, text)
	if name == "" || name[0] >= '0' && name[0] <= '9' || name[0] == '-' {
		name = "_" + name
	}
	return name
}
