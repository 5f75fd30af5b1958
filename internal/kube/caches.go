package kube

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// kindPoll is how often a custom resource that the cluster does not know yet is
// looked for.
const kindPoll = 2 * time.Second

// caches mirror what a decision looks at. Their event handlers do no more than
// note that something changed.
type caches struct {
	pods, nodes, csiNodes, daemonSets, namespaces *mirror
	claims, volumes, storageClasses, budgets      *mirror
	provisioners, nodeTemplates                   *mirror
	all                                           []*mirror

	started    atomic.Bool
	generation atomic.Uint64 // counts changes
	changed    chan struct{}
}

// mirror is the cache of one kind.
type mirror struct {
	name     string
	informer cache.SharedIndexInformer
	handler  cache.ResourceEventHandlerRegistration
	custom   schema.GroupVersionResource // set for custom resources

	mu      sync.Mutex
	trouble error              // the last failure to list or watch
	decoded map[string]decoded // of custom resources, by UID
}

func newCaches(client kubernetes.Interface, custom dynamic.Interface) (*caches, error) {
	c := &caches{changed: make(chan struct{}, 1)}
	trimmed := informers.WithTransform(trim)
	shared := informers.NewSharedInformerFactoryWithOptions(client, 0, trimmed)
	// Finished pods take no room, and a cluster may keep thousands of them.
	live := informers.NewSharedInformerFactoryWithOptions(client, 0, trimmed,
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.AndSelectors(
				fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
				fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)),
			).String()
		}))
	c.pods = c.mirror("pods", live.Core().V1().Pods().Informer())
	c.nodes = c.mirror("nodes", shared.Core().V1().Nodes().Informer())
	c.csiNodes = c.mirror("csinodes", shared.Storage().V1().CSINodes().Informer())
	c.daemonSets = c.mirror("daemonsets", shared.Apps().V1().DaemonSets().Informer())
	c.namespaces = c.mirror("namespaces", shared.Core().V1().Namespaces().Informer())
	c.claims = c.mirror("persistentvolumeclaims", shared.Core().V1().PersistentVolumeClaims().Informer())
	c.volumes = c.mirror("persistentvolumes", shared.Core().V1().PersistentVolumes().Informer())
	c.storageClasses = c.mirror("storageclasses", shared.Storage().V1().StorageClasses().Informer())
	c.budgets = c.mirror("poddisruptionbudgets", shared.Policy().V1().PodDisruptionBudgets().Informer())
	c.provisioners = c.customMirror(custom, api.ProvisionerGVR)
	c.nodeTemplates = c.customMirror(custom, api.NodeTemplateGVR)
	for _, m := range c.all {
		if err := c.prepare(m); err != nil {
			return nil, fmt.Errorf("prepare the cache of %s: %w", m.name, err)
		}
	}
	return c, nil
}

func (c *caches) mirror(name string, informer cache.SharedIndexInformer) *mirror {
	m := &mirror{name: name, informer: informer}
	c.all = append(c.all, m)
	return m
}

func (c *caches) customMirror(client dynamic.Interface, gvr schema.GroupVersionResource) *mirror {
	informer := dynamicinformer.NewFilteredDynamicInformer(client, gvr, metav1.NamespaceAll, 0, cache.Indexers{}, nil)
	m := c.mirror(gvr.GroupResource().String(), informer.Informer())
	m.custom = gvr
	return m
}

func (c *caches) prepare(m *mirror) error {
	if !m.custom.Empty() {
		if err := m.informer.SetTransform(trim); err != nil {
			return err
		}
	}
	err := m.informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) { m.note(err) })
	if err != nil {
		return err
	}
	m.handler, err = m.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { c.dirty() },
		UpdateFunc: func(_, _ any) { c.dirty() },
		DeleteFunc: func(any) { c.dirty() },
	})
	return err
}

func (c *caches) dirty() {
	c.generation.Add(1)
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

func (c *caches) start(ctx context.Context, client dynamic.Interface) error {
	if c.started.Swap(true) {
		return fmt.Errorf("start the caches: they have been started already")
	}
	for _, m := range c.all {
		go func() {
			if !m.custom.Empty() {
				m.awaitKind(ctx, client)
			}
			m.informer.RunWithContext(ctx)
		}()
	}
	return nil
}

// awaitKind returns once the cluster serves the resource. An informer would wait
// too, but with pauses that grow to half a minute.
func (m *mirror) awaitKind(ctx context.Context, client dynamic.Interface) {
	// It ends without an error but that of ctx.
	_ = wait.PollUntilContextCancel(ctx, kindPoll, true, func(ctx context.Context) (bool, error) {
		err := callOnce(ctx, func(ctx context.Context) error {
			_, err := client.Resource(m.custom).List(ctx, metav1.ListOptions{Limit: 1})
			return err
		})
		m.note(err)
		return err == nil, nil
	})
}

func (m *mirror) note(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.trouble = err
}

// Synced reports whether all caches are filled.
func (c *Cluster) Synced() bool {
	return !slices.ContainsFunc(c.caches.all, func(m *mirror) bool { return !m.handler.HasSynced() })
}

// Waiting lists the caches that are not filled yet, each with the last trouble
// that it met: "provisioners.karpenter.sh: the server could not find the
// requested resource" until that kind is installed.
func (c *Cluster) Waiting() []string {
	var out []string
	for _, m := range c.caches.all {
		if m.handler.HasSynced() {
			continue
		}
		m.mu.Lock()
		line := m.name
		if m.trouble != nil {
			line += ": " + m.trouble.Error()
		}
		m.mu.Unlock()
		out = append(out, line)
	}
	return out
}

// Changed has a token when something changed since it was last drained.
func (c *Cluster) Changed() <-chan struct{} { return c.caches.changed }
