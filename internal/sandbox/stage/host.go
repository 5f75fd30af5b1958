package stage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/apimachinery/lease"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/call"
)

// hostPoll is how often a host looks at its pods, and leaseSeconds how long it
// counts as alive without a word, which is a kubelet's default.
const (
	hostPoll     = 200 * time.Millisecond
	leaseSeconds = 40
)

// Host is a node that nobody has to buy, such as one of a managed node group. It
// runs pods of the agent as processes of this machine, and plays all others.
type Host struct {
	Name string

	stage   *Stage
	running map[types.UID]*Agent // of the loop alone
	cancel  context.CancelFunc
	done    chan struct{}

	mu     sync.Mutex
	agents map[string]*Agent // by the names of their pods
	errs   []error
}

// StartHost makes the node and runs what is scheduled to it, until Stop.
func (s *Stage) StartHost(ctx context.Context, name string) (*Host, error) {
	h := &Host{Name: name, stage: s, running: map[types.UID]*Agent{}, agents: map[string]*Agent{}, done: make(chan struct{})}
	if err := h.register(ctx); err != nil {
		return nil, err
	}
	ctx, h.cancel = context.WithCancel(context.WithoutCancel(ctx))
	go lease.NewController(clock.RealClock{}, s.Kube, name, leaseSeconds, nil, leaseSeconds/4*time.Second, name, corev1.NamespaceNodeLease,
		nil).Run(ctx)
	go h.loop(ctx)
	return h, nil
}

func (h *Host) register(ctx context.Context) error {
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi"), corev1.ResourcePods: resource.MustParse("110"),
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: h.Name, Labels: map[string]string{
			corev1.LabelHostname: h.Name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
			corev1.LabelTopologyZone: h.stage.Sandbox.Region + "a", "eks.amazonaws.com/nodegroup": "system",
		}},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "CriticalAddonsOnly", Value: "true", Effect: corev1.TaintEffectNoSchedule}}},
	}
	nodes := h.stage.Kube.CoreV1().Nodes()
	if _, err := nodes.Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("make node %s: %w", h.Name, err)
	}
	now := metav1.Now()
	err := call.DoIf(ctx, call.Conflicting, func(ctx context.Context) error {
		node, err := nodes.Get(ctx, h.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		node.Status.Capacity, node.Status.Allocatable = room, room
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastHeartbeatTime: now, LastTransitionTime: now}}
		_, err = nodes.UpdateStatus(ctx, node, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("report node %s ready: %w", h.Name, err)
	}
	return nil
}

// Stop ends all processes, as a host that is powered off. It returns what went wrong.
func (h *Host) Stop() error {
	h.cancel()
	<-h.done
	for _, a := range h.running {
		a.Stop()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return errors.Join(h.errs...)
}

// Agents returns the agents that run, by the names of their pods.
func (h *Host) Agents() map[string]*Agent {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.agents)
}

func (h *Host) loop(ctx context.Context) {
	defer close(h.done)
	ticker := time.NewTicker(hostPoll)
	defer ticker.Stop()
	for {
		pods, err := h.stage.Kube.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + h.Name})
		if err == nil {
			for i := range pods.Items {
				h.note(ctx, h.sync(ctx, &pods.Items[i]))
			}
			h.endOrphans(pods.Items)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// note keeps errors for Stop. A pod that has gone or changed since it was read is
// none, nor is one whose namespace is going: the next look sees it.
func (h *Host) note(ctx context.Context, err error) {
	going := apierrors.IsConflict(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
	if ctx.Err() == nil && ignoreNotFound(err) != nil && !going {
		h.mu.Lock()
		defer h.mu.Unlock()
		if len(h.errs) < 10 {
			h.errs = append(h.errs, err)
		}
	}
}

// sync takes a pod a step further: it is started, watched, restarted or ended.
func (h *Host) sync(ctx context.Context, pod *corev1.Pod) error {
	agent := h.running[pod.UID]
	switch {
	case pod.DeletionTimestamp != nil:
		if agent != nil {
			agent.Stop()
			h.forget(pod.UID, pod.Name)
		}
		return h.stage.Kube.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: ptr.To[int64](0), Preconditions: &metav1.Preconditions{UID: &pod.UID},
		})
	case agent == nil && h.runs(pod):
		started, err := h.stage.startPod(ctx, pod, AgentOptions{})
		if err != nil {
			return err
		}
		h.running[pod.UID] = started
		h.mu.Lock()
		defer h.mu.Unlock()
		h.agents[pod.Name] = started
		return nil
	case agent != nil && agent.ended():
		h.forget(pod.UID, pod.Name) // and is started again by the next look
		return h.report(ctx, pod, false, 1)
	}
	return h.report(ctx, pod, agent == nil || agent.ready(ctx), 0)
}

func (h *Host) forget(uid types.UID, name string) {
	delete(h.running, uid)
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.agents, name)
}

// endOrphans ends the processes of pods that were deleted without grace.
func (h *Host) endOrphans(pods []corev1.Pod) {
	for uid, agent := range h.running {
		if !slices.ContainsFunc(pods, func(p corev1.Pod) bool { return p.UID == uid }) {
			agent.Kill()
			delete(h.running, uid)
		}
	}
}

// runs reports whether there is a binary for the pod's image.
func (h *Host) runs(pod *corev1.Pod) bool {
	return imageName(pod.Spec.Containers[0].Image) == "packhorse-agent"
}

// ended reports whether the process has ended by itself.
func (a *Agent) ended() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

// ready asks the readiness probe.
func (a *Agent) ready(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.Ready, nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
