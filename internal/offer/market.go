package offer

import (
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// Market is what one Provisioner may buy with its node profile.
type Market struct {
	Types []InstanceType // sorted by name
	// Index is that of the types; nil where none was made.
	Index *Index
	// ProfileHash is the hash of the resolved profile's static fields.
	ProfileHash string
	// Status is what the profile's selectors resolved to.
	Status api.AWSNodeTemplateStatus
	// Findings are warnings about what the profile's selectors find.
	Findings finding.List
	// Blocked is why nothing can be bought ("no subnet matches ..."); empty when something can.
	Blocked string
	// Estimate is why on-demand prices are those of the embedded table instead of
	// the published ones; empty when they are published.
	Estimate string
	// Fault is why spot prices, instance types, capacity reservations or what the node profile refers to are not
	// known as they are now; empty when they are. FaultReason is the condition reason that goes with it.
	Fault, FaultReason string
	// BlockedReason is the condition reason that goes with Blocked (NoSubnets, ...).
	BlockedReason string
}

// AddFault adds to Fault, unless the text is empty. The last reason counts.
func (m *Market) AddFault(reason, text string) {
	switch {
	case text == "":
	case m.Fault == "":
		m.FaultReason, m.Fault = reason, text
	default:
		m.FaultReason, m.Fault = reason, m.Fault+"; "+text
	}
}
