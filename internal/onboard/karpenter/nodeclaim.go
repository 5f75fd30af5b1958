package karpenter

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/kinds"
)

// annotationInstanceProfile on a NodeClaim names the instance profile of its machine.
const annotationInstanceProfile = api.AWSDomain + "/instance-profile-name"

// Claim is a NodeClaim that is made for a machine that exists. The status is to be
// written before Karpenter sees it: for one that does not say that its machine was
// launched, Karpenter launches one.
type Claim struct {
	Object, Status map[string]any
	// NodeClass is the EC2NodeClass of its NodePool.
	NodeClass string
}

// ClaimFor returns the NodeClaim by which Karpenter knows a machine of a NodePool as its
// own, in the version of the NodePool. The node is nil for a machine that has none yet. Its name depends on
// the instance only, so that whoever makes it again makes the same.
//
// It has no hash of the NodePool or the EC2NodeClass: Karpenter takes a machine whose
// hash it does not know for one that has not drifted.
func ClaimFor(pool map[string]any, i offer.Instance, n *cluster.Node, now time.Time) (Claim, error) {
	var p kinds.NodePool
	text, err := json.Marshal(pool)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil || p.Spec == nil || p.Spec.Template == nil || p.Spec.Template.Spec == nil || p.Spec.Template.Spec.NodeClassRef == nil {
		return Claim{}, fmt.Errorf("make a NodeClaim for %s: its NodePool %s cannot be read", i.ID, kinds.NameOf(pool))
	}
	template := p.Spec.Template
	class := ptr.Deref(template.Spec.NodeClassRef.Name, "")
	spec := map[string]any{
		"nodeClassRef": templateSpec(pool)["nodeClassRef"],
		"requirements": []any{
			in(api.LabelNodePool, p.Name), in(api.LabelInstanceType, i.InstanceType), in(api.LabelZone, i.Zone), in(api.LabelCapacityType, i.CapacityType),
		},
	}
	// What applies to the machine's whole life goes along; startup taints do not, as nobody
	// would take them off a second time.
	for _, field := range []string{"taints", "expireAfter", "terminationGracePeriod", "kubelet"} {
		if value, ok := templateSpec(pool)[field]; ok {
			spec[field] = value
		}
	}
	labels := map[string]string{api.LabelNodePool: p.Name, api.LabelNodeClass: class}
	maps.Copy(labels, claimLabels(template, i, n))
	claim := unstructured.Unstructured{Object: map[string]any{"apiVersion": pool["apiVersion"], "kind": kinds.NodeClaimKind, "spec": spec}}
	claim.SetName(p.Name + "-" + strings.TrimPrefix(i.ID, "i-"))
	claim.SetLabels(labels)
	claim.SetFinalizers([]string{api.Finalizer})
	claim.SetOwnerReferences([]metav1.OwnerReference{
		{APIVersion: claim.GetAPIVersion(), Kind: kinds.NodePoolKind, Name: p.Name, UID: p.UID, BlockOwnerDeletion: ptr.To(true)},
	})
	if i.Profile != "" { // Karpenter deletes its own instance profiles that no NodeClaim names and no class has now
		claim.SetAnnotations(map[string]string{annotationInstanceProfile: i.Profile})
	}
	return Claim{Object: claim.Object, Status: claimStatus(i, n, now), NodeClass: class}, nil
}

func in(key, value string) any {
	return map[string]any{"key": key, "operator": "In", "values": []any{value}}
}

// claimLabels are those that Karpenter compares with the requirements of the NodePool. It takes a
// machine for drifted if one that a requirement speaks of is missing, also a well-known one.
func claimLabels(t *kinds.PoolTemplate, i offer.Instance, n *cluster.Node) map[string]string {
	out := map[string]string{}
	if t.Metadata != nil {
		maps.Copy(out, t.Metadata.Labels)
	}
	has := plannedLabels(t.Spec.Requirements, i)
	if n != nil {
		has = n.Labels
	}
	known := []string{api.LabelArch, api.LabelOS, api.LabelRegion, api.LabelZoneID, api.LabelWindowsBuild}
	for _, r := range t.Spec.Requirements {
		known = append(known, api.NormalizeLabel(ptr.Deref(r.Key, "")))
	}
	for key, value := range has {
		_, templated := out[key]
		if templated || slices.Contains(known, key) || strings.HasPrefix(key, api.AWSDomain+"/instance-") {
			out[key] = value
		}
	}
	out[api.LabelInstanceType], out[api.LabelZone], out[api.LabelCapacityType] = i.InstanceType, i.Zone, i.CapacityType
	delete(out, api.LabelReservationID) // it may have ended since
	delete(out, api.LabelReservationType)
	api.SetReservationLabels(out, i.Reservation)
	return out
}

// plannedLabels are those that the node of a machine will have: those of its type and its region, and those with
// which it was bought. Whoever may tag an instance must not be able to give its node any other label. What a
// requirement leaves no choice of has no tag. The id of the zone is not known here: it is left out, unless the
// NodePool requires a single one.
func plannedLabels(requirements []kinds.PoolRequirement, i offer.Instance) map[string]string {
	out := map[string]string{}
	for _, r := range requirements {
		key := api.NormalizeLabel(ptr.Deref(r.Key, ""))
		value, known := i.Tags[api.TagLabelPrefix+key]
		switch ptr.Deref(r.Operator, "") {
		case "NotIn", "DoesNotExist":
			continue // fine without the label
		case "In":
			if !known && len(r.Values) == 1 {
				value, known = r.Values[0], true
			}
			known = known && slices.Contains(r.Values, value)
		}
		if known {
			out[key] = value
		}
	}
	if region := regionOfZone.FindString(i.Zone); region != "" {
		out[api.LabelRegion] = region
	}
	if h, ok := offer.Embedded().Find(i.InstanceType); ok {
		for key, values := range h.Labels() {
			out[key] = values[0]
		}
	}
	return out
}

// regionOfZone is the region with which the name of a zone begins, also that of a local zone.
var regionOfZone = regexp.MustCompile(`^[a-z]{2}(?:-[a-z]+)+-[0-9]+`)

// claimStatus says how far a machine has come, to be written as JSON.
func claimStatus(i offer.Instance, n *cluster.Node, now time.Time) map[string]any {
	conditions := []metav1.Condition{condition("Launched", now)}
	status := map[string]any{"providerID": i.ProviderID, "imageID": i.ImageID}
	if n != nil {
		status["nodeName"] = n.Name
		status["capacity"], status["allocatable"] = n.Capacity.ResourceList(), n.Allocatable.ResourceList()
		conditions = append(conditions, condition("Registered", now))
		if n.Initialized {
			conditions = append(conditions, condition("Initialized", now), condition("Ready", now))
		}
	}
	status["conditions"] = conditions
	return status
}

func condition(kind string, now time.Time) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: kind, ObservedGeneration: 1, LastTransitionTime: metav1.NewTime(now)}
}

func templateSpec(pool map[string]any) map[string]any {
	at := pool
	for _, key := range []string{"spec", "template", "spec"} {
		at, _ = at[key].(map[string]any)
	}
	return at
}
