package simulate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/validate"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Cluster is a whole cluster to simulate: its input is the one that the
// cluster's agent would decide on.
type Cluster struct {
	Survey   *cluster.Survey
	Market   Market
	Now      time.Time
	Settings decide.Settings
}

// Input builds the decision's input. As in the agent, a Provisioner that is
// invalid or lacks something is blocked, and the others go on working.
func (c *Cluster) Input(ctx context.Context) decide.Input {
	in := decide.Input{Now: c.Now, Snapshot: c.Survey.Snapshot.WithoutOldNominations(c.Now), Settings: c.Settings}
	for _, p := range c.Survey.Provisioners {
		in.Provisioners = append(in.Provisioners, c.provisioner(ctx, p))
	}
	for _, r := range c.Survey.Rejected {
		if r.Object.Kind == api.ProvisionerKind {
			in.Provisioners = append(in.Provisioners, unreadable(r))
		}
	}
	slices.SortFunc(in.Provisioners, func(a, b decide.Provisioner) int { return cmp.Compare(a.Spec.Name, b.Spec.Name) })
	return in
}

func (c *Cluster) provisioner(ctx context.Context, p *api.Provisioner) decide.Provisioner {
	spec := p.Defaulted()
	if errs := validate.Provisioner(p).Errors(); len(errs) > 0 {
		return decide.NewProvisioner(spec, offer.Market{}, errs.Summary())
	}
	profile, blocked := Profile(p, c.Survey.NodeTemplates)
	if blocked != "" {
		return decide.NewProvisioner(spec, offer.Market{}, blocked)
	}
	market, err := c.Market.Market(ctx, spec, profile)
	switch {
	case err != nil:
		blocked = err.Error()
	case market.Blocked != "":
		blocked = market.Blocked
	case len(market.Types) == 0:
		blocked = "no instance type meets its requirements"
	}
	if p.DeletionTimestamp != nil {
		blocked = "the Provisioner is being deleted"
	}
	return decide.NewProvisioner(spec, market, blocked)
}

// Profile finds the node profile of a Provisioner, nil where the cloud's default
// holds, or says why it cannot be used.
func Profile(p *api.Provisioner, templates []*api.AWSNodeTemplate) (profile *api.NodeProfile, blocked string) {
	switch ref := p.Spec.ProviderRef; {
	case ref != nil:
		i := slices.IndexFunc(templates, func(t *api.AWSNodeTemplate) bool { return t.Name == ref.Name })
		if i < 0 {
			return nil, fmt.Sprintf("node profile %q not found", ref.Name)
		}
		if errs := validate.NodeTemplate(templates[i]).Errors(); len(errs) > 0 {
			return nil, fmt.Sprintf("node profile %q: %s", ref.Name, errs.Summary())
		}
		return &templates[i].Spec, ""
	case p.Spec.Provider != nil:
		inline, err := p.InlineProfile()
		if err != nil {
			return nil, finding.Of(err).Summary()
		}
		return inline, ""
	}
	return nil, ""
}

// unreadable stands for a Provisioner that cannot be read: it buys nothing, and
// its nodes stay.
func unreadable(r cluster.Reading) decide.Provisioner {
	p := &api.Provisioner{}
	p.Name, p.UID = r.Object.Name, types.UID(r.Object.UID)
	p.Spec.Disruption = &api.Disruption{Drift: ptr.To(false)}
	return decide.NewProvisioner(p.Defaulted(), offer.Market{}, r.Findings.Summary())
}
