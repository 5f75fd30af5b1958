package view

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/hashicorp/go-hclog"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/metrics"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/pace"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/parallel"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/validate"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/plancheck"
)

// The reasons of the condition Ready of a Provisioner. A node profile that lacks
// something has the cloud's own (NoSubnets, ...).
const (
	ReasonValidation = "ValidationFailed"
	ReasonNoProfile  = "NodeProfileNotFound"
	// ReasonProfileGoes: the node profile is being deleted, and a finalizer keeps it.
	ReasonProfileGoes = "NodeProfileDeleting"
	// ReasonKarpenterRuns: a NodePool is left to Karpenter for as long as that runs.
	ReasonKarpenterRuns = "KarpenterRuns"
	// ReasonTakingOver: machines that Karpenter has launched for a NodePool are not taken
	// over yet, so that its limits cannot be kept.
	ReasonTakingOver   = "TakingOver"
	ReasonNoTypes      = "NoInstanceTypes"
	ReasonUnavailable  = "OfferingsUnavailable"
	ReasonLimitReached = "LimitReached"
	ReasonMarket       = "MarketUnavailable"
	ReasonInstances    = "InstancesUnknown"
	ReasonNodeless     = "InstancesWithoutNodes"
	ReasonLaunch       = "LaunchFailed"
	ReasonDeleting     = "Deleting"
	ReasonReady        = "Ready"
)

// Provisioner is a Provisioner with what it may buy.
type Provisioner struct {
	Raw      *api.Provisioner // as written
	Spec     *api.Provisioner // with defaults
	Profile  *api.NodeProfile // nil: the cloud's default
	Template string           // name of its AWSNodeTemplate; empty without one
	// TemplateUID is that of the AWSNodeTemplate, and TemplateSubnets are those in its status.
	TemplateUID     types.UID
	TemplateSubnets []api.SubnetStatus
	Market          offer.Market
	// Findings are about its text and its spec, and ProfileFindings about those of
	// its AWSNodeTemplate.
	Findings, ProfileFindings finding.List
	// Blocked is why it buys nothing now, and Reason the condition reason for it.
	Blocked string
	Reason  string
	// Failure is why its last launch broke, while it is being tried again.
	Failure string
	// Ready is its condition Ready, once it is known.
	Ready metav1.Condition
}

// Texts are the Provisioners and node profiles of a cluster. They may not be changed.
type Texts interface {
	// Provisioners returns them as written, without defaults, sorted by name.
	Provisioners() []*api.Provisioner
	// NodeTemplates returns the node profiles, sorted by name.
	NodeTemplates() []*api.AWSNodeTemplate
	// Readings returns what there is to say about the text of both. Those with errors
	// cannot be read, and the other lists lack them.
	Readings() []cluster.Reading
}

// Market answers what can be bought.
type Market interface {
	// Market answers for a Provisioner, with its defaults added, and a node
	// profile; nil is the cloud's default profile.
	Market(ctx context.Context, p *api.Provisioner, profile *api.NodeProfile) (offer.Market, error)
}

// Reader reads Provisioners.
type Reader struct {
	Texts   Texts
	Market  Market
	Metrics *metrics.Metrics
	Log     hclog.Logger
	// Failures says when a market that stays unreadable, or a part of it, is logged and counted again.
	Failures *pace.Retries // by Provisioner, or by the reason of a fault
}

// marketsAtOnce is for how many Provisioners the cloud is asked at the same time.
const marketsAtOnce = 8

// Read resolves all Provisioners, sorted by name: those that are invalid or lack
// something are blocked, and the others go on working.
func (r *Reader) Read(ctx context.Context) []*Provisioner {
	texts := newTexts(r.Texts)
	var out []*Provisioner
	for _, reading := range texts.unreadable {
		raw := &api.Provisioner{}
		raw.Name, raw.UID = reading.Object.Name, types.UID(reading.Object.UID)
		raw.DeletionTimestamp, raw.Finalizers = reading.Deleted, reading.Finalizers
		out = append(out, unreadable(raw, reading.Findings.Errors().Summary()))
	}
	for _, raw := range r.Texts.Provisioners() {
		p := &Provisioner{Raw: raw}
		r.safely(p, func() {
			p.Spec = raw.Defaulted()
			p.Findings = slices.Concat(texts.provisioners[raw.Name], validate.Provisioner(raw))
			p.resolve(&texts)
		})
		if raw.Source != nil && raw.Source.Waits != "" {
			p.Block(ReasonKarpenterRuns, raw.Source.Waits)
		}
		out = append(out, p)
	}
	parallel.Each(marketsAtOnce, out, func(p *Provisioner) {
		if p.Blocked == "" {
			r.safely(p, func() { r.readMarket(ctx, p) })
		}
	})
	slices.SortFunc(out, func(a, b *Provisioner) int { return cmp.Compare(a.Raw.Name, b.Raw.Name) })
	r.reportFaults(out)
	findRivals(out)
	return out
}

