package takeover

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
)

// Text is the preview for people.
func (p *Preview) Text() string {
	var b strings.Builder
	if p.Karpenter != "" {
		fmt.Fprintf(&b, "%s. Nothing is taken over before it is stopped.\n\n", p.Karpenter)
	}
	if len(p.Webhooks) > 0 {
		fmt.Fprintf(&b, "Admission webhooks of Karpenter refuse changes of its objects once it is stopped, so that nothing could be taken over.\n"+
			"Delete them when you have scaled it down:\n  %s\n\n", DeleteWebhooks(p.Webhooks))
	}
	if p.Machines {
		b.WriteString("The cluster has the kind Machine of Karpenter 0.28 to 0.32. Where such a Karpenter starts again after the takeover, it terminates the machines\n" +
			"without draining them. Delete its Deployment instead of scaling it down, and run `packhorse-agent handback` before you install it again.\n" +
			"If the cluster has a later Karpenter or none, delete the CRD machines.karpenter.sh once it has no objects.\n\n")
	}
	for _, w := range p.Warnings {
		fmt.Fprintf(&b, "Warning: %s.\n\n", w)
	}
	p.listPools(&b)
	p.listClasses(&b)
	p.listNodes(&b)
	for _, o := range p.Options {
		fmt.Fprintf(&b, "Option %s is needed for %s that request %s: without it, the agent buys no nodes for them\n\n", o.Name, explain.Plural(o.Pods, "pod"), o.Resource)
	}
	p.sum(&b)
	return b.String()
}

// DeleteWebhooks is the command that deletes Karpenter's admission webhooks.
func DeleteWebhooks(names []string) string { return "kubectl delete " + strings.Join(names, " ") }

func (p *Preview) listPools(b *strings.Builder) {
	served := 0
	for _, o := range p.NodePools {
		if o.Served {
			served++
		}
	}
	fmt.Fprintf(b, "NodePools: %d of %d will be served as they are\n", served, len(p.NodePools))
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, o := range p.NodePools {
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", o.Name, verdict(o.Served), explain.Plural(o.Nodes, "node"), total(o.Price, o.Nodes, o.Unpriced))
	}
	_ = w.Flush() // it writes into memory
	for _, o := range p.NodePools {
		remarks(b, "NodePool", o.Object)
	}
	b.WriteByte('\n')
}

func (p *Preview) listClasses(b *strings.Builder) {
	served := 0
	for _, o := range p.NodeClasses {
		if o.Served {
			served++
		}
	}
	fmt.Fprintf(b, "EC2NodeClasses: %d of %d will be served as they are\n", served, len(p.NodeClasses))
	for _, o := range p.NodeClasses {
		fmt.Fprintf(b, "  %s  %s\n", o.Name, verdict(o.Served))
	}
	for _, o := range p.NodeClasses {
		remarks(b, "EC2NodeClass", o)
	}
	b.WriteByte('\n')
}

// remarks says what there is to say about an object, a line for each field.
func remarks(b *strings.Builder, kind string, o Object) {
	for _, why := range o.Why {
		fmt.Fprintf(b, "  %s %s is not served: %s\n", kind, o.Name, why)
	}
	for _, warning := range o.Warnings {
		fmt.Fprintf(b, "  %s %s: warning: %s\n", kind, o.Name, warning)
	}
}

func (p *Preview) listNodes(b *strings.Builder) {
	taken, _ := p.Count()
	fmt.Fprintf(b, "Nodes: %d of %d will be taken over; the takeover restarts no pod\n", taken, len(p.Nodes))
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, n := range p.Nodes {
		fate := "taken over"
		if !n.TakenOver {
			fate = "stays as it is"
		}
		if n.Why != "" {
			fate += ": " + n.Why
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", n.Name, n.NodePool, n.InstanceType, n.Zone, n.CapacityType, explain.Plural(n.Pods, "pod"), price(n.Price), fate)
	}
	_ = w.Flush() // it writes into memory
	b.WriteByte('\n')
}

func (p *Preview) sum(b *strings.Builder) {
	if p.NoPrices != "" {
		fmt.Fprintf(b, "There are no prices, and no fresh plan: %s.\nThe takeover itself does not change the price.\n", p.NoPrices)
		return
	}
	taken, _ := p.Count()
	fmt.Fprintf(b, "Price now: %s\n", total(p.Price, taken, p.Unpriced))
	fmt.Fprintf(b, "Price of a fresh plan: $%.4f/h on %s", p.FreshPrice, explain.Plural(p.FreshNodes, "node"))
	if p.Unplaced > 0 {
		fmt.Fprintf(b, ", without %s that nothing could be bought for", explain.Plural(p.Unplaced, "pod"))
	}
	b.WriteString("\nThe takeover itself does not change the price. Where a NodePool allows it, consolidation later moves the price towards that of the fresh plan.\n")
}

// Count returns how many nodes will be taken over, and how many stay as they are.
func (p *Preview) Count() (taken, stay int) {
	for _, n := range p.Nodes {
		if n.TakenOver {
			taken++
		}
	}
	return taken, len(p.Nodes) - taken
}

func verdict(served bool) string {
	if served {
		return "served"
	}
	return "not served"
}

func price(dollars float64) string {
	if dollars == 0 {
		return "no price"
	}
	return fmt.Sprintf("$%.4f/h", dollars)
}

// total is the price of a number of nodes, of which some may have no price.
func total(dollars float64, nodes, unpriced int) string {
	switch unpriced {
	case 0:
		return fmt.Sprintf("$%.4f/h", dollars)
	case nodes:
		return "no price"
	}
	return fmt.Sprintf("$%.4f/h, without %s whose price is not known", dollars, explain.Plural(unpriced, "node"))
}
