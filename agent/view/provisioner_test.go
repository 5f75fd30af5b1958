package view_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	dto "github.com/prometheus/client_model/go"

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

// What the cloud does not tell is counted and logged once for all Provisioners, and again from time to time.
func TestFaultOfTheMarketIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shop{market: offer.Market{FaultReason: "SpotPricesUnknown", Fault: "access denied"}}
		for i := range 20 {
			p := provisioner()
			p.Name = fmt.Sprint("p", i)
			s.provisioners = append(s.provisioners, p)
		}
		var log bytes.Buffer
		r := s.reader(hclog.New(&hclog.LoggerOptions{Output: &log}))
		for range 30 * 12 { // half an hour, with a turn every five seconds
			r.Read(t.Context())
			time.Sleep(5 * time.Second)
		}
		lines := strings.Count(log.String(), "access denied")
		if lines < 6 || lines > 15 {
			t.Errorf("%d lines:\n%s", lines, &log)
		}
		var counted dto.Metric
		if err := r.Metrics.CloudErrors.WithLabelValues("Stock").Write(&counted); err != nil || counted.GetCounter().GetValue() != float64(lines) {
			t.Errorf("%s is counted, error %v, and %d lines are logged", &counted, err, lines)
		}
		s.market.FaultReason, s.market.Fault = "", ""
		r.Read(t.Context())
		if got := strings.Count(log.String(), "could not"); got != lines {
			t.Errorf("a market without a fault is logged:\n%s", &log)
		}
	})
}
