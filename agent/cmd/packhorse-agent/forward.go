package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/call"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/teardown"
)

// forwardToLeader forwards a free port of localhost to the one of the agent that leads in a
// namespace, as `kubectl port-forward` does, and returns its URL. It ends with the context, or with the pod. Where
// nobody leads, the error names the nodes that no agent manages.
func forwardToLeader(ctx context.Context, access *rest.Config, namespace string, port int) (string, error) {
	bound, err := call.BoundPlugin(access)
	if err != nil {
		return "", err
	}
	client, err := kubernetes.NewForConfig(bound)
	if err != nil {
		return "", fmt.Errorf("make a client for %s: %w", access.Host, err)
	}
	pod, err := leader(ctx, client, namespace)
	if err != nil {
		return "", err
	}
	transport, upgrader, err := spdy.RoundTripperFor(access)
	if err != nil {
		return "", fmt.Errorf("forward a port of pod %s/%s: %w", namespace, pod, err)
	}
	url := client.CoreV1().RESTClient().Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("portforward").URL()
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, url)
	ready, ended := make(chan struct{}), make(chan error, 1)
	forwarder, err := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"}, []string{fmt.Sprintf("0:%d", port)}, ctx.Done(), ready, io.Discard, io.Discard)
	if err != nil {
		return "", fmt.Errorf("forward a port of pod %s/%s: %w", namespace, pod, err)
	}
	go func() { ended <- forwarder.ForwardPorts() }()
	patience, cancel := context.WithTimeoutCause(ctx, call.Timeout, call.ErrNoAnswer) // the dialer heeds no context
	defer cancel()
	select {
	case err := <-ended:
		return "", fmt.Errorf("forward port %d of pod %s/%s: %w", port, namespace, pod, err)
	case <-patience.Done():
		return "", fmt.Errorf("forward port %d of pod %s/%s: %w", port, namespace, pod, context.Cause(patience))
	case <-ready:
	}
	ports, err := forwarder.GetPorts()
	if err != nil {
		return "", fmt.Errorf("forward port %d of pod %s/%s: %w", port, namespace, pod, err)
	}
	return fmt.Sprintf("http://127.0.0.1:%d", ports[0].Local), nil
}

// leader is the name of the pod that holds the Lease.
func leader(ctx context.Context, client kubernetes.Interface, namespace string) (string, error) {
	lease, err := teardown.Held(ctx, client, namespace, time.Now())
	if err != nil {
		return "", fmt.Errorf("find the agent: %w", err)
	}
	if lease != nil {
		// The identity of a replica is the name of its pod and the number of its process.
		pod, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_")
		return pod, nil
	}
	nodes, err := call.Get(ctx, func(ctx context.Context) (*corev1.NodeList, error) {
		return client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: api.LabelProvisioner})
	})
	if err != nil {
		return "", fmt.Errorf("no agent leads in namespace %s: list the nodes that are left: %w", namespace, err)
	}
	// Nodes of others may have the label too.
	left := slices.DeleteFunc(nodes.Items, func(n corev1.Node) bool { return !cluster.Managed(&n) })
	return "", nobody(namespace, left)
}

// nobody says what is left without an agent.
func nobody(namespace string, nodes []corev1.Node) error {
	said := []string{fmt.Sprintf("no agent leads in namespace %s (see kubectl -n %s get pods, or --namespace)", namespace, namespace)}
	if len(nodes) > 0 {
		said[0] += ", and no agent manages these nodes:"
	}
	for i := range nodes {
		said = append(said, fmt.Sprintf("  %s, %s, %s", nodes[i].Name, nodes[i].Labels[api.LabelProvisioner], nodes[i].Spec.ProviderID))
	}
	return errors.New(strings.Join(said, "\n"))
}
