package agent

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/takeover"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Every call has a deadline. What waits by design, such as Notices.Receive, has its own.
const (
	cloudTimeout   = 2 * time.Minute
	clusterTimeout = 15 * time.Second
)

// timedCluster gives each call that changes something a deadline.
type timedCluster struct{ Cluster }

func inCluster(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, clusterTimeout)
	defer cancel()
	return call(ctx)
}

func (c timedCluster) CreateNode(ctx context.Context, node *corev1.Node) error {
	return inCluster(ctx, func(ctx context.Context) error { return c.Cluster.CreateNode(ctx, node) })
}

func (c timedCluster) PatchNode(ctx context.Context, name string, change cluster.NodeChange) error {
	return inCluster(ctx, func(ctx context.Context) error { return c.Cluster.PatchNode(ctx, name, change) })
}

func (c timedCluster) DeleteNode(ctx context.Context, name string) error {
	return inCluster(ctx, func(ctx context.Context) error { return c.Cluster.DeleteNode(ctx, name) })
}

func (c timedCluster) Bind(ctx context.Context, pod cluster.PodKey, node string) error {
	return inCluster(ctx, func(ctx context.Context) error { return c.Cluster.Bind(ctx, pod, node) })
}

func (c timedCluster) Steer(ctx context.Context, pod cluster.PodKey, grade int) error {
	return inCluster(ctx, func(ctx context.Context) error { return c.Cluster.Steer(ctx, pod, grade) })
}

func (c timedCluster) Evict(ctx context.Context, pod cluster.PodKey) error {
	return inCluster(ctx, func(ctx context.Context) error { return c.Cluster.Evict(ctx, pod) })
}

func (c timedCluster) DeletePod(ctx context.Context, pod cluster.PodKey, grace time.Duration) error {
	return inCluster(ctx, func(ctx context.Context) error { return c.Cluster.DeletePod(ctx, pod, grace) })
}

func (c timedCluster) UpdateProvisionerStatus(ctx context.Context, name string, status api.ProvisionerStatus) error {
	return inCluster(ctx, func(ctx context.Context) error { return c.Cluster.UpdateProvisionerStatus(ctx, name, status) })
}

func (c timedCluster) UpdateNodeTemplateStatus(ctx context.Context, name string, status api.AWSNodeTemplateStatus) error {
	return inCluster(ctx, func(ctx context.Context) error { return c.Cluster.UpdateNodeTemplateStatus(ctx, name, status) })
}

func (c timedCluster) SetProvisionerFinalizer(ctx context.Context, name string, present bool) error {
	return inCluster(ctx, func(ctx context.Context) error { return c.Cluster.SetProvisionerFinalizer(ctx, name, present) })
}

// timedCloud gives each call a deadline.
type timedCloud struct{ Cloud }

func inCloud[T any](ctx context.Context, call func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, cloudTimeout)
	defer cancel()
	return call(ctx)
}

func (c timedCloud) Market(ctx context.Context, p *api.Provisioner, profile *api.NodeProfile) (offer.Market, error) {
	return inCloud(ctx, func(ctx context.Context) (offer.Market, error) { return c.Cloud.Market(ctx, p, profile) })
}

func (c timedCloud) Launch(ctx context.Context, order offer.Order) (offer.Delivery, error) {
	return inCloud(ctx, func(ctx context.Context) (offer.Delivery, error) { return c.Cloud.Launch(ctx, order) })
}

func (c timedCloud) Instances(ctx context.Context) ([]offer.Instance, error) {
	return inCloud(ctx, c.Cloud.Instances)
}

func (c timedCloud) Find(ctx context.Context, ids []string) ([]offer.Instance, error) {
	return inCloud(ctx, func(ctx context.Context) ([]offer.Instance, error) { return c.Cloud.Find(ctx, ids) })
}

func (c timedCloud) Terminate(ctx context.Context, ids []string) ([]string, error) {
	return inCloud(ctx, func(ctx context.Context) ([]string, error) { return c.Cloud.Terminate(ctx, ids) })
}

func (c timedCloud) Claim(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, cloudTimeout)
	defer cancel()
	return c.Cloud.Claim(ctx)
}

func (c timedCloud) Retag(ctx context.Context, i offer.Instance) error {
	ctx, cancel := context.WithTimeout(ctx, cloudTimeout)
	defer cancel()
	return c.Cloud.Retag(ctx, i)
}

func (c timedCloud) Sweep(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, cloudTimeout)
	defer cancel()
	return c.Cloud.Sweep(ctx)
}

func (c timedCloud) Forget(ctx context.Context, provisioner string) error {
	ctx, cancel := context.WithTimeout(ctx, cloudTimeout)
	defer cancel()
	return c.Cloud.Forget(ctx, provisioner)
}

// timedSource gives each call of a source a deadline; an empty one stays empty.
func timedSource(s takeover.Source) takeover.Source {
	if s == (takeover.Source{}) {
		return s
	}
	return takeover.Source{Claims: timedClaims{s.Claims}, Machines: timedMachines{s.Machines}}
}

type timedClaims struct{ takeover.Claims }

func (c timedClaims) NodeClaims(ctx context.Context) (out []cluster.NodeClaim, err error) {
	err = inCluster(ctx, func(ctx context.Context) (err error) {
		out, err = c.Claims.NodeClaims(ctx)
		return err
	})
	return out, err
}

func (c timedClaims) ReleaseNodeClaim(ctx context.Context, claim cluster.NodeClaim) error {
	return inCluster(ctx, func(ctx context.Context) error { return c.Claims.ReleaseNodeClaim(ctx, claim) })
}

type timedMachines struct{ takeover.Machines }

func (c timedMachines) Karpenters(ctx context.Context) ([]offer.Instance, error) {
	return inCloud(ctx, c.Machines.Karpenters)
}

func (c timedMachines) TakeOver(ctx context.Context, provisioner string, ids []string) ([]string, error) {
	return inCloud(ctx, func(ctx context.Context) ([]string, error) { return c.Machines.TakeOver(ctx, provisioner, ids) })
}

func (c timedMachines) Disown(ctx context.Context, ids []string) ([]string, error) {
	return inCloud(ctx, func(ctx context.Context) ([]string, error) { return c.Machines.Disown(ctx, ids) })
}
