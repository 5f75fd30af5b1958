package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

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

// TestTakeoverWaitsInAnyRegion: to wait, the command needs neither prices nor the pods of the cluster.
func TestTakeoverWaitsInAnyRegion(t *testing.T) {
	const node = `{"kind": "NodeList", "apiVersion": "v1", "items": [{"metadata": {"name": "a", "labels": {"topology.kubernetes.io/region": "eu-central-1", "karpenter.sh/nodepool": "gone"}}}]}`
	answers := map[string]string{
		"/api/v1/nodes":                             node,
		"/apis/karpenter.sh/v1/nodepools":           `{"kind": "NodePoolList", "apiVersion": "karpenter.sh/v1", "items": [{"kind": "NodePool", "apiVersion": "karpenter.sh/v1", "metadata": {"name": "p"}, "spec": {}}]}`,
		"/apis/karpenter.k8s.aws/v1/ec2nodeclasses": "", "/apis/karpenter.k8s.aws/v1beta1/ec2nodeclasses": "",
		"/apis/karpenter.sh/v1/nodeclaims": "", "/apis/karpenter.sh/v1beta1/nodeclaims": "",
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, expected := answers[r.URL.Path]
		if !expected {
			t.Errorf("the command reads %s", r.URL.Path)
		}
		if answer == "" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(answer))
	}))
	defer server.Close()
	var out bytes.Buffer
	o := takeoverOptions{timeout: time.Minute}
	if err := o.wait(t.Context(), &rest.Config{Host: server.URL}, &out); err != nil || !strings.Contains(out.String(), "Nodes that stay as they are: 1") {
		t.Errorf("error %v, output %q", err, out.String())
	}
}

// TestTakeoverEnds: who interrupts the command is not told that the time is over.
func TestTakeoverEnds(t *testing.T) {
	for name, c := range map[string]struct {
		interrupted time.Duration // 0: never
		slow        bool
		want        string
	}{
		"in time":      {time.Minute, false, "interrupted: nodes left to take over: 2; nodes that stay as they are: 1"},
		"too late":     {0, false, "the takeover is not complete after 10m0s: nodes left to take over: 2"},
		"in a request": {0, true, "the takeover is not complete after 10m0s: nodes left to take over: 2"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.interrupted > 0 {
					time.AfterFunc(c.interrupted, cancel)
				}
				looks := 0
				look := func(ctx context.Context) (int, int, error) {
					if looks++; c.slow && looks > 1 {
						<-ctx.Done()
						return 0, 0, ctx.Err()
					}
					return 2, 1, nil
				}
				var out bytes.Buffer
				err := (&takeoverOptions{timeout: 10 * time.Minute}).follow(ctx, look, &out)
				if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Count(out.String(), "\n") != 1 {
					t.Errorf("error %v, output %q", err, out.String())
				}
			})
		})
	}
}

// Who has waited in vain learns of the webhooks that refuse what the agent writes.
func TestHintNamesWebhooks(t *testing.T) {
	without := hint(nil)
	if strings.Contains(without, "ebhooks") {
		t.Errorf("without webhooks: %s", without)
	}
	got := hint([]string{"mutatingwebhookconfigurations/a", "validatingwebhookconfigurations/b"})
	if !strings.HasPrefix(got, without) || !strings.HasSuffix(got, "\n  kubectl delete mutatingwebhookconfigurations/a validatingwebhookconfigurations/b") {
		t.Errorf("with webhooks: %s", got)
	}
}
