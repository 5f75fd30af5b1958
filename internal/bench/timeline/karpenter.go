package timeline

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/peer/live"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/replicas"
)

// Karpenter is its own code with one of its policies; see the package live for what is modelled
// around it. It plays one timeline.
func Karpenter(policy string, types []offer.InstanceType) Policy {
	daemons := replicas.DaemonSet(daemonSetName, &corev1.PodTemplateSpec{Spec: usage()})
	p := live.New(policy, types, provisioner(), *daemons)
	return Policy{Name: "Karpenter, " + policy, Start: func(ctx context.Context, t testing.TB, w *sim.World) func() {
		return p.Start(ctx, w, func(err error) { t.Error(fmt.Errorf("karpenter: %w", err)) })
	}}
}
