package main

import (
	"strings"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/takeover"
)

// Who has waited in vain learns of the webhooks that refuse what the agent writes.
func TestHintNamesWebhooks(t *testing.T) {
	without := hint(&takeover.Preview{})
	if strings.Contains(without, "ebhooks") {
		t.Errorf("without webhooks: %s", without)
	}
	got := hint(&takeover.Preview{Webhooks: []string{"mutatingwebhookconfigurations/a", "validatingwebhookconfigurations/b"}})
	if !strings.HasPrefix(got, without) || !strings.HasSuffix(got, "\n  kubectl delete mutatingwebhookconfigurations/a validatingwebhookconfigurations/b") {
		t.Errorf("with webhooks: %s", got)
	}
}
