package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/lease"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/survey"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/kinds"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/takeover"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/simulate"
)

// takeoverPoll is how often `takeover` looks how far the agent has come.
const takeoverPoll = 2 * time.Second

// takeoverOptions holds the flags of `takeover`.
type takeoverOptions struct {
	dryRun         bool
	output, region string
	catalogue      string
	nodes          offer.NodeOptions
	access         clusterAccess
	timeout        time.Duration
}

func takeoverCommand() *cobra.Command {
	o := &takeoverOptions{}
	cmd := &cobra.Command{
		Use:   "takeover --dry-run",
		Short: "Show what taking a cluster over from Karpenter would do, or wait until it is done",
		Long: `takeover --dry-run reads a cluster that Karpenter runs in, and touches nothing.
It lists each NodePool, each EC2NodeClass and each node: which of them the agent will
serve, which not and because of which field, the price of the nodes, and the price
of the nodes that the agent would buy for the same pods now. It needs no AWS account:
prices are those of the built-in catalogue, or of --catalogue.

The agent itself takes over, when it runs with --node-pools:

  1. packhorse-agent takeover --dry-run
  2. kubectl -n kube-system scale deployment karpenter --replicas=0
  3. install the agent with the option node-pools, and a role with the policy
     packhorse-takeover
  4. packhorse-agent takeover

Without --dry-run it changes nothing either. It refuses while Karpenter runs, and
otherwise waits until the agent has taken over every node of the NodePools that are
served, and reports the progress. packhorse-agent handback reverses a takeover.`,
		Example: `  packhorse-agent takeover --dry-run
  packhorse-agent takeover --dry-run -o json | jq '.nodes[] | select(.takenOver | not)'
  packhorse-agent takeover --timeout 5m`,
		Args:    cobra.NoArgs,
		PreRunE: prepare,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), cmd.OutOrStdout()) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.dryRun, "dry-run", false, "list what would happen")
	flags.StringVarP(&o.output, "output", "o", "text", "form of the list: text or json")
	flags.StringVar(&o.region, "region", "", "AWS `REGION` whose prices are used (default: that of the nodes)")
	flags.StringVar(&o.catalogue, "catalogue", "", "`FILE` with instance types and prices, CSV or saved JSON (default: the built-in one)")
	nodeFlags(flags, &o.nodes)
	o.access.addFlags(flags, "$KUBECONFIG")
	flags.DurationVar(&o.timeout, "timeout", 10*time.Minute, "how long to wait without --dry-run")
	return cmd
}

func (o *takeoverOptions) run(ctx context.Context, out io.Writer) error {
	if o.output != "text" && o.output != "json" {
		return fmt.Errorf("--output %q must be one of text, json", o.output)
	}
	access, err := o.access.config()
	if err != nil {
		return err
	}
	holder, err := lease.Holder(ctx, access, install.KarpenterLease)
	if err != nil {
		return err
	}
	if !o.dryRun {
		if holder != "" {
			return fmt.Errorf("Karpenter is running: %s. Scale it down first; `packhorse-agent takeover --dry-run` says what will happen then", holder) //nolint:staticcheck // it is a name
		}
		return o.wait(ctx, access, out)
	}
	preview, err := o.preview(ctx, access, holder)
	if err != nil {
		return err
	}
	if o.output == "json" {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(preview)
	}
	_, err = io.WriteString(out, preview.Text())
	return err
}

// preview reads the cluster, and says what would become of it.
func (o *takeoverOptions) preview(ctx context.Context, access *rest.Config, holder string) (*takeover.Preview, error) {
	objects, err := survey.NewCluster(access)
	if err != nil {
		return nil, err
	}
	in, err := karpenters(ctx, objects)
	if err != nil {
		return nil, err
	}
	if holder != "" {
		in.Karpenter = "Karpenter is running: " + holder
	}
	if in.Webhooks, err = objects.Webhooks(ctx); err != nil {
		return nil, err
	}
	if in.Machines, err = objects.Machines(); err != nil {
		return nil, err
	}
	if in.Survey, err = objects.Survey(ctx); err != nil {
		return nil, err
	}
	if err := o.prices(&in); err != nil {
		return nil, err
	}
	preview, err := takeover.Of(ctx, in)
	return &preview, err
}

