package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/packhorse-io/terraform-provider-packhorse/agent"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/metrics"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/takeover"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/notices"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/fence"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/lease"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/status"
)

// settings are the flags of `run`.
type settings struct {
	access                        clusterAccess
	namespace, leaseName          string
	leaderElect                   bool
	region, queue                 string
	nodePools                     bool
	cloud                         aws.Options
	agent                         agent.Options
	nodeCost                      float64
	guide, steer                  bool
	schedulers                    []string
	metricsAddress, healthAddress string
	statusAddress                 string
	profiling                     bool
	logLevel, logFormat           string
}

func runCommand() *cobra.Command {
	s := &settings{}
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the agent",
		Long: `run watches a cluster and gives it the nodes that it needs, until it is
stopped. Several replicas may run; one of them acts at a time.

Each flag can also be given as an environment variable: --cluster-name as
PACKHORSE_CLUSTER_NAME, and so on. AWS credentials, region and endpoints come
from the sources of the AWS SDK; in a cluster, these are IRSA and EKS Pod Identity.`,
		Example: `  packhorse-agent run --cluster-name prod
  packhorse-agent run --cluster-name dev --kubeconfig ~/.kube/config --leader-elect=false --log-level debug`,
		Args:    cobra.NoArgs,
		PreRunE: prepare,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.run(cmd.Context())
		},
	}
	s.flags(cmd)
	return cmd
}

// flags declares the flags, by topic.
func (s *settings) flags(cmd *cobra.Command) {
	f, usual := cmd.Flags(), decide.DefaultSettings()
	f.StringVar(&s.cloud.ClusterName, "cluster-name", "", "`NAME` of the EKS cluster (required)")
	f.StringVar(&s.cloud.ClusterEndpoint, "cluster-endpoint", "", "`URL` of the API server for nodes (default: from EKS)")
	f.StringVar(&s.region, "region", "", "AWS `REGION` (default: the environment's)")
	s.access.addFlags(f, "$KUBECONFIG, or the pod's ServiceAccount")

	f.BoolVar(&s.leaderElect, "leader-elect", true, "act only while holding a lease, so that several replicas may run")
	f.StringVar(&s.namespace, "namespace", install.DefaultNamespace, "`NAMESPACE` of the lease")
	f.StringVar(&s.leaseName, "lease-name", install.LeaseName, "`NAME` of the lease")

	f.DurationVar(&s.agent.BatchIdle, "batch-idle", install.DefaultBatchIdle, "how long no new pod may arrive before the agent "+
		"plans a batch")
	f.DurationVar(&s.agent.BatchMax, "batch-max", install.DefaultBatchMax, "the longest time a batch waits while new pods keep arriving")
	f.DurationVar(&s.agent.StartupTimeout, "startup-timeout", usual.StartupTimeout, "how long a machine may take to become a ready "+
		"node before it is replaced")
	f.DurationVar(&s.agent.UnhealthyAfter, "unhealthy-after", usual.UnhealthyAfter, "how long a node may be unready before it is "+
		"replaced; -1s to keep unready nodes")
	f.DurationVar(&s.agent.MinLifetime, "min-node-lifetime", usual.MinLifetime, "minimum age of a node in use before drift "+
		"replaces it; -1s for none")
	f.BoolVar(&s.agent.EvictOwnerless, "evict-ownerless-pods", false, "allow the voluntary disruption of nodes with pods that "+
		"no controller would replace")
	f.BoolVar(&s.guide, "guide-arrivals", true, "where a Provisioner consolidates, keep new pods off nodes that should become empty, "+
		"with PreferNoSchedule taints")
	f.BoolVar(&s.steer, "steer-departures", true, "give pods on nodes that should become empty a deletion cost, so that their owners remove them first "+
		"when they scale down")
	f.Float64Var(&s.nodeCost, "node-cost", decide.DefaultNodeCost.Dollars(), "cost of one more node beyond its price, in "+
		"`DOLLARS` per hour; a higher value prefers fewer, larger nodes")
	f.BoolVar(&s.nodePools, "node-pools", false, "serve Karpenter's NodePools and EC2NodeClasses too, while Karpenter itself does not run")
	f.StringSliceVar(&s.schedulers, "scheduler-name", nil, "`NAME` of a further scheduler whose pods get nodes; that scheduler binds the pods, not the agent; may be repeated")

	f.StringVar(&s.cloud.DefaultInstanceProfile, "default-instance-profile", "", "`NAME` of the IAM instance profile for node "+
		"profiles that do not set one")
	f.StringVar(&s.queue, "interruption-queue", "", "`NAME` of the SQS queue that receives EventBridge's events about instances")
	f.StringToStringVar(&s.cloud.Tags, "tag", nil, "tag `KEY=VALUE` of every AWS resource that the agent creates; may be repeated")
	nodeFlags(f, &s.cloud.NodeOptions)
	f.BoolVar(&s.cloud.NoPricing, "no-pricing", false, "use the built-in on-demand prices instead of the AWS Pricing API")

	f.StringVar(&s.metricsAddress, "metrics-address", ":8080", "`ADDRESS` to serve /metrics on")
	f.StringVar(&s.healthAddress, "health-address", ":8081", "`ADDRESS` to serve /healthz and /readyz on")
	f.StringVar(&s.statusAddress, "status-address", "127.0.0.1:8082", "`ADDRESS` to serve the status page on; empty to turn it off")
	f.BoolVar(&s.profiling, "profiling", false, "serve Go profiles under /debug/pprof of the metrics address")
	f.StringVar(&s.logLevel, "log-level", "info", "trace, debug, info, warn or error")
	f.StringVar(&s.logFormat, "log-format", "text", "text or json")
}