// findRivals warns of Provisioners that serve the same pods as a NodePool: while Karpenter
// runs, of all of them, since both would buy; otherwise of those of the same weight.
func findRivals(all []*Provisioner) {
	for _, p := range all {
		for _, pool := range all {
			if p.Raw.Source != nil || pool.Raw.Source == nil || p.Reason == ReasonValidation || pool.Reason == ReasonValidation {
				continue
			}
			text, advice := pool.Raw.Title()+" of the same weight serves the same pods", "which of them buys is decided by price alone: give one a higher weight"
			if pool.Raw.Source.Waits != "" {
				text, advice = pool.Raw.Title()+" serves the same pods", "both may buy a node for the same pod as long as Karpenter runs: tell them apart by taints or requirements"
			} else if ptr.Deref(p.Raw.Spec.Weight, 0) != ptr.Deref(pool.Raw.Spec.Weight, 0) {
				continue
			}
			if plancheck.SamePods(p.Raw, pool.Raw) {
				p.Findings = append(p.Findings, finding.Finding{Path: "spec", Text: finding.Plain(text), Advice: finding.Plain(advice)})
			}
		}
	}
}

// safely reads a part of a Provisioner. If that panics, because of a bug in the agent, the Provisioner counts as
// unreadable: the others must not wait for nodes until the bug is fixed.
func (r *Reader) safely(p *Provisioner, read func()) {
	defer func() {
		fault := recover()
		if fault == nil {
			return
		}
		if r.Failures.Due(p.Raw.Name) {
			r.Failures.Failed(p.Raw.Name)
			r.Log.Error("could not read a Provisioner, because of a bug in the agent: please report it", "provisioner", p.Raw.Name,
				"error", fmt.Sprintf("%v\n%s", fault, debug.Stack()))
		}
		*p = *unreadable(p.Raw, fmt.Sprintf("cannot be read, because of a bug in the agent: please report it: %v", fault))
	}()
	read()
}

// unreadable stands for a Provisioner that cannot be read, of which only the spec is left out. It buys nothing, and
// its nodes stay: without it they would look as if it had been deleted.
func unreadable(written *api.Provisioner, why string) *Provisioner {
	raw := *written
	raw.Spec = api.ProvisionerSpec{Disruption: &api.Disruption{Drift: ptr.To(false)}}
	p := &Provisioner{Raw: &raw, Spec: raw.Defaulted()}
	p.Block(ReasonValidation, why)
	return p
}

// Block keeps it from buying anything, for a reason of its condition Ready.
func (p *Provisioner) Block(reason, message string) { p.Reason, p.Blocked = reason, message }

// resolve finds the node profile.
func (p *Provisioner) resolve(texts *texts) {
	if errs := p.Findings.Errors(); len(errs) > 0 {
		p.Block(ReasonValidation, errs.Summary())
		return
	}
	ref := p.Raw.Spec.ProviderRef
	switch {
	case ref != nil:
		t, read := texts.templates[ref.Name], texts.profiles[ref.Name]
		if t == nil && len(read.Errors()) == 0 {
			p.Block(ReasonNoProfile, fmt.Sprintf("node profile %q not found", ref.Name))
			return
		}
		if t == nil {
			p.Block(ReasonValidation, fmt.Sprintf("node profile %q: %s", ref.Name, read.Errors().Summary()))
			return
		}
		if t.DeletionTimestamp != nil {
			p.Block(ReasonProfileGoes, fmt.Sprintf("node profile %q is being deleted, and a finalizer keeps it: name another one", ref.Name))
			return
		}
		p.Template, p.TemplateUID, p.TemplateSubnets = t.Name, t.UID, t.Status.Subnets
		p.ProfileFindings = slices.Concat(read, validate.NodeTemplate(t))
		if errs := p.ProfileFindings.Errors(); len(errs) > 0 {
			p.Block(ReasonValidation, fmt.Sprintf("node profile %q: %s", ref.Name, errs.Summary()))
			return
		}
		p.Profile = &t.Spec
	case p.Raw.Spec.Provider != nil:
		profile, err := p.Raw.InlineProfile()
		if err != nil {
			p.Block(ReasonValidation, finding.Of(err).Summary())
			return
		}
		p.Profile = profile
	}
}

