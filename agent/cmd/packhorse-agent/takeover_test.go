package main

import (
	"strings"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/takeover"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/simulate"
)

// TestTakeoverRegion: prices are those of the region of the nodes, whatever the environment says. Where these are
// not known, the rest of the preview holds.
func TestTakeoverRegion(t *testing.T) {
	t.Setenv("AWS_REGION", "us-west-2")
	nodes := func(region string) []cluster.Node {
		return []cluster.Node{{Name: "a", Labels: map[string]string{api.LabelRegion: region}}}
	}
	for _, c := range []struct {
		flags                   []string
		nodes                   []cluster.Node
		used, noPrices, warning string
	}{
		{nil, nodes("eu-west-1"), "eu-west-1", "", ""},
		{nil, nodes("eu-central-1"), "", `no prices for region "eu-central-1"`, ""},
		{nil, nil, "", "no node has the label topology.kubernetes.io/region", ""},
		{[]string{"--region=us-east-1"}, nodes("eu-west-1"), "us-east-1", "", "region eu-west-1 has nodes (1), but types and prices are those of us-east-1"},
	} {
		cmd := takeoverCommand()
		if err := cmd.ParseFlags(c.flags); err != nil {
			t.Fatal(err)
		}
		o := &takeoverOptions{region: cmd.Flag("region").Value.String()}
		in := takeover.Input{Survey: &cluster.Survey{Snapshot: &cluster.Snapshot{Nodes: c.nodes}}}
		if err := o.prices(&in); err != nil {
			t.Fatal(err)
		}
		used := ""
		if market, ok := in.Market.(simulate.CatalogueMarket); ok {
			used = market.Region
		}
		if used != c.used || !strings.Contains(in.NoPrices, c.noPrices) || (in.NoPrices == "") != (c.noPrices == "") || !strings.Contains(strings.Join(in.Warnings, ""), c.warning) {
			t.Errorf("%v, nodes %v: prices of %q, %q, warnings %q", c.flags, c.nodes, used, in.NoPrices, in.Warnings)
		}
	}
	unknown := takeoverOptions{region: "us-east-9"}
	if err := unknown.prices(&takeover.Input{Survey: &cluster.Survey{Snapshot: &cluster.Snapshot{}}}); err == nil || !strings.HasPrefix(err.Error(), `--region "us-east-9": `) {
		t.Errorf("a region that is named and not known: %v", err)
	}
}

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
