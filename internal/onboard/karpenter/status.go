package karpenter

import (
	"encoding/json"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// byPackhorse is the message of conditions that are true. Karpenter derives Ready from the others
// when it changes one of them (operatorpkg, ConditionSet.Set). If it took over conditions that read as
// its own do, a NodePool that was not ready because its machines were being taken over would never be
// ready again.
const byPackhorse = "set by Packhorse"

// conditionPurchasesBlocked is the condition of a NodePool that says why nothing can be bought with it now. Karpenter has no
// such condition: there, a NodePool without room below its limits, or for which nothing is in stock, is ready.
const conditionPurchasesBlocked = "PurchasesBlocked"

// PoolStatus is the status of a NodePool in Karpenter's terms, to be written as JSON.
func PoolStatus(s api.ProvisionerStatus) map[string]any {
	conditions := []metav1.Condition{}
	add := func(kind string, c metav1.Condition) {
		c.Type = kind
		conditions = append(conditions, c)
	}
	put := func(kind string, c metav1.Condition, bad bool) {
		if !bad {
			c.Status, c.Reason, c.Message = metav1.ConditionTrue, kind, byPackhorse
		}
		add(kind, c)
	}
	for _, c := range s.Conditions {
		if c.Type != "Ready" {
			add(c.Type, c)
			continue
		}
		bad := c.Status != metav1.ConditionTrue
		invalid, class := bad && c.Reason == "ValidationFailed", bad && slices.Contains(classReasons, c.Reason)
		unready := invalid || class || bad && c.Reason == "TakingOver"
		put("Ready", c, unready)
		put("ValidationSucceeded", c, invalid)
		put("NodeClassReady", c, class)
		if bad && !unready {
			c.Status = metav1.ConditionTrue
			add(conditionPurchasesBlocked, c)
		}
	}
	resources := map[string]any{"nodes": strconv.FormatInt(s.Nodes, 10)}
	for name, q := range s.Resources {
		resources[string(name)] = q.String()
	}
	return map[string]any{"resources": resources, "nodes": s.Nodes, "conditions": conditions}
}

// PoolConditions are the conditions of a NodePool, given as a JSON document, in terms of a Provisioner: what
// PoolStatus makes of Ready becomes Ready again.
func PoolConditions(document map[string]any) []metav1.Condition {
	var status struct {
		Conditions []metav1.Condition `json:"conditions"`
	}
	if asJSON, err := json.Marshal(document["status"]); err == nil {
		_ = json.Unmarshal(asJSON, &status)
	}
	blocked := meta.FindStatusCondition(status.Conditions, conditionPurchasesBlocked)
	out := slices.DeleteFunc(slices.Clone(status.Conditions), func(c metav1.Condition) bool {
		return slices.Contains([]string{"ValidationSucceeded", "NodeClassReady", conditionPurchasesBlocked}, c.Type) || c.Type == "Ready" && blocked != nil
	})
	if blocked != nil {
		ready := *blocked
		ready.Type, ready.Status = "Ready", metav1.ConditionFalse
		out = append(out, ready)
	}
	return out
}

// classReasons are the reasons of Ready that are about the EC2NodeClass.
var classReasons = []string{"NodeProfileNotFound", "NodeProfileDeleting", "NoSubnets", "NoSecurityGroups", "NoImages", "NoInstanceProfile", "UnsupportedCapacityReservation"}

// ClassStatus is the status of an EC2NodeClass in Karpenter's terms, to be written as JSON.
func ClassStatus(s api.AWSNodeTemplateStatus) map[string]any {
	subnets, images := []any{}, []any{}
	for _, n := range s.Subnets {
		subnets = append(subnets, map[string]any{"id": n.ID, "zone": n.Zone})
	}
	for _, im := range s.AMIs {
		image := map[string]any{"id": im.ID, "name": im.Name, "requirements": append([]api.Requirement{}, im.Requirements...)}
		if im.Deprecated {
			image["deprecated"] = true
		}
		images = append(images, image)
	}
	parts := []struct{ kind, reason string }{
		{"SubnetsReady", "NoSubnets"}, {"SecurityGroupsReady", "NoSecurityGroups"}, {"AMIsReady", "NoImages"},
		{"InstanceProfileReady", "NoInstanceProfile"}, {"CapacityReservationsReady", "UnsupportedCapacityReservation"}, {"ValidationSucceeded", "ValidationFailed"}, {"Ready", ""},
	}
	conditions := []metav1.Condition{}
	for _, c := range s.Conditions {
		if c.Type != "Ready" {
			continue
		}
		for _, part := range parts {
			condition := metav1.Condition{Type: part.kind, Status: metav1.ConditionTrue, Reason: part.kind, Message: byPackhorse, LastTransitionTime: c.LastTransitionTime}
			if c.Status != metav1.ConditionTrue && (part.reason == c.Reason || part.kind == "Ready") {
				condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, c.Reason, c.Message
			}
			conditions = append(conditions, condition)
		}
	}
	return map[string]any{
		"subnets": subnets, "securityGroups": append([]api.SecurityGroupStatus{}, s.SecurityGroups...), "amis": images,
		"capacityReservations": append([]api.ReservationStatus{}, s.Reservations...), "conditions": conditions,
	}
}
