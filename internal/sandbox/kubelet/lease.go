package kubelet

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/apimachinery/lease"
	"k8s.io/utils/clock"
)

// leaseDuration and renewInterval are a kubelet's defaults: nodeLeaseDurationSeconds,
// and a quarter of it
// (https://kubernetes.io/docs/reference/node/node-status/#heartbeats).
const (
	leaseDuration = 40 * time.Second
	renewInterval = leaseDuration / 4
)

// renewLease keeps the node alive in the eyes of the cluster until the machine is
// powered off.
//
// kwok could do it, but forgets pods then (0.8.0): those bound before the node is up
// are looked at once, as soon as the lease is written, and passed over where kwok has
// not yet seen that it holds the lease.
func (k *kubelet) renewLease(ctx context.Context) {
	lease.NewController(clock.RealClock{}, k.api, k.node.Name, int32(leaseDuration.Seconds()), nil,
		renewInterval, k.node.Name, corev1.NamespaceNodeLease, k.ownLease(ctx)).Run(ctx)
}

// ownLease makes a lease go with its node.
func (k *kubelet) ownLease(ctx context.Context) lease.ProcessLeaseFunc {
	return func(l *coordinationv1.Lease) error {
		if len(l.OwnerReferences) > 0 {
			return nil
		}
		node, err := k.api.CoreV1().Nodes().Get(ctx, k.node.Name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("read node %s: %w", k.node.Name, err)
		}
		l.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}}
		return nil
	}
}