// prices chooses the region whose prices are used. Without prices for the region of the nodes, the preview
// says so, and the rest of it holds.
func (o *takeoverOptions) prices(in *takeover.Input) error {
	catalogue, err := (&simulation{catalogue: o.catalogue}).readCatalogue()
	if err != nil {
		return err
	}
	region := o.region
	if regions, _ := regionsOf(in.Survey.Snapshot); region == "" && len(regions) > 0 {
		region = regions[0]
	}
	_, err = catalogue.Region(region)
	switch {
	case region == "":
		in.NoPrices = "no node has the label " + api.LabelRegion + "; name the region with --region"
	case err != nil && o.region != "":
		return fmt.Errorf("--region %q: %w", o.region, err)
	case err != nil:
		in.NoPrices = err.Error()
	default:
		in.Market, in.Warnings = simulate.CatalogueMarket{Catalogue: catalogue, Region: region, Nodes: o.nodes}, elsewhere(in.Survey.Snapshot, region)
	}
	return nil
}

// karpenters reads the objects of Karpenter.
func karpenters(ctx context.Context, c *survey.Cluster) (takeover.Input, error) {
	in := takeover.Input{Now: time.Now()}
	for _, kind := range []schema.GroupResource{kinds.NodePools, kinds.NodeClasses} {
		found, err := c.Newest(ctx, kind)
		if err != nil {
			return in, err
		}
		in.Documents = append(in.Documents, found...)
	}
	if len(in.Documents) == 0 {
		return in, errors.New("there is neither a NodePool nor an EC2NodeClass in the cluster")
	}
	claims, err := c.Newest(ctx, kinds.NodeClaims)
	for _, document := range claims {
		in.Claims = append(in.Claims, kube.NodeClaimOf(document))
	}
	return in, err
}

// progress counts the nodes that are left to be taken over, and those that stay as they are.
func progress(ctx context.Context, c *survey.Cluster) (left, stay int, err error) {
	in, err := karpenters(ctx, c)
	if err != nil {
		return 0, 0, err
	}
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return 0, 0, err
	}
	in.Survey = &cluster.Survey{Snapshot: &cluster.Snapshot{Nodes: nodes}}
	preview := takeover.Assess(in)
	left, stay = preview.Count()
	return left, stay, nil
}

// wait returns once nothing is left of Karpenter's machines that the agent will take over.
func (o *takeoverOptions) wait(ctx context.Context, access *rest.Config, out io.Writer) error {
	objects, err := survey.NewCluster(access)
	if err != nil {
		return err
	}
	look := func(ctx context.Context) (left, stay int, err error) { return progress(ctx, objects) }
	err = o.follow(ctx, look, out)
	if !errors.Is(err, errNotTakenOver) {
		return err
	}
	webhooks, failed := objects.Webhooks(ctx)
	return errors.Join(fmt.Errorf("%w: %s", err, hint(webhooks)), failed)
}

// errNotTakenOver is the end of a wait in vain.
var errNotTakenOver = errors.New("the takeover is not complete")

// follow looks until no node is left, and reports the progress.
func (o *takeoverOptions) follow(ctx context.Context, look func(context.Context) (left, stay int, err error), out io.Writer) error {
	limited, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	line := ""
	for {
		left, stay, err := look(limited)
		switch text := fmt.Sprintf("nodes left to take over: %d; nodes that stay as they are: %d", left, stay); {
		case err != nil && (limited.Err() == nil || line == ""):
			return err
		case err != nil: // because the time is over
		case left == 0:
			_, err := fmt.Fprintf(out, "All nodes of the NodePools that are served have been taken over. Nodes that stay as they are: %d.\n", stay)
			return err
		case text != line:
			line = text
			if _, err := fmt.Fprintln(out, line); err != nil {
				return err
			}
		}
		select {
		case <-limited.Done():
			if ctx.Err() != nil {
				return fmt.Errorf("interrupted: %s", line)
			}
			return fmt.Errorf("%w after %s: %s", errNotTakenOver, o.timeout, line)
		case <-time.After(takeoverPoll):
		}
	}
}

// hint says why nodes may be left to be taken over, given the admission webhooks of Karpenter.
func hint(webhooks []string) string {
	out := "the log of the agent says why; does it run with --node-pools?"
	if len(webhooks) > 0 {
		out += " Admission webhooks of Karpenter refuse changes of its objects. Delete them:\n  " + takeover.DeleteWebhooks(webhooks)
	}
	return out
}
