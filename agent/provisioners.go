package agent

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// provisioner is a Provisioner with what it may buy.
type provisioner struct {
	raw      *api.Provisioner // as written
	spec     *api.Provisioner // with defaults
	profile  *api.NodeProfile // nil: the cloud's default
	template string           // name of its AWSNodeTemplate; empty without one
	// templateUID is that of the AWSNodeTemplate.
	templateUID types.UID
	market      offer.Market
	// findings are about its text and its spec, and profileFindings about those of
	// its AWSNodeTemplate.
	findings, profileFindings api.Findings
	// blocked is why it buys nothing now, and reason the condition reason for it.
	blocked string
	reason  string
	// failure is why its last launch broke, while it is being tried again.
	failure string
	// ready is its condition Ready, once it has been judged.
	ready metav1.Condition
}

// provisioners resolves all Provisioners: those that are invalid or lack
// something are blocked, and the others go on working.
func (a *Agent) provisioners(ctx context.Context) []*provisioner {
	texts := newTexts(a.cluster)
	var out []*provisioner
	for _, r := range texts.unreadable {
		out = append(out, unreadable(r))
	}
	for _, raw := range a.cluster.Provisioners() {
		p := &provisioner{raw: raw, spec: raw.Defaulted()}
		p.findings = slices.Concat(texts.provisioners[raw.Name], api.CheckProvisioner(raw))
		p.resolve(&texts)
		out = append(out, p)
	}
	a.readMarkets(ctx, out)
	for _, p := range out {
		raw := p.raw
		if until, message := a.history.paused(raw.Name); p.blocked == "" && message != "" {
			p.block(reasonLaunch, fmt.Sprintf("%s; tried again at %s", message, until.UTC().Format(time.TimeOnly)))
		} else if a.purchases.buys(raw.Name) {
			p.failure = a.history.pauses[raw.Name].message
		}
		if raw.DeletionTimestamp != nil {
			p.block(reasonDeleting, "the Provisioner is being deleted")
		}
	}
	slices.SortFunc(out, func(a, b *provisioner) int { return cmp.Compare(a.raw.Name, b.raw.Name) })
	return out
}

// unreadable stands for a Provisioner that cannot be read. It buys nothing, and
// its nodes stay: without it they would look as if it had been deleted.
func unreadable(r cluster.Reading) *provisioner {
	raw := &api.Provisioner{}
	raw.Name, raw.UID = r.Object.Name, types.UID(r.Object.UID)
	raw.Spec.Disruption = &api.Disruption{Drift: ptr.To(false)}
	p := &provisioner{raw: raw, spec: raw.Defaulted()}
	p.block(reasonValidation, r.Findings.Errors().Summary())
	return p
}

func (p *provisioner) block(reason, message string) { p.reason, p.blocked = reason, message }

// resolve finds the node profile.
func (p *provisioner) resolve(texts *texts) {
	if errs := p.findings.Errors(); len(errs) > 0 {
		p.block(reasonValidation, errs.Summary())
		return
	}
	ref := p.raw.Spec.ProviderRef
	switch {
	case ref != nil:
		t, read := texts.templates[ref.Name], texts.profiles[ref.Name]
		if t == nil && len(read.Errors()) == 0 {
			p.block(reasonNoProfile, fmt.Sprintf("node profile %q not found", ref.Name))
			return
		}
		if t == nil {
			p.block(reasonValidation, fmt.Sprintf("node profile %q: %s", ref.Name, read.Errors().Summary()))
			return
		}
		p.template, p.templateUID = t.Name, t.UID
		p.profileFindings = slices.Concat(read, api.CheckNodeTemplate(t))
		if errs := p.profileFindings.Errors(); len(errs) > 0 {
			p.block(reasonValidation, fmt.Sprintf("node profile %q: %s", ref.Name, errs.Summary()))
			return
		}
		p.profile = &t.Spec
	case p.raw.Spec.Provider != nil:
		profile, err := p.raw.InlineProfile()
		if err != nil {
			p.block(reasonValidation, api.FindingsOf(err).Summary())
			return
		}
		p.profile = profile
	}
}

// readMarkets asks the cloud on behalf of all that are not blocked.
func (a *Agent) readMarkets(ctx context.Context, all []*provisioner) {
	var g errgroup.Group
	g.SetLimit(marketsAtOnce)
	for _, p := range all {
		if p.blocked == "" {
			g.Go(func() error {
				a.readMarket(ctx, p)
				return nil
			})
		}
	}
	_ = g.Wait() // a market that cannot be read blocks its Provisioner
}

func (a *Agent) readMarket(ctx context.Context, p *provisioner) {
	m, err := a.cloud.Market(ctx, p.spec, p.profile)
	if err != nil {
		a.metrics.Failed("Market")
		p.block(reasonMarket, err.Error())
		a.log.Warn("read no market", "provisioner", p.raw.Name, "error", err)
		return
	}
	p.market = m
	switch {
	case m.Blocked != "":
		p.block(m.BlockedReason, m.Blocked)
	case len(m.Types) == 0:
		p.block(reasonNoTypes, "no instance type meets its requirements")
	}
}

// unavailable counts the offerings that are not bought for now.
func (p *provisioner) unavailable() int {
	n := 0
	for i := range p.market.Types {
		for j := range p.market.Types[i].Offerings {
			if p.market.Types[i].Offerings[j].Unavailable != "" {
				n++
			}
		}
	}
	return n
}

// instanceType returns the type of that name as this Provisioner would buy it.
func (p *provisioner) instanceType(name string) *offer.InstanceType {
	i := slices.IndexFunc(p.market.Types, func(t offer.InstanceType) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return &p.market.Types[i]
}
