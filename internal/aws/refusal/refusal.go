// Package refusal reads the errors with which EC2 refuses to launch machines.
package refusal

import (
	"regexp"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// CodeNoSpotRole is EC2's error code for a missing service-linked role, which only spot machines
// need.
const CodeNoSpotRole = "AuthFailure.ServiceLinkedRoleCreationNotPermitted"

// CodeThrottled is EC2's error code for too many requests. EC2 returns it for a call, or for one offering
// of a fleet. In the second case it does not mean that the offering is unavailable.
const CodeThrottled = "RequestLimitExceeded"

// CodeUnfulfilled is EC2's error code for a lack of spare capacity that may pass within minutes. EC2 also adds an error with
// it to those that say why a fleet has bought too few.
const CodeUnfulfilled = "UnfulfillableCapacity"

// reasons groups EC2's error codes, as call.Code returns them, by what to do about them.
// All other codes are RefusedOther.
var reasons = map[string]offer.RefusalReason{
	"InsufficientInstanceCapacity":         offer.RefusedCapacity,
	"InsufficientHostCapacity":             offer.RefusedCapacity,
	"InsufficientReservedInstanceCapacity": offer.RefusedCapacity,
	"InsufficientCapacity":                 offer.RefusedCapacity,
	"ReservationCapacityExceeded":          offer.RefusedCapacity,
	"SpotMaxPriceTooLow":                   offer.RefusedCapacity,
	CodeUnfulfilled:                        offer.RefusedCapacity,

	"InvalidCapacityReservationId.NotFound": offer.RefusedUnsupported,
	"Unsupported":                           offer.RefusedUnsupported,
	"UnsupportedOperation":                  offer.RefusedUnsupported,
	"InvalidFleetConfiguration":             offer.RefusedUnsupported,

	"VcpuLimitExceeded":              offer.RefusedQuota,
	"InstanceLimitExceeded":          offer.RefusedQuota,
	"MaxSpotInstanceCountExceeded":   offer.RefusedQuota,
	"SpotInstanceCountLimitExceeded": offer.RefusedQuota,

	"InsufficientFreeAddressesInSubnet": offer.RefusedAddresses,

	"UnauthorizedOperation": offer.RefusedUnauthorized,
	"AccessDenied":          offer.RefusedUnauthorized,
	"AuthFailure":           offer.RefusedUnauthorized,
	CodeNoSpotRole:          offer.RefusedUnauthorized,
}

// Reason returns the reason for a refusal with EC2's error code.
func Reason(code string) offer.RefusalReason {
	if reason, ok := reasons[code]; ok {
		return reason
	}
	return offer.RefusedOther
}

// misconfigurations are the beginnings of codes about what machines are built from. EC2 limits how many security groups and tags
// every machine has.
var misconfigurations = []string{"Invalid", "Missing", "SecurityGroupsPerInstance", "SecurityGroupsPerInterface", "TagLimitExceeded"}

// Misconfigured reports whether a refusal is about what machines are built from, such as an
// image or a launch template of the user's own that was deleted, an instance profile that EC2
// does not know yet, too many security groups, or a role that the agent may not pass. If all offerings fail so, the launch fails
// with EC2's message; otherwise the offering is not used for a while.
func Misconfigured(code, message string) bool {
	if Reason(code) == offer.RefusedUnauthorized {
		return strings.Contains(message, "iam:PassRole")
	}
	begins := func(prefix string) bool { return strings.HasPrefix(code, prefix) }
	return Reason(code) == offer.RefusedOther && slices.ContainsFunc(misconfigurations, begins)
}

// Broken reports whether EC2 itself has failed. This has lasted for seconds: a call returns such an error after its last attempt.
func Broken(code string) bool {
	return slices.Contains([]string{"InternalError", "InternalFailure", "ServiceUnavailable", "Unavailable"}, code)
}

// TemplateGone reports whether a launch template does not exist.
func TemplateGone(code string) bool {
	return code == "InvalidLaunchTemplateName.NotFound" || code == "InvalidLaunchTemplateId.NotFound"
}

// Parts of EC2's messages about a missing permission. The encoded part can only be read with
// sts:DecodeAuthorizationMessage.
var (
	deniedAction  = regexp.MustCompile(`(?s)not authorized to perform: (\S+) on resource: (\S+)(.*)`)
	encodedReason = regexp.MustCompile(`\s*Encoded authorization failure message: \S+`)
)

// Message returns the code and EC2's message. If the agent may not do something, it names
// the action instead, and what denies it, as far as EC2 does. Unless EC2 names another policy, such
// as a service control policy or a permissions boundary, that is a permission that the role lacks.
func Message(code, message string) string {
	if Reason(code) != offer.RefusedUnauthorized {
		return code + ": " + message
	}
	message = encodedReason.ReplaceAllString(message, "")
	found := deniedAction.FindStringSubmatch(message)
	if found == nil {
		return code + ": the agent's role lacks a permission that a launch needs: " + message
	}
	action, why := found[1]+" on "+strings.TrimSuffix(found[2], "."), strings.TrimRight(found[3], ". ")
	if why == "" || strings.HasPrefix(why, " because no identity-based policy allows") {
		return code + ": the agent's role lacks the permission " + action
	}
	return code + ": the agent's role is denied " + action + why
}
