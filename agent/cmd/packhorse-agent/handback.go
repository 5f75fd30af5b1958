package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/handback"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/fence"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/lease"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/survey"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/kinds"
)

// handbackOptions holds the flags of `handback`.
type handbackOptions struct {
	dryRun          bool
	cluster, region string
	access          clusterAccess
}

func handbackCommand() *cobra.Command {
	o := &handbackOptions{}
	cmd := &cobra.Command{
		Use:   "handback --cluster-name NAME",
		Short: "Give the machines of NodePools back to Karpenter, before you start it again",
		Long: `handback makes a NodeClaim for each machine of a NodePool, and puts Karpenter's
tags on its instance, so that Karpenter manages the machines that are there. No pod
is restarted. Machines of Provisioners stay with Packhorse.

Neither Karpenter nor the agent may run meanwhile. handback refuses to work while
one of them renews its Lease, and holds that of the agent until it has finished. If
a GitOps tool keeps the agent's Deployment as it is, stop its automated sync first:
an agent that is started again takes the machines over again.

  1. kubectl -n packhorse scale deployment packhorse-agent --replicas=0
  2. packhorse-agent handback --cluster-name NAME
  3. kubectl -n kube-system scale deployment karpenter --replicas=2

If you leave out the second step, the machines keep running, but nobody manages
them, because Karpenter does not know them. If handback ends with an error, run it again before
you start Karpenter.

In AWS, it needs eks:DescribeCluster, ec2:DescribeInstances, ec2:CreateTags and
ec2:DeleteTags. In the cluster, it needs the rights of this ClusterRole, of which
--dry-run needs those to list:

  rules:
  - {apiGroups: [""], resources: [nodes], verbs: [list, get, patch, delete]}
  - {apiGroups: [""], resources: [pods], verbs: [list, get]}
  - {apiGroups: [""], resources: [pods/status], verbs: [patch]}
  - {apiGroups: [apps], resources: [deployments], verbs: [list]}
  - {apiGroups: [apps], resources: [deployments/scale], verbs: [update]}
  - {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [list, get, create, update]}
  - {apiGroups: [karpenter.sh], resources: [nodepools, provisioners], verbs: [list]}
  - {apiGroups: [karpenter.sh], resources: [nodeclaims], verbs: [create, get]}
  - {apiGroups: [karpenter.sh], resources: [nodeclaims/status], verbs: [update]}
  - {apiGroups: [karpenter.sh], resources: [nodeclaims/finalizers, nodepools/finalizers], verbs: [update]}

It deletes no node, but API servers may ask for that right, and for those to finalizers,
from whoever sets an owner.`,
		Example: `  packhorse-agent handback --cluster-name prod --dry-run
  packhorse-agent handback --cluster-name prod`,
		Args:    cobra.NoArgs,
		PreRunE: prepare,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), cmd.OutOrStdout()) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.dryRun, "dry-run", false, "list the machines, and change nothing")
	flags.StringVar(&o.cluster, "cluster-name", "", "`NAME` of the EKS cluster (required)")
	flags.StringVar(&o.region, "region", "", "AWS `REGION` (default: the environment's)")
	o.access.addFlags(flags, "$KUBECONFIG")
	return cmd
}

func (o *handbackOptions) run(ctx context.Context, out io.Writer) error {
	if o.cluster == "" {
		return errors.New("--cluster-name is required")
	}
	access, err := o.access.config()
	if err != nil {
		return err
	}
	fenced := fence.New() // the Lease opens it
	cluster, err := kube.New(access, kube.Options{Fence: fenced})
	if err != nil {
		return err
	}
	cfg, err := aws.LoadConfig(ctx, o.region)
	if err != nil {
		return err
	}
	cloud, err := aws.New(ctx, cfg, aws.Options{ClusterName: o.cluster, Accept: o.access.accept})
	if err != nil {
		return err
	}
	ports := handback.Ports{Claims: kube.ClaimsOf(cluster), Nodes: cluster, Pods: cluster, Deployments: cluster, Machines: cloud}
	var given int
	var left leftOut
	work := func(ctx context.Context) error {
		machines, others, err := o.find(ctx, access, cloud)
		if err != nil {
			return err
		}
		given, left = len(machines), others
		return o.give(ctx, ports, machines, out)
	}
	if o.dryRun {
		err = work(ctx)
	} else {
		err = alone(ctx, access, fenced, work)
	}
	if err != nil {
		return err
	}
	return o.finish(given, left, out)
}

