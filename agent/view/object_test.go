package view

import (
	"strings"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Whoever looks at a node that was made again reads why it is not ready.
func TestRemadeNodeSaysSo(t *testing.T) {
	raw := &api.Provisioner{}
	raw.Name = "general"
	node := RemadeNode(&Provisioner{Raw: raw, Spec: raw.Defaulted()}, offer.Instance{NodeName: "n"})
	if got := node.Status.Conditions[0].Message; !strings.Contains(got, "made again") {
		t.Errorf("the message is %q", got)
	}
}
