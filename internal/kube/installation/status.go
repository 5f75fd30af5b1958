package installation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/call"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/survey"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/teardown"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// ending says why a wait has ended without success.
func ending(ctx context.Context) string {
	if errors.Is(ctx.Err(), context.Canceled) {
		return "the wait was interrupted"
	}
	return "it did not become ready in time"
}

// errNone means that there is no Deployment.
var errNone = errors.New("it does not exist")

// Status reads a Deployment of the agent, its pods, the Lease, and the versions of the
// CustomResourceDefinitions. Admission may refuse the pods, so that there are none that say why they are
// not ready: the Deployment says so.
func (k *Keeper) Status(ctx context.Context, namespace, name string, now time.Time) (install.Status, error) {
	var s install.Status
	d, err := call.Get(ctx, func(ctx context.Context) (*appsv1.Deployment, error) {
		return k.typed.AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
	})
	if apierrors.IsNotFound(err) {
		err = errNone
	}
	if err != nil {
		return s, fmt.Errorf("read Deployment %s/%s: %w", namespace, name, err)
	}
	pods, err := call.Get(ctx, func(ctx context.Context) (*corev1.PodList, error) {
		return k.typed.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(d.Spec.Selector)})
	})
	if err != nil {
		return s, fmt.Errorf("list the pods of Deployment %s/%s: %w", namespace, name, err)
	}
	holder, err := k.holder(ctx, namespace, now)
	if err != nil {
		return s, err
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		// The identity of a replica is the name of its pod, an underscore and a number.
		if before, _, _ := strings.Cut(holder, "_"); before == pod.Name && pod.DeletionTimestamp == nil {
			s.Leader, s.ImageDigest = pod.Name, digest(pod)
		}
		if trouble := troubleOf(pod); trouble != "" {
			s.Troubles = append(s.Troubles, "pod "+pod.Name+": "+trouble)
		}
	}
	slices.Sort(s.Troubles)
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
			s.Troubles = append(s.Troubles, c.Reason+": "+c.Message)
		}
	}
	s.Waiting = waiting(d, s.Leader)
	return s, k.readDefinitions(ctx, &s)
}

// Others returns the other installations in the cluster, as namespace/name.
func (k *Keeper) Others(ctx context.Context, namespace, name string) (out []string, err error) {
	deployments, err := k.deployments(ctx)
	for _, d := range deployments {
		if d.Namespace != namespace || d.Name != name {
			out = append(out, d.Namespace+"/"+d.Name)
		}
	}
	return out, err
}

// NodeOptions returns the options of the cluster's agent that size nodes: the defaults without an agent.
func (k *Keeper) NodeOptions(ctx context.Context) (offer.NodeOptions, error) {
	deployments, err := k.deployments(ctx)
	if len(deployments) == 0 {
		return offer.NodeOptions{}, err
	}
	return install.NodeOptions(&deployments[0]), nil
}

// deployments returns those of all installations that are not being deleted.
func (k *Keeper) deployments(ctx context.Context) ([]appsv1.Deployment, error) {
	found, err := call.Get(ctx, func(ctx context.Context) (*appsv1.DeploymentList, error) {
		return k.typed.AppsV1().Deployments(metav1.NamespaceAll).List(ctx, metav1.ListOptions{LabelSelector: install.Selector})
	})
	if err != nil {
		return nil, fmt.Errorf("list the installations of the agent: %w", err)
	}
	return slices.DeleteFunc(found.Items, func(d appsv1.Deployment) bool { return d.DeletionTimestamp != nil }), nil
}

// Machines reports whether the cluster has the kind Machine of Karpenter 0.28 to 0.32.
func (k *Keeper) Machines() (bool, error) { return survey.Machines(k.typed) }

// Webhooks returns the configurations of Karpenter's admission webhooks.
func (k *Keeper) Webhooks(ctx context.Context) ([]string, error) {
	return survey.Webhooks(ctx, k.typed)
}

// holder returns the identity that holds the Lease, empty if nobody does.
func (k *Keeper) holder(ctx context.Context, namespace string, now time.Time) (string, error) {
	lease, err := teardown.Held(ctx, k.typed, namespace, now)
	if err != nil || lease == nil {
		return "", err
	}
	return *lease.Spec.HolderIdentity, nil
}

