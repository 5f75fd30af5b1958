package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/surge"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/manifest"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/kinds"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/plancheck"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/report"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/simulate"
)

// simulation holds the flags of `simulate`.
type simulation struct {
	files     []string
	catalogue string
	region    string
	nodes     offer.NodeOptions
	output    string
	budget    time.Duration
}

func simulateCommand() *cobra.Command {
	s := &simulation{}
	cmd := &cobra.Command{
		Use:   "simulate -f FILE [FILE ...]",
		Short: "Show which machines would be bought for the pods in files, at what price, and which pods have no place",
		Long: `simulate makes the same decision as the agent, from files and in milliseconds.
It needs no cluster and no AWS account, and changes nothing.

Files may hold any mix of Provisioner, AWSNodeTemplate, NodePool, EC2NodeClass,
Node, Pod, PersistentVolume(Claim), StorageClass and workloads (Deployment, StatefulSet,
DaemonSet, ReplicaSet, Job, CronJob, List): replicas become pods. "-" is the
standard input.`,
		Example: `  packhorse-agent simulate -f provisioner.yaml -f deployment.yaml
  kubectl get deploy,ds -A -o yaml | packhorse-agent simulate -f provisioner.yaml -f - -o markdown
  packhorse-agent simulate -f provisioner.yaml -f workloads.yaml -o html > plan.html`,
		PreRunE: func(cmd *cobra.Command, _ []string) error { return checkRanges(cmd.Flags()) },
		RunE: func(cmd *cobra.Command, args []string) error {
			s.files = append(s.files, args...)
			return s.run(cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&s.files, "filename", "f", nil, "`FILE` with manifests in YAML or JSON; may be repeated")
	flags.StringVar(&s.catalogue, "catalogue", "", "`FILE` with instance types and prices, CSV or saved JSON (default: the built-in one)")
	flags.StringVar(&s.region, "region", os.Getenv("AWS_REGION"), "AWS `REGION` whose types and prices are used (default: $AWS_REGION, or that of the nodes, or us-east-1)")
	flags.StringVarP(&s.output, "output", "o", "text", "text, json, markdown or html")
	flags.DurationVar(&s.budget, "budget", 0, "search time for a cheaper plan (default: the agent's)")
	nodeFlags(flags, &s.nodes)
	return cmd
}

func (s *simulation) run(out io.Writer) error {
	if len(s.files) == 0 {
		return errors.New("nothing to simulate: name files with -f")
	}
	render, ok := renderers[s.output]
	if !ok {
		return fmt.Errorf("output %q is not known: use text, json, markdown or html", s.output)
	}
	set, err := s.read()
	if err != nil {
		return err
	}
	catalogue, err := s.readCatalogue()
	if err != nil {
		return err
	}
	mismatch := s.settleRegion(set.Snapshot, catalogue)
	settings := decide.DefaultSettings()
	settings.PackingBudget = s.budget
	source := simulate.Source{Set: set, Catalogue: catalogue, Region: s.region, Nodes: s.nodes, Now: time.Now(), Settings: settings}
	in, warnings, err := source.Input()
	if err != nil {
		return err
	}
	warnings = append(warnings, mismatch...)
	for _, p := range set.Provisioners {
		for _, f := range slices.Concat(plancheck.ForeignZones(p, s.region, "with --region"), plancheck.UnknownValues(p, catalogue, s.region)) {
			f = f.Moved(p.Source.PathOf)
			warnings = append(warnings, fmt.Sprintf("%s: %s: %s. %s", p.Title(), f.Path, f.Text, finding.Sentence(f.Advice.String())))
		}
	}
	in.Snapshot = surge.New(surge.Ports{}).Cover(in.Snapshot, set.Provisioners)
	in.Prove = true
	started := time.Now()
	plan := decide.Decide(in)
	report := explain.Of(plan, in.Snapshot, time.Since(started))
	report.Warnings = slices.Concat(warnings, report.Warnings, simulate.Estimates(&plan, in.Snapshot, catalogue.Regions[s.region]))
	return render(out, &report)
}

func (s *simulation) read() (*manifest.Set, error) {
	b := manifest.NewBuilder()
	for _, f := range s.files {
		b.AddFile(f)
	}
	set, err := b.Build()
	known := func(d *manifest.Document) bool { return d.Known }
	enough := slices.ContainsFunc(set.Files, func(f *manifest.File) bool { return f.Holds(known) })
	for _, f := range set.Files {
		buyer := func(d *manifest.Document) bool { return d.Kind == kinds.NodePoolKind } // of another controller
		if enough && (len(f.Documents) > 0 || f.List) && !f.Holds(buyer) {
			continue // what is not looked at is noted
		}
		err = errors.Join(err, f.Nothing(known, "nodes, pods, workloads, Provisioners, AWSNodeTemplates, NodePools or EC2NodeClasses"))
	}
	return set, err
}

// settleRegion chooses the region of the nodes where none is named, and says which nodes are elsewhere.
func (s *simulation) settleRegion(of *cluster.Snapshot, catalogue *offer.Catalogue) (mismatch []string) {
	regions, _ := regionsOf(of)
	sold := func(region string) bool { return catalogue.Regions[region] != nil }
	if i := slices.IndexFunc(regions, sold); s.region == "" && i >= 0 {
		s.region = regions[i]
	}
	s.region = cmp.Or(s.region, "us-east-1")
	return elsewhere(of, s.region)
}

// regionsOf returns the regions of the nodes, that of most nodes first, and how many each has.
func regionsOf(s *cluster.Snapshot) (regions []string, count map[string]int) {
	count = map[string]int{}
	for n := range s.EachNode() {
		if region := n.Labels[corev1.LabelTopologyRegion]; region != "" {
			count[region]++
		}
	}
	most := func(a, b string) int { return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b)) }
	return slices.SortedFunc(maps.Keys(count), most), count
}

// elsewhere says which nodes are not in the region whose prices are used.
func elsewhere(s *cluster.Snapshot, used string) (mismatch []string) {
	regions, count := regionsOf(s)
	for _, region := range regions {
		if region != used {
			mismatch = append(mismatch, fmt.Sprintf("region %s has nodes (%d), but types and prices are those of %s; choose another region with --region", region, count[region], used))
		}
	}
	return mismatch
}

func (s *simulation) readCatalogue() (*offer.Catalogue, error) {
	if s.catalogue == "" {
		return offer.Embedded(), nil
	}
	catalogue, err := offer.OpenCatalogue(s.catalogue)
	if err != nil {
		return nil, fmt.Errorf("--catalogue: %w", err)
	}
	return catalogue, nil
}

// renderers write a report, by the value of --output.
var renderers = map[string]func(io.Writer, *explain.Report) error{
	"text":     written((*explain.Report).Text),
	"markdown": written((*explain.Report).Markdown),
	"html":     written(report.HTML),
	"json": func(w io.Writer, r *explain.Report) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(r)
	},
}

// written makes a renderer of a form that is a string.
func written(form func(*explain.Report) string) func(io.Writer, *explain.Report) error {
	return func(w io.Writer, r *explain.Report) error {
		_, err := io.WriteString(w, form(r))
		return err
	}
}
