package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/access"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/lease"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/podcache"
)

// accessPoll is how often to try to list a resource that cannot be listed yet, and to look whether a stale
// cache has been refreshed.
const accessPoll = 2 * time.Second

// missingPoll is how often to try to list, in the end, a resource that the cluster may lack for ever.
const missingPoll = 30 * time.Second

// caches mirror the objects that decisions depend on. Their event handlers only note that
// something has changed.
type caches struct {
	pods, nodes, csiNodes, daemonSets, namespaces *mirror
	claims, volumes, storageClasses, budgets      *mirror
	deployments, autoscalers, csiDrivers          *mirror
	attachments                                   *mirror
	provisioners, nodeTemplates                   *mirror
	pools                                         *pools // nil unless NodePools are served
	all                                           []*mirror

	client     dynamic.Interface
	access     func(resource string, err error)
	started    atomic.Bool
	generation atomic.Uint64 // counts changes
	changed    chan struct{}
	unbound    chan struct{}
}

// mirror is the cache of one kind.
type mirror struct {
	informer cache.SharedIndexInformer
	handler  cache.ResourceEventHandlerRegistration
	resource schema.GroupVersionResource
	changes  *changes   // notes changed objects; may be nil
	optional bool       // a cluster may lack the kind
	versions *versioned // nil: the version of resource
	reads    access.Record

	mu      sync.Mutex
	decoded map[string]decoded // of custom resources, by UID
	// statuses are the last ones written, by name.
	statuses map[string]writtenStatus
}

func newCaches(client kubernetes.Interface, custom dynamic.Interface, o Options) (*caches, error) {
	c := &caches{client: custom, access: o.Access, changed: make(chan struct{}, 1), unbound: make(chan struct{}, 1)}
	templates := cluster.NewTemplates(o.Schedulers...)
	shared := informers.NewSharedInformerFactory(client, 0)
	c.pods = c.mirror(corev1.SchemeGroupVersion.WithResource("pods"), podcache.Informer(client, templates))
	c.nodes = c.mirror(corev1.SchemeGroupVersion.WithResource("nodes"), shared.Core().V1().Nodes().Informer())
	c.csiNodes = c.mirror(storagev1.SchemeGroupVersion.WithResource("csinodes"), shared.Storage().V1().CSINodes().Informer())
	c.csiDrivers = c.mirror(storagev1.SchemeGroupVersion.WithResource("csidrivers"), shared.Storage().V1().CSIDrivers().Informer())
	c.attachments = c.mirror(storagev1.SchemeGroupVersion.WithResource("volumeattachments"), shared.Storage().V1().VolumeAttachments().Informer())
	c.daemonSets = c.mirror(appsv1.SchemeGroupVersion.WithResource("daemonsets"), shared.Apps().V1().DaemonSets().Informer())
	c.namespaces = c.mirror(corev1.SchemeGroupVersion.WithResource("namespaces"), shared.Core().V1().Namespaces().Informer())
	c.claims = c.mirror(corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims"), shared.Core().V1().PersistentVolumeClaims().Informer())
	c.volumes = c.mirror(corev1.SchemeGroupVersion.WithResource("persistentvolumes"), shared.Core().V1().PersistentVolumes().Informer())
	c.storageClasses = c.mirror(storagev1.SchemeGroupVersion.WithResource("storageclasses"), shared.Storage().V1().StorageClasses().Informer())
	c.budgets = c.mirror(policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets"), shared.Policy().V1().PodDisruptionBudgets().Informer())
	c.deployments = c.mirror(appsv1.SchemeGroupVersion.WithResource("deployments"), shared.Apps().V1().Deployments().Informer())
	c.autoscalers = c.mirror(autoscalingv2.SchemeGroupVersion.WithResource("horizontalpodautoscalers"), shared.Autoscaling().V2().HorizontalPodAutoscalers().Informer())
	c.pods.changes, c.nodes.changes = newChanges(), newChanges()
	c.csiNodes.changes = c.nodes.changes // a CSINode is a part of the node of the same name
	c.provisioners = c.customMirror(custom, api.ProvisionerGVR)
	c.nodeTemplates = c.customMirror(custom, api.NodeTemplateGVR)
	if o.NodePools {
		c.pools = c.addPools(lease.NewWatch(client, install.KarpenterLease))
	}
	for _, m := range c.all {
		transform := trim
		if m == c.pods {
			transform = podcache.Transform(templates)
		}
		if err := c.prepare(m, transform); err != nil {
			return nil, fmt.Errorf("prepare the cache of %s: %w", m.name(), err)
		}
	}
	return c, nil
}

func (c *caches) mirror(gvr schema.GroupVersionResource, informer cache.SharedIndexInformer) *mirror {
	m := &mirror{resource: gvr, informer: informer, statuses: map[string]writtenStatus{}}
	c.all = append(c.all, m)
	return m
}

func (c *caches) customMirror(client dynamic.Interface, gvr schema.GroupVersionResource) *mirror {
	informer := dynamicinformer.NewFilteredDynamicInformer(client, gvr, metav1.NamespaceAll, 0, cache.Indexers{}, nil)
	return c.mirror(gvr, informer.Informer())
}

func (c *caches) prepare(m *mirror, transform cache.TransformFunc) error {
	if err := m.informer.SetTransform(transform); err != nil {
		return err
	}
	err := m.informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *cache.Reflector, err error) {
		c.note(m, err)
		if access.Barred(err) {
			c.awaitAccess(ctx, m) // meanwhile, the cache keeps its content
		}
	})
	if err != nil {
		return err
	}
	note := func(old, object any) {
		m.changes.add(object)
		c.dirty()
		if unbound(old) || unbound(object) {
			offer(c.unbound)
		}
	}
	m.handler, err = m.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { note(nil, object) },
		UpdateFunc: func(old, object any) {
			if !cluster.Same(old, object) {
				note(old, object)
			}
		},
		DeleteFunc: func(object any) {
			m.forget(object)
			note(nil, object)
		},
	})
	return err
}

