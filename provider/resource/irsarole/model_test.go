package irsarole

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/awsresource"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/value"
)

// Policies that fit alone may not fit beside those of the preset. IAM would say so after the role has been created.
func TestPoliciesHaveToFitBesideThePreset(t *testing.T) {
	settle := func(own int) (preset int, err error) {
		m := model{Identity: types.StringValue(byPodIdentity), ClusterName: types.StringValue("prod"), Preset: types.StringValue(presetAgent),
			ServiceAccounts: accountSet([]policy.ServiceAccount{{Namespace: "packhorse", Name: "agent"}})}
		m.Policies = awsresource.Documents(map[string]string{"own": strings.Repeat("x", own)}, true)
		err = m.settle(&session.Account{Partition: "aws", Region: "eu-west-1", ID: "123456789012"}, []string{"arn:aws:iam::123456789012:role/node"})
		for _, document := range value.Strings(m.PresetPolicies) {
			preset += policy.Size(document)
		}
		return preset, err
	}
	preset, err := settle(1)
	if err != nil {
		t.Fatal(err)
	}
	room := policy.MaxInline - preset
	if _, err := settle(room); err != nil {
		t.Errorf("policies that fit: %v", err)
	}
	_, err = settle(room + 1)
	if want := fmt.Sprint(policy.MaxInline + 1); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("policies that do not fit: error = %v, want it to name %s characters", err, want)
	}
}