// readMarket asks the cloud. A market that cannot be read blocks its Provisioner.
func (r *Reader) readMarket(ctx context.Context, p *Provisioner) {
	waiting, done := context.WithTimeout(ctx, pace.Answer)
	defer done()
	m, err := r.Market.Market(waiting, p.Spec, p.Profile)
	if err != nil {
		p.Block(ReasonMarket, err.Error())
		if r.Failures.Due(p.Raw.Name) {
			r.Failures.Failed(p.Raw.Name)
			r.Metrics.Failed("Market")
			r.Log.Warn("could not read the market", "provisioner", p.Raw.Name, "error", err)
		}
		return
	}
	r.Failures.Succeeded(p.Raw.Name)
	p.Market = m
	p.Findings = append(p.Findings, m.Findings...)
	switch {
	case m.Blocked != "":
		p.Block(m.BlockedReason, m.Blocked)
	case len(m.Types) == 0:
		p.Block(ReasonNoTypes, "no instance type meets its requirements")
	}
}

// reportFaults counts and logs what the cloud did not tell, or not lately, once for all Provisioners.
func (r *Reader) reportFaults(all []*Provisioner) {
	for _, p := range all {
		reason := p.Market.FaultReason
		if key := "fault " + reason; reason != "" && r.Failures.Due(key) { // no Provisioner has such a name
			r.Failures.Failed(key)
			r.Metrics.Failed("Stock")
			r.Log.Warn("could not read a part of the market", "provisioner", p.Raw.Name, "reason", reason, "error", p.Market.Fault)
		}
	}
}

// Unavailable counts the offerings that are not bought for now. Those without a known price never are.
func (p *Provisioner) Unavailable() int {
	n := 0
	for i := range p.Market.Types {
		for j := range p.Market.Types[i].Offerings {
			if o := &p.Market.Types[i].Offerings[j]; o.Unavailable != "" && o.Price > 0 {
				n++
			}
		}
	}
	return n
}

// InstanceType returns the type of that name as this Provisioner would buy it; nil for
// none.
func (p *Provisioner) InstanceType(name string) *offer.InstanceType {
	i := slices.IndexFunc(p.Market.Types, func(t offer.InstanceType) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return &p.Market.Types[i]
}

// Limits are those of the Provisioner; none without any.
func (p *Provisioner) Limits() amount.List {
	if p.Spec.Spec.Limits == nil {
		return nil
	}
	return amount.FromResourceList(p.Spec.Spec.Limits.Resources)
}

// Exceeds names a resource of which a node of the type would be too much for limits, where nodes use so much already;
// empty for none. A limit on what a type does not have does not bind it.
func Exceeds(t *offer.InstanceType, used, limits amount.List) string {
	for _, name := range limits.Names() {
		if more := t.Capacity.OfNode()[name]; more > 0 && used[name]+more > limits[name] {
			return name
		}
	}
	return ""
}

// texts are the node profiles by name, and what there is to say about the text of
// Provisioners and node profiles.
type texts struct {
	templates    map[string]*api.AWSNodeTemplate
	provisioners map[string]finding.List // by name
	profiles     map[string]finding.List // by name
	unreadable   []cluster.Reading       // Provisioners
}

func newTexts(o Texts) texts {
	out := texts{map[string]*api.AWSNodeTemplate{}, map[string]finding.List{}, map[string]finding.List{}, nil}
	for _, t := range o.NodeTemplates() {
		out.templates[t.Name] = t
	}
	for _, r := range o.Readings() {
		switch {
		case r.Object.Kind != api.ProvisionerKind:
			out.profiles[r.Object.Name] = r.Findings
		case len(r.Findings.Errors()) > 0:
			out.unreadable = append(out.unreadable, r)
		default:
			out.provisioners[r.Object.Name] = r.Findings
		}
	}
	return out
}