func (c *caches) dirty() {
	c.generation.Add(1)
	offer(c.changed)
}

// offer puts a token into a channel with room for one, unless it has one already.
func offer(tokens chan struct{}) {
	select {
	case tokens <- struct{}{}:
	default:
	}
}

// unbound reports whether an object is a pod that is on no node.
func unbound(object any) bool {
	if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	p, ok := object.(*podcache.Pod)
	return ok && p.Converted.NodeName == ""
}

func (c *caches) start(ctx context.Context) error {
	if c.started.Swap(true) {
		return errors.New("start the caches: they have been started already")
	}
	for _, m := range c.all {
		go func() {
			c.awaitAccess(ctx, m)
			m.informer.RunWithContext(ctx)
		}()
	}
	go wait.UntilWithContext(ctx, c.noteRefreshed, accessPoll)
	return nil
}

// noteRefreshed notes which stale caches have been refreshed: their informers do not report it.
func (c *caches) noteRefreshed(context.Context) {
	for _, m := range c.all {
		if m.reads.Refreshed(m.informer.LastSyncResourceVersion()) {
			c.note(m, nil)
		}
	}
}

// awaitAccess waits until the resource can be listed or ctx ends. An informer would wait too,
// but without reporting why, and with pauses of up to half a minute.
func (c *caches) awaitAccess(ctx context.Context, m *mirror) {
	pauses := wait.Backoff{Duration: accessPoll, Steps: 10, Cap: missingPoll}
	if m.optional {
		pauses.Factor = 2
	}
	// The only possible error is that of ctx.
	_ = pauses.DelayFunc().Until(ctx, true, false, func(ctx context.Context) (bool, error) {
		err := callOnce(ctx, func(ctx context.Context) error {
			list := c.client.Resource(m.resource).List
			if m.versions != nil {
				list = m.versions.list
			}
			_, err := list(ctx, metav1.ListOptions{Limit: 1})
			return err
		})
		c.note(m, err)
		return err == nil, nil
	})
}

// name returns the name of the resource, such as provisioners.karpenter.sh.
func (m *mirror) name() string { return m.resource.GroupResource().String() }

// note records the result of the last attempt to read a resource. When the resource is lost or back, it
// calls access.
func (c *caches) note(m *mirror, err error) {
	changed, why := m.reads.Note(err, m.informer.LastSyncResourceVersion())
	if changed && c.access != nil {
		c.access(m.name(), why)
	}
}

// filled reports whether the cache has been filled and can be kept up to date, or need not be
// because the cluster lacks an optional kind.
func (m *mirror) filled() bool {
	reads := m.reads.State()
	return m.handler.HasSynced() && !reads.Barred || m.optional && reads.Missing
}

// Synced reports whether all caches are filled and can be kept up to date.
func (c *Cluster) Synced() bool {
	return !slices.ContainsFunc(c.caches.all, func(m *mirror) bool { return !m.filled() })
}

// Waiting lists the resources that keep Synced from being true, and those that could not be read
// again for a while, each with the last error. An example is
// "provisioners.karpenter.sh: the server could not find the requested resource", until that kind is
// installed.
func (c *Cluster) Waiting() []string {
	var out []string
	for _, m := range c.caches.all {
		reads, line := m.reads.State(), m.name()
		if reads.Trouble != nil {
			line += ": " + reads.Trouble.Error()
		}
		if !m.filled() || reads.Stale {
			out = append(out, line)
		}
	}
	return out
}

// Changed returns a channel that gets a token when something changes, unless it still has one.
func (c *Cluster) Changed() <-chan struct{} { return c.caches.changed }

// Unbound returns a channel that gets a token, unless it still has one, when a pod without a
// node is created, changes, is deleted or gets a node.
func (c *Cluster) Unbound() <-chan struct{} { return c.caches.unbound }
