// Package lifecycle contains what all resources need: identities, private state, time limits, upgrades of
// states, claims of names that can exist only once, and diagnostics.
package lifecycle

import (
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// SessionOf returns the session that Configure of the provider has made. There
// is none while a configuration is only being validated.
func SessionOf(req resource.ConfigureRequest, resp *resource.ConfigureResponse) *session.Session {
	return SharedSession(req.ProviderData, &resp.Diagnostics)
}

// SharedSession is the session in what the provider hands to its parts.
func SharedSession(data any, diags *diag.Diagnostics) *session.Session {
	if data == nil {
		return nil
	}
	shared, ok := data.(*session.Session)
	if !ok {
		diags.AddError("the provider has handed over something else than its session", "This is a mistake in the provider, please report it.")
	}
	return shared
}

// Unnamed stands for a name that is known only after apply, so that all else
// can be checked.
const Unnamed = "known-after-apply"
