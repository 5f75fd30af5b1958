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

func (s *shop) Market(_ context.Context, p *api.Provisioner, _ *api.NodeProfile) (offer.Market, error) {
	if p.Spec.Labels["bug"] != "" {
		panic("divide by zero")
	}
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

// A bug that one Provisioner meets keeps neither the others nor the agent from working, and its own nodes stay.
func TestBugStopsOnlyOneProvisioner(t *testing.T) {
	sound, hit := provisioner(), provisioner()
	sound.Name, hit.Name = "a", "b"
	hit.UID, hit.Spec.Labels = "1", map[string]string{"bug": "yes"}
	s := &shop{[]*api.Provisioner{sound, hit}, offer.Market{Types: []offer.InstanceType{{Name: "m5.large"}}}}
	var log bytes.Buffer
	r := s.reader(hclog.New(&hclog.LoggerOptions{Output: &log}))
	r.Read(t.Context())
	got := r.Read(t.Context())
	if got[0].Blocked != "" || len(got[0].Market.Types) == 0 {
		t.Errorf("the other Provisioner is blocked: %q", got[0].Blocked)
	}
	if p := got[1]; p.Reason != view.ReasonValidation || !strings.Contains(p.Blocked, "divide by zero") || p.Raw.UID != "1" || *p.Spec.Spec.Disruption.Drift {
		t.Errorf("reason %s, blocked %q, %+v", p.Reason, p.Blocked, p.Raw)
	}
	if n := strings.Count(log.String(), "[ERROR] could not read a Provisioner"); n != 1 || !strings.Contains(log.String(), "provisioner_test.go") {
		t.Errorf("%d errors are logged, want one with the stack:\n%s", n, &log)
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
