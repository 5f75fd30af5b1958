// Package takeover says what it would mean to take a cluster over from Karpenter, before
// anything is done: what will be served as it is, what will not and why, and the price.
package takeover

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/kinds"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/simulate"
)

// Input is a cluster as Karpenter has it.
type Input struct {
	// Survey has what stands for the documents, see karpenter.StandIns.
	Survey *cluster.Survey
	// Documents are its NodePools and EC2NodeClasses, as the API server returns them.
	Documents []map[string]any
	Claims    []cluster.NodeClaim
	// Market is nil if there are no prices, and NoPrices says why. Warnings are what else there is to say about the prices.
	Market   simulate.Market
	NoPrices string
	Warnings []string
	Now      time.Time
	// Karpenter is who renews Karpenter's Lease; empty if nobody does.
	Karpenter string
	// Webhooks are the configurations of Karpenter's admission webhooks, as `kubectl delete` takes them.
	Webhooks []string
	// Machines says that the cluster has the kind Machine of Karpenter 0.28 to 0.32.
	Machines bool
}

// Preview is what would become of a cluster. Prices are in dollars per hour.
type Preview struct {
	// Karpenter is who renews Karpenter's Lease, and is to be stopped first; empty if
	// nobody does.
	Karpenter string `json:"karpenter,omitempty"`
	// Webhooks refuse changes of Karpenter's objects once it is stopped, and are to be deleted then.
	Webhooks []string `json:"webhooks,omitempty"`
	// Machines says that the cluster has the kind Machine of Karpenter 0.28 to 0.32, which terminates what was taken over.
	Machines    bool     `json:"machines,omitempty"`
	NodePools   []Pool   `json:"nodePools"`
	NodeClasses []Object `json:"nodeClasses"`
	Nodes       []Node   `json:"nodes"`
	// Options are those of the agent without which pods of the cluster would get no node.
	Options []Option `json:"options,omitempty"`
	// Price is that of the nodes that will be taken over, and FreshPrice that of the nodes
	// that would be bought for their pods now.
	Price      float64 `json:"price"`
	FreshPrice float64 `json:"freshPrice"`
	FreshNodes int     `json:"freshNodes"`
	// Unpriced nodes will be taken over and have no price: Price leaves them out.
	Unpriced int `json:"unpriced,omitempty"`
	// NoPrices says why there are no prices, nor a fresh plan.
	NoPrices string   `json:"noPrices,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// Unplaced are pods on these nodes for which nothing could be bought now; the fresh
	// plan leaves them out.
	Unplaced int `json:"unplaced,omitempty"`
}

// Object is what becomes of a NodePool or an EC2NodeClass.
type Object struct {
	Name   string `json:"name"`
	Served bool   `json:"served"`
	// Why says for what fields it is not served, and Warnings what is served otherwise
	// than written: each begins with the path of the field.
	Why      []string `json:"why,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// Pool is what becomes of a NodePool.
type Pool struct {
	Object
	NodeClass string  `json:"nodeClass"`
	Nodes     int     `json:"nodes"`
	Price     float64 `json:"price"`
	Unpriced  int     `json:"unpriced,omitempty"` // nodes without a price, which Price leaves out
}

// Node is what becomes of a node that Karpenter has launched.
type Node struct {
	Name         string  `json:"name"`
	NodePool     string  `json:"nodePool"`
	InstanceType string  `json:"instanceType"`
	Zone         string  `json:"zone"`
	CapacityType string  `json:"capacityType"`
	Pods         int     `json:"pods"`
	Price        float64 `json:"price"`
	TakenOver    bool    `json:"takenOver"`
	// Why says why it is not taken over, or what will become of it instead of going on.
	Why string `json:"why,omitempty"`

	windows bool
}

// Option is an option of the agent that pods need.
type Option struct {
	Name     string `json:"name"`
	Resource string `json:"resource"`
	Pods     int    `json:"pods"` // that request the resource
}

// optional are the resources that Karpenter always provides. The agent provides each of them only with an
// option, which also changes other things.
var optional = []Option{{Name: "efa", Resource: "vpc.amazonaws.com/efa"}, {Name: "pod-eni", Resource: "vpc.amazonaws.com/pod-eni"}}

// Of makes a preview. Nothing in it depends on the order of the input.
func Of(ctx context.Context, in Input) (Preview, error) {
	out := Assess(in)
	out.options(in.Survey.Snapshot.Pods)
	if in.Market == nil {
		out.prices(nil, nil)
		return out, nil
	}
	// What a machine costs depends on no NodePool, only on the licence of Windows: nodes of one that is not served have a price, too.
	everything := (&api.Provisioner{}).Defaulted()
	linux, err := in.Market.Market(ctx, everything, nil)
	if err != nil {
		return Preview{}, fmt.Errorf("read the prices: %w", err)
	}
	windows, err := in.Market.Market(ctx, everything, &api.NodeProfile{AMIFamily: new(api.FamilyWindows2022)})
	if err != nil {
		return Preview{}, fmt.Errorf("read the prices with Windows: %w", err)
	}
	out.prices(linux.Types, windows.Types)
	out.fresh(in.Survey.Snapshot, (&simulate.Cluster{Survey: in.Survey, Market: simulate.Remember(in.Market), Now: in.Now}).Input(ctx))
	return out, nil
}

// Assess says only what becomes of the NodePools, the EC2NodeClasses and the nodes. It needs neither pods nor prices.
func Assess(in Input) Preview {
	out := Preview{
		Karpenter: in.Karpenter, Webhooks: in.Webhooks, Machines: in.Machines, NoPrices: in.NoPrices, Warnings: in.Warnings,
		NodePools: []Pool{}, NodeClasses: []Object{}, Nodes: []Node{},
	}
	out.objects(in.Documents)
	out.nodes(&in)
	return out
}

// objects says what becomes of the NodePools and EC2NodeClasses.
func (p *Preview) objects(documents []map[string]any) {
	for _, d := range documents {
		o := Object{Name: kinds.NameOf(d)}
		if class := karpenter.Foreign(d); class != "" {
			o.Why = []string{"spec.template.spec.nodeClassRef: its nodes are those of " + class + ", whose controller goes on serving it"}
		}
		p.add(d, o)
	}
	for _, s := range karpenter.StandIns(documents) {
		var source *api.Origin
		if s.Provisioner != nil {
			source = s.Provisioner.Source
		} else {
			source = s.NodeTemplate.Source
		}
		o := p.find(s.Kind, s.Name)
		for _, u := range source.Unsupported {
			o.Why = append(o.Why, strings.TrimPrefix(u.Path+": "+u.Text, ": "))
		}
		for _, line := range s.Losses.Lines() {
			if !slices.Contains(o.Why, line) && !slices.Contains(o.Warnings, line) {
				o.Warnings = append(o.Warnings, line)
			}
		}
		o.Served = len(o.Why) == 0
	}
	p.missingClasses()
}

// add lists an object, of which nothing is known but what its text says.
func (p *Preview) add(document map[string]any, o Object) {
	if document["kind"] == kinds.NodeClassKind {
		p.NodeClasses = append(p.NodeClasses, o)
		slices.SortFunc(p.NodeClasses, func(a, b Object) int { return cmp.Compare(a.Name, b.Name) })
		return
	}
	p.NodePools = append(p.NodePools, Pool{Object: o, NodeClass: classOf(document)})
	slices.SortFunc(p.NodePools, func(a, b Pool) int { return cmp.Compare(a.Name, b.Name) })
}

func (p *Preview) find(kind, name string) *Object {
	if kind == kinds.NodeClassKind {
		i := slices.IndexFunc(p.NodeClasses, func(c Object) bool { return c.Name == name })
		return &p.NodeClasses[i]
	}
	i := slices.IndexFunc(p.NodePools, func(o Pool) bool { return o.Name == name })
	return &p.NodePools[i].Object
}

// missingClasses marks the NodePools whose EC2NodeClass is not served or not there.
func (p *Preview) missingClasses() {
	for i := range p.NodePools {
		pool := &p.NodePools[i]
		if !pool.Served {
			continue
		}
		j := slices.IndexFunc(p.NodeClasses, func(c Object) bool { return c.Name == pool.NodeClass })
		switch {
		case j < 0:
			pool.Served, pool.Why = false, []string{fmt.Sprintf("spec.template.spec.nodeClassRef: there is no EC2NodeClass %s", pool.NodeClass)}
		case !p.NodeClasses[j].Served:
			pool.Served, pool.Why = false, []string{fmt.Sprintf("spec.template.spec.nodeClassRef: EC2NodeClass %s is not served", pool.NodeClass)}
		}
	}
}

// nodes says what becomes of the nodes that Karpenter has launched.
func (p *Preview) nodes(in *Input) {
	claimed := map[string]bool{}
	for _, c := range in.Claims {
		claimed[c.Node], claimed[c.ProviderID] = true, true
	}
	pods := map[string]int{}
	for pod := range in.Survey.Snapshot.EachPod() {
		if !pod.Template.BelongsToNode() {
			pods[pod.NodeName]++
		}
	}
	for n := range in.Survey.Snapshot.EachNode() {
		pool := n.Labels[api.LabelNodePool]
		if pool == "" || n.Provisioner != "" {
			continue
		}
		node := Node{
			Name: n.Name, NodePool: pool, InstanceType: n.Labels[api.LabelInstanceType], Zone: n.Labels[api.LabelZone],
			CapacityType: n.Labels[api.LabelCapacityType], Pods: pods[n.Name], windows: n.Labels[api.LabelOS] == "windows",
		}
		p.assess(&node, n, claimed[n.Name] || claimed[n.ProviderID])
		if node.TakenOver && node.Why == "" {
			node.Why = drift(in.Survey.Provisioners, pool, n)
		}
		p.Nodes = append(p.Nodes, node)
	}
	slices.SortFunc(p.Nodes, func(a, b Node) int { return cmp.Or(cmp.Compare(a.NodePool, b.NodePool), cmp.Compare(a.Name, b.Name)) })
}

// options names the options that pods need.
func (p *Preview) options(pods []cluster.Pod) {
	for _, o := range optional {
		for i := range pods {
			if pods[i].Template.Requests[o.Resource] > 0 {
				o.Pods++
			}
		}
		if o.Pods > 0 {
			p.Options = append(p.Options, o)
		}
	}
}

// assess says whether a node is taken over, and counts it.
func (p *Preview) assess(node *Node, n *cluster.Node, claimed bool) {
	i := slices.IndexFunc(p.NodePools, func(o Pool) bool { return o.Name == node.NodePool })
	switch {
	case i < 0:
		node.Why = fmt.Sprintf("there is no NodePool %s", node.NodePool)
		return
	case !p.NodePools[i].Served:
		node.Why = fmt.Sprintf("NodePool %s is not served", node.NodePool)
	case !claimed:
		node.Why = "it has no NodeClaim: Karpenter has not launched it"
	default:
		node.TakenOver = true
		if n.Deleting {
			node.Why = "Karpenter is already removing it; the agent will finish that"
		}
	}
	p.NodePools[i].Nodes++
}

// prices says what the nodes cost, and adds it up.
func (p *Preview) prices(linux, windows []offer.InstanceType) {
	for i := range p.Nodes {
		n, types := &p.Nodes[i], linux
		if n.windows {
			types = windows
		}
		n.Price = priceOf(types, n)
		unpriced := 0
		if n.Price == 0 {
			unpriced = 1
		}
		if n.TakenOver {
			p.Price += n.Price
			p.Unpriced += unpriced
		}
		if j := slices.IndexFunc(p.NodePools, func(o Pool) bool { return o.Name == n.NodePool }); j >= 0 {
			p.NodePools[j].Price += n.Price
			p.NodePools[j].Unpriced += unpriced
		}
	}
}

// drift says why a node will differ from what its NodePool requires now, once it is taken over; empty if it will not.
func drift(pools []*api.Provisioner, pool string, n *cluster.Node) string {
	i := slices.IndexFunc(pools, func(p *api.Provisioner) bool { return p.Source != nil && p.Name == pool })
	if i < 0 {
		return ""
	}
	p := pools[i].Defaulted()
	for _, r := range match.ForProvisioner(p) {
		has, ok := n.Labels[r.Key]
		// The takeover adds the labels that the NodePool gives its nodes and those that follow from the machine.
		added := r.Key == api.LabelProvisioner || p.Spec.Labels[r.Key] != "" || api.WellKnown(r.Key)
		if ok && !r.Set.Has(has) || !ok && !r.Set.HasMissing() && !added {
			return fmt.Sprintf("it has drifted and will be replaced: NodePool %s now requires %s %s, the node has %s", pool, r.Key, r.Set.Brief(), cmp.Or(has, "no value"))
		}
	}
	return ""
}

// priceOf is what a machine costs, 0 where it is not among the types.
func priceOf(types []offer.InstanceType, node *Node) float64 {
	i := slices.IndexFunc(types, func(t offer.InstanceType) bool { return t.Name == node.InstanceType })
	if i < 0 {
		return 0
	}
	if o := types[i].OfferingIn(node.Zone, node.CapacityType); o != nil {
		return o.Price.Dollars()
	}
	return 0
}

// fresh buys again for the pods of the nodes that will be taken over.
func (p *Preview) fresh(s *cluster.Snapshot, in decide.Input) {
	ours := map[string]bool{}
	for _, n := range p.Nodes {
		ours[n.Name] = n.TakenOver
	}
	// What waits already is not part of the comparison, and other nodes take nothing on.
	without := *s
	without.Nodes, without.Pods = nil, nil
	for _, pod := range s.Pods {
		if !ours[pod.NodeName] || !pod.NeedsNode() {
			continue
		}
		pod.NodeName, pod.State, pod.Running = "", cluster.PodPending, false
		without.Pods = append(without.Pods, pod)
	}
	in.Snapshot = &without
	plan := decide.Decide(in)
	p.FreshPrice, p.FreshNodes, p.Unplaced = plan.HourlyPrice.Dollars(), len(plan.Machines), len(plan.Unplaced)
}

func classOf(document map[string]any) string {
	name, _, _ := unstructured.NestedString(document, "spec", "template", "spec", "nodeClassRef", "name")
	return name
}