// alone works while neither Karpenter nor the agent runs. It holds the agent's Lease, so that an agent that is
// started meanwhile waits. Such an agent would take all machines over again afterwards, which is an error.
func alone(ctx context.Context, access *rest.Config, fenced *fence.Fence, work func(context.Context) error) error {
	for _, rival := range []struct{ name, lease string }{{"Karpenter", install.KarpenterLease}, {"the agent", install.LeaseName}} {
		holder, err := lease.Holder(ctx, access, rival.lease)
		if err != nil {
			return err
		}
		if holder != "" {
			return fmt.Errorf("%s is running: %s; stop it first", rival.name, holder)
		}
	}
	name, err := identity()
	if err != nil {
		return err
	}
	next, err := lease.Hold(ctx, access, lease.Options{Name: install.LeaseName, Identity: "handback-" + name, Fence: fenced}, work)
	if err != nil {
		return err
	}
	if next != "" {
		return fmt.Errorf("the agent has been started again, and takes the machines over again: %s; stop it, and what starts it, such as automated sync, and run this again before you start Karpenter", next)
	}
	return nil
}

// leftOut are the names of nodes of which handback leaves the machines out.
type leftOut struct{ unlisted, unlabelled []string }

func (o *handbackOptions) find(ctx context.Context, access *rest.Config, cloud *aws.Cloud) (machines []handback.Machine, left leftOut, err error) {
	objects, err := survey.NewCluster(access)
	if err != nil {
		return nil, left, err
	}
	pools, err := objects.Newest(ctx, kinds.NodePools)
	if err != nil {
		return nil, left, err
	}
	nodes, err := objects.Nodes(ctx)
	if err != nil {
		return nil, left, err
	}
	provisioners, err := objects.Provisioners(ctx)
	if err != nil {
		return nil, left, err
	}
	instances, err := cloud.Instances(ctx)
	if err != nil {
		return nil, left, err
	}
	machines, left.unlisted, left.unlabelled = handback.Find(instances, nodes, pools, provisioners)
	return machines, left, nil
}

// give gives the machines back one by one, and stops at the first error.
func (o *handbackOptions) give(ctx context.Context, ports handback.Ports, machines []handback.Machine, out io.Writer) error {
	for n, m := range machines {
		node := "no node yet"
		if m.Node != nil {
			node = m.Node.Name
		}
		if _, err := fmt.Fprintf(out, "%s  %s  %s\n", m.Instance.ID, m.Instance.Provisioner, node); err != nil {
			return err
		}
		if o.dryRun {
			continue
		}
		if err := ports.Give(ctx, m, time.Now()); err != nil {
			return fmt.Errorf("%d of %d machines were given back: %w; run this again before you start Karpenter", n, len(machines), err)
		}
	}
	return nil
}

// finish says what was done. Machines that were left out may be the agent's still, which is an error.
func (o *handbackOptions) finish(given int, left leftOut, out io.Writer) error {
	if len(left.unlisted) > 0 {
		return fmt.Errorf("EC2 does not list the machines of some nodes of NodePools (%s): run this again in a minute, before you start Karpenter; delete a node if its machine is gone",
			strings.Join(left.unlisted, ", "))
	}
	if len(left.unlabelled) > 0 {
		return fmt.Errorf("the machines of some nodes still belong to the agent, because the nodes lack the label %s (%s): add it, with the name of the NodePool, and run this again before you start Karpenter, or drain the nodes while the agent runs",
			api.LabelNodePool, strings.Join(left.unlabelled, ", "))
	}
	text := "Gave %s of NodePools back to Karpenter. Start it now.\n"
	if o.dryRun {
		text = "Would give %s of NodePools back to Karpenter.\n"
	}
	_, err := fmt.Fprintf(out, text, explain.Plural(given, "machine"))
	return err
}