// nodeFlags declares the flags that size nodes, which `run` and previews have.
func nodeFlags(f *pflag.FlagSet, o *offer.NodeOptions) {
	o.MemoryOverheadPercent = new(float64)
	f.BoolVar(&o.PrefixDelegation, "prefix-delegation", false, "the network plugin assigns address prefixes, which allows more pods per node")
	f.BoolVar(&o.PodENI, "pod-eni", false, "the network plugin gives pods with security groups network interfaces of their own; "+
		"reserved-enis need not include their trunk")
	f.Int64Var(&o.ReservedENIs, "reserved-enis", 0, "network interfaces per node that pods cannot use, 1 with custom networking")
	f.BoolVar(&o.IgnoreENIs, "ignore-enis", false, "pods do not use addresses of network interfaces: 110 pods fit on any node")
	f.BoolVar(&o.EFA, "efa", false, "attach the Elastic Fabric Adapters that an instance type supports")
	f.Float64Var(o.MemoryOverheadPercent, "vm-memory-overhead-percent", offer.DefaultMemoryOverheadPercent, "`PERCENT` of memory that the hypervisor uses, "+
		"until a node of the type and image has reported its real memory")
}

// loggedError is an error that the log tells of already.
type loggedError struct{ error }

// Unwrap returns the error.
func (e loggedError) Unwrap() error { return e.error }

// run works until it is stopped. What ends it is the last line of the log, in
// the log's format.
func (s *settings) run(ctx context.Context) error {
	log, err := s.logger()
	if err != nil {
		return err
	}
	if err := s.work(ctx, log); err != nil {
		log.Error("ended", "error", err)
		return loggedError{err}
	}
	log.Info("stopped")
	return nil
}

