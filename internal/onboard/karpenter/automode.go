package karpenter

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// autoModeDomain is the domain of the labels by which EKS Auto Mode knows what
// Karpenter knows by labels of api.AWSDomain.
const autoModeDomain = "eks.amazonaws.com"

// Foreign names the class of a NodePool's nodes if that is no EC2NodeClass of
// Karpenter's, such as "NodeClass default of eks.amazonaws.com". Another controller
// launches such nodes: they are EKS Auto Mode's or those of another cloud. It returns
// nothing for a NodePool that is Karpenter's on AWS, and for all other documents.
func Foreign(document map[string]any) string {
	spec, _ := document["spec"].(map[string]any)
	template, _ := spec["template"].(map[string]any)
	nodes, _ := template["spec"].(map[string]any)
	return foreignClass(nodes)
}

func foreignClass(nodes map[string]any) string {
	ref, _ := nodes["nodeClassRef"].(map[string]any)
	kind, _ := ref["kind"].(string)
	group, _ := ref["group"].(string)
	if version, ok := ref["apiVersion"].(string); ok && group == "" {
		group, _, _ = strings.Cut(version, "/")
	}
	if (group == "" || group == NodeClasses.Group) && (kind == "" || kind == NodeClassKind) {
		return ""
	}
	return fmt.Sprintf("%s %v of %s", kind, ref["name"], group)
}

// ownKey returns the counterpart of a label of EKS Auto Mode that says what a
// well-known label says, or the key itself.
func ownKey(key string) string {
	domain, name, _ := strings.Cut(key, "/")
	if own := api.AWSDomain + "/" + name; domain == autoModeDomain && api.WellKnown(own) {
		return own
	}
	return key
}

// translateAutoMode replaces the labels of EKS Auto Mode in a pool of its class. Those
// without counterpart are lost: our nodes do not have them.
func translateAutoMode(metadata, nodes *fields) {
	if labels, ok := metadata.left["labels"].(map[string]any); ok {
		own := map[string]any{}
		for _, key := range slices.Sorted(maps.Keys(labels)) {
			if strings.HasPrefix(ownKey(key), autoModeDomain+"/") {
				metadata.lose("labels["+key+"]", onlyAutoMode)
				continue
			}
			own[ownKey(key)] = labels[key]
		}
		metadata.left["labels"] = own
	}
	list, _ := nodes.left["requirements"].([]any)
	var kept []any
	for i, item := range list {
		requirement, _ := item.(map[string]any)
		key, _ := requirement["key"].(string)
		if strings.HasPrefix(ownKey(key), autoModeDomain+"/") {
			nodes.lose(fmt.Sprintf("requirements[%d].key", i), key+" "+onlyAutoMode)
			continue
		}
		own := maps.Clone(requirement)
		own["key"] = ownKey(key)
		kept = append(kept, own)
	}
	nodes.left["requirements"] = kept
}

const onlyAutoMode = "is a label that only nodes of EKS Auto Mode have"
