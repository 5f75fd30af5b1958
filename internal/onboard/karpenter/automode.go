package karpenter

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/kinds"
)

// autoModeDomain is the domain of the labels by which EKS Auto Mode knows what
// Karpenter knows by labels of api.AWSDomain.
const autoModeDomain = "eks.amazonaws.com"

// Foreign names the class of a NodePool's nodes if that is no EC2NodeClass of
// Karpenter's, such as "NodeClass default of eks.amazonaws.com". Another controller
// launches such nodes: they are EKS Auto Mode's or those of another cloud. It returns
// nothing for a NodePool that is Karpenter's on AWS, and for all other documents.
func Foreign(document map[string]any) string {
	ref, _ := templateSpec(document)["nodeClassRef"].(map[string]any)
	kind, _ := ref["kind"].(string)
	group, _ := ref["group"].(string)
	if version, ok := ref["apiVersion"].(string); ok && group == "" {
		group, _, _ = strings.Cut(version, "/")
	}
	if (group == "" || group == kinds.NodeClasses.Group) && (kind == "" || kind == kinds.NodeClassKind) {
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
func translateAutoMode(o *Object, about *kinds.PoolMetadata, nodes *kinds.PoolNodes) {
	labels := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(about.Labels)) {
		if strings.HasPrefix(ownKey(key), autoModeDomain+"/") {
			o.lose("spec.template.metadata.labels["+key+"]", onlyAutoMode)
			continue
		}
		labels[ownKey(key)] = about.Labels[key]
	}
	about.Labels = labels
	var kept []kinds.PoolRequirement
	for i, r := range nodes.Requirements {
		key := ownKey(ptr.Deref(r.Key, ""))
		if strings.HasPrefix(key, autoModeDomain+"/") {
			o.lose(fmt.Sprintf("%s.requirements[%d].key", nodesPath, i), key+" "+onlyAutoMode)
			continue
		}
		r.Key = &key
		kept = append(kept, r)
	}
	nodes.Requirements = kept
}

const onlyAutoMode = "is a label that only nodes of EKS Auto Mode have"
