package view_test

import (
	"context"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/metrics"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/pace"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// shop is a cluster with Provisioners, and a cloud that gives all of them the same market.
type shop struct {
	provisioners []*api.Provisioner
	market       offer.Market
}

func (s *shop) Provisioners() []*api.Provisioner      { return s.provisioners }
func (s *shop) NodeTemplates() []*api.AWSNodeTemplate { return nil }
func (s *shop) Readings() []cluster.Reading           { return nil }

func (s *shop) Market(context.Context, *api.Provisioner, *api.NodeProfile) (offer.Market, error) {
	return s.market, nil
}

func (s *shop) reader(log hclog.Logger) *view.Reader {
	return &view.Reader{Texts: s, Market: s, Metrics: metrics.New(), Log: log, Failures: pace.NewRetries(15*time.Second, 5*time.Minute)}
}

// What the cloud says of the things that a profile selects is a warning of the Provisioner, which goes on.
func TestFindingsOfTheMarket(t *testing.T) {
	s := &shop{[]*api.Provisioner{provisioner()}, offer.Market{
		Types: []offer.InstanceType{{Name: "m5.large"}}, Findings: finding.List{{Text: finding.Plain("cr-1 is a capacity block")}},
	}}
	p := s.reader(hclog.NewNullLogger()).Read(t.Context())[0]
	if got := p.Findings.Warnings().Summary(); p.Blocked != "" || !strings.HasSuffix(got, "cr-1 is a capacity block") {
		t.Errorf("blocked %q, warnings %q", p.Blocked, got)
	}
}