func (s *settings) work(ctx context.Context, log hclog.Logger) error {
	if s.cloud.ClusterName == "" {
		return errors.New("--cluster-name is missing")
	}
	klog.SetLogger(agent.NewLogr(log.Named("kubernetes")))
	saveMemory()
	log.Info("started", "version", version, "cluster", s.cloud.ClusterName)
	s.agent.Metrics = metrics.New()
	var fenced *fence.Fence // nil without a lease
	if s.leaderElect {
		fenced = fence.New()
	}
	access, err := s.access.config()
	if err != nil {
		return err
	}
	cluster, err := s.connect(access, fenced, log)
	if err != nil {
		return err
	}
	cfg, err := aws.LoadConfig(ctx, s.region)
	if err != nil {
		return err
	}
	aws.ObserveRequests(&cfg, s.agent.Metrics.AWSRequest)
	aws.GuardRequests(&cfg, fenced.Check)
	s.cloud.Unreached = func(err error) { log.Warn("could not look up the cluster in EKS", "error", err) }
	s.cloud.Accept = s.access.accept
	cloud, err := aws.New(ctx, cfg, s.cloud)
	if err != nil {
		return err
	}
	if s.queue != "" {
		s.agent.Notices = notices.New(cfg, s.queue)
	}
	s.agent.NotGuided, s.agent.NotSteered = !s.guide, !s.steer
	s.agent.NodeCost = cmp.Or(offer.Price(s.nodeCost*1e6), decide.NoNodeCost)
	if s.nodePools {
		s.agent.Karpenter = takeover.Source{Claims: kube.ClaimsOf(cluster), Machines: cloud}
	}
	a := agent.New(cluster, cloud, s.agent, log.Named("agent"))
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return agent.Serve(ctx, s.metricsAddress, s.metricsHandler(a)) })
	g.Go(func() error { return agent.Serve(ctx, s.healthAddress, a.HealthHandler()) })
	if s.statusAddress != "" {
		g.Go(func() error { return agent.Serve(ctx, s.statusAddress, s.statusHandler(a)) })
	}
	if err := cluster.Start(ctx); err != nil {
		return err
	}
	g.Go(func() error { return s.lead(ctx, cluster, a, log) })
	if err := g.Wait(); err != nil && !errors.Is(err, errEnded) {
		return err
	}
	return nil
}

func (s *settings) statusHandler(a *agent.Agent) http.Handler {
	page := status.Server{
		Source: a.Status, Cluster: s.cloud.ClusterName, Version: version, Local: status.Loopback(s.statusAddress),
	}
	return page.Handler()
}

// errEnded ends the servers when the agent has ended in good order.
var errEnded = errors.New("the agent has ended")

// lead runs the agent for as long as it may act.
func (s *settings) lead(ctx context.Context, cluster *kube.Cluster, a *agent.Agent, log hclog.Logger) error {
	if !s.leaderElect {
		return cmp.Or(a.Run(ctx), errEnded)
	}
	identity, err := identity()
	if err != nil {
		return err
	}
	var ran error
	err = cluster.Lead(ctx, lease.Options{
		Namespace: s.namespace, Name: s.leaseName, Identity: identity,
		Waiting: func(err error) { log.Warn("waited for the API server", "error", err) },
		Lost: func(holder string) {
			log.Error("exited because another agent holds the lease", "holder", holder)
			os.Exit(1) // nothing is to be put in order: that is up to the other one
		},
	}, func(ctx context.Context) { ran = a.Run(ctx) })
	return cmp.Or(errors.Join(err, ran), errEnded)
}

// identity is unique among the replicas.
func identity() (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("find this process's identity: %w", err)
	}
	return fmt.Sprintf("%s_%d", cmp.Or(os.Getenv("POD_NAME"), host), os.Getpid()), nil
}

func (s *settings) connect(cfg *rest.Config, fenced *fence.Fence, log hclog.Logger) (*kube.Cluster, error) {
	return kube.New(cfg, kube.Options{
		UserAgent: "packhorse-agent/" + version, Schedulers: s.schedulers, NodePools: s.nodePools, Requested: s.agent.Metrics.KubernetesRequest, Fence: fenced,
		Access: func(resource string, err error) {
			if err != nil {
				log.Warn("could not read a kind of resource", "kind_of_resource", resource, "error", err)
				return
			}
			log.Info("read a kind of resource that could not be read", "kind_of_resource", resource)
		},
		Karpenter: func(waits string) {
			if waits != "" {
				log.Warn("not serving NodePools", "reason", waits)
				return
			}
			log.Info("started serving NodePools", "reason", "Karpenter does not run")
		},
		Unwritten: func(events int, err error) { log.Warn("could not write events", "events", events, "error", err) },
	})
}

func (s *settings) logger() (hclog.Logger, error) {
	level := hclog.LevelFromString(s.logLevel)
	if level == hclog.NoLevel {
		return nil, fmt.Errorf("--log-level %q must be one of trace, debug, info, warn, error", s.logLevel)
	}
	if s.logFormat != "text" && s.logFormat != "json" {
		return nil, fmt.Errorf("--log-format %q must be one of text, json", s.logFormat)
	}
	return hclog.New(&hclog.LoggerOptions{
		Name: "packhorse", Level: level, JSONFormat: s.logFormat == "json", Output: os.Stderr,
		TimeFormat: "2006-01-02T15:04:05.000Z0700",
	}), nil
}
