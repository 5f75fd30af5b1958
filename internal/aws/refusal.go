package aws

import (
	"errors"

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
	"SpotMaxPriceTooLow":                   offer.RefusedCapacity,

	"UnfulfillableCapacity":     offer.RefusedUnsupported,
	"Unsupported":               offer.RefusedUnsupported,
	"UnsupportedOperation":      offer.RefusedUnsupported,
	"InvalidFleetConfiguration": offer.RefusedUnsupported,

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

// isTemplateGone reports whether a launch template was deleted by somebody else.
func isTemplateGone(code string) bool {
	switch code {
	case "InvalidLaunchTemplateName.NotFoundException", "InvalidLaunchTemplateId.NotFound", "InvalidLaunchTemplateId.NotFoundException":
		return true
	}
	return false
}
