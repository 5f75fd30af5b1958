package aws

import (
	"errors"
	"regexp"
	"strings"

	"github.com/aws/smithy-go"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// errorCode returns AWS's code of an error; empty for an error that is not AWS's.
func errorCode(err error) string {
	if problem, ok := errors.AsType[smithy.APIError](err); ok {
		return problem.ErrorCode()
	}
	return ""
}

// refusalReasons sorts EC2's codes by what to do about them. All others, known
// or not, are RefusedOther.
var refusalReasons = map[string]offer.RefusalReason{
	"InsufficientInstanceCapacity":         offer.RefusedCapacity,
	"InsufficientHostCapacity":             offer.RefusedCapacity,
	"InsufficientReservedInstanceCapacity": offer.RefusedCapacity,
	"InsufficientCapacity":                 offer.RefusedCapacity,
	"ReservationCapacityExceeded":          offer.RefusedCapacity,
	"SpotMaxPriceTooLow":                   offer.RefusedCapacity,

	"InvalidCapacityReservationId.NotFound": offer.RefusedUnsupported,
	"UnfulfillableCapacity":                 offer.RefusedUnsupported,
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
	"AccessDeniedException": offer.RefusedUnauthorized,
	"AuthFailure":           offer.RefusedUnauthorized,
	"AuthFailure.ServiceLinkedRoleCreationNotPermitted": offer.RefusedUnauthorized,
}

func refusalReason(code string) offer.RefusalReason {
	if reason, ok := refusalReasons[code]; ok {
		return reason
	}
	return offer.RefusedOther
}

// isMisconfigured reports whether a refusal is about what machines are built from,
// such as an image that is gone or an instance profile that EC2 has not heard of
// yet: every offering would be refused alike.
func isMisconfigured(code string) bool {
	return refusalReason(code) == offer.RefusedOther && !isTemplateGone(code) &&
		(strings.HasPrefix(code, "Invalid") || strings.HasPrefix(code, "Missing"))
}

// isTemplateGone reports whether a launch template was deleted by somebody else.
func isTemplateGone(code string) bool {
	switch code {
	case "InvalidLaunchTemplateName.NotFoundException", "InvalidLaunchTemplateId.NotFound", "InvalidLaunchTemplateId.NotFoundException":
		return true
	}
	return false
}

// What EC2 says to those who may not do something. Where it tells the missing
// permission only in a form that needs another permission to be read, that part is
// of no use to people.
var (
	missingPermission = regexp.MustCompile(`not authorized to perform: (\S+) on resource: (\S+)`)
	encodedReason     = regexp.MustCompile(`\s*Encoded authorization failure message: \S+`)
)

// refusalMessage is EC2's own message with its code, and what is missing where the
// agent lacks a permission.
func refusalMessage(code, message string) string {
	if refusalReason(code) != offer.RefusedUnauthorized {
		return code + ": " + message
	}
	if found := missingPermission.FindStringSubmatch(message); found != nil {
		return code + ": the agent's role lacks the permission " + found[1] + " on " + found[2]
	}
	return code + ": the agent's role lacks a permission that a launch needs: " + encodedReason.ReplaceAllString(message, "")
}