// waiting says what is missing until all replicas are updated and available and one of them
// leads. It is empty if nothing is.
func waiting(d *appsv1.Deployment, leader string) string {
	wanted := ptr.Deref(d.Spec.Replicas, 1)
	s := d.Status
	switch {
	case s.ObservedGeneration < d.Generation:
		return "the Deployment controller has not observed the change yet"
	case s.UpdatedReplicas < wanted:
		return fmt.Sprintf("%d of %d replicas are updated", s.UpdatedReplicas, wanted)
	case s.AvailableReplicas < wanted:
		return fmt.Sprintf("%d of %d replicas are available", s.AvailableReplicas, wanted)
	case s.Replicas > s.UpdatedReplicas:
		return fmt.Sprintf("old replicas that still exist: %d", s.Replicas-s.UpdatedReplicas)
	case leader == "":
		return "no replica leads"
	}
	return ""
}

func digest(pod *corev1.Pod) string {
	for _, c := range pod.Status.ContainerStatuses {
		if i := strings.LastIndex(c.ImageID, "sha256:"); i >= 0 {
			return c.ImageID[i:]
		}
	}
	return ""
}

// troubleOf says why a pod is not ready, as far as its status does: how often its container has
// restarted, what it waits for, and how it ended the last time. The termination message is the
// end of the log (see Settings.Deployment).
func troubleOf(pod *corev1.Pod) string {
	for i := range pod.Status.ContainerStatuses {
		c := &pod.Status.ContainerStatuses[i]
		var parts []string
		if c.RestartCount > 0 {
			parts = append(parts, fmt.Sprintf("restarts: %d", c.RestartCount))
		}
		if w := c.State.Waiting; w != nil {
			parts = append(parts, strings.TrimSuffix(w.Reason+": "+w.Message, ": "))
		}
		for _, end := range []*corev1.ContainerStateTerminated{c.State.Terminated, c.LastTerminationState.Terminated} {
			if end != nil {
				parts = append(parts, endOf(end))
				break
			}
		}
		if !c.Ready && len(parts) > 0 {
			return strings.Join(parts, "; ")
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type != corev1.ContainersReady && c.Status == corev1.ConditionFalse && c.Message != "" {
			return c.Reason + ": " + c.Message
		}
	}
	return ""
}

// endOf says how a container ended, with the last line of its log.
func endOf(t *corev1.ContainerStateTerminated) string {
	text := fmt.Sprintf("ended with exit code %d", t.ExitCode)
	if t.Reason != "" && t.Reason != "Error" {
		text += " (" + t.Reason + ")"
	}
	lines := strings.Split(strings.TrimSpace(t.Message), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		text += ", its last line: " + last
	}
	return text
}

func (k *Keeper) readDefinitions(ctx context.Context, s *install.Status) error {
	settings := install.Settings{}.Defaulted("")
	objects, err := settings.Objects()
	if err != nil {
		return err
	}
	s.Definitions = map[string][]string{}
	for _, object := range objects {
		if !isDefinition(object) {
			continue
		}
		live, err := k.get(ctx, object)
		if err != nil {
			return err
		}
		if live != nil {
			s.Definitions[object.GetName()], _, _ = unstructured.NestedStringSlice(live.Object, "status", "storedVersions")
		}
	}
	return nil
}

// Await waits until all replicas are updated and available and one of them leads. It calls
// progress whenever what is missing has changed. If the context ends first, the error says what
// is missing and why pods are not ready or not created.
func (k *Keeper) Await(ctx context.Context, namespace, name string, progress func(string)) (install.Status, error) {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	var last install.Status
	for {
		s, err := k.Status(ctx, namespace, name, time.Now())
		switch {
		case err == nil && s.Waiting == "":
			return s, nil
		case errors.Is(err, errNone):
			return s, err
		case err == nil:
			if s.Waiting != last.Waiting {
				progress(s.Waiting)
			}
			last = s
		case last.Waiting == "":
			last.Troubles = []string{err.Error()}
		}
		select {
		case <-ctx.Done():
			return last, fmt.Errorf("%s: %s", ending(ctx), strings.Join(append([]string{last.Waiting}, last.Troubles...), "\n  "))
		case <-ticker.C:
		}
	}
}
