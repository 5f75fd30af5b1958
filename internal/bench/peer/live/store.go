package live

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// The fields by which lists are asked for.
const (
	fieldNode       = "spec.nodeName"
	fieldProviderID = "status.providerID"
)

// store is an API server for the module's controllers, as far as they use one. The fake client of
// controller-runtime converts every list to JSON and back, which a timeline of days cannot afford.
// The embedded interface is nil, so that a method which they do not use panics.
//
// Objects in it are never changed: a change puts another one in their place.
type store struct {
	client.Client

	// patchNode carries a change of a node out.
	patchNode func(*corev1.Node)
	// dirty has a token when NodeClaims have changed. Start makes it, in the bubble.
	dirty chan struct{}

	mu      sync.RWMutex
	version int
	pool    *v1.NodePool
	daemons []appsv1.DaemonSet
	budgets []policyv1.PodDisruptionBudget
	claims  map[string]*v1.NodeClaim
	changed map[string]bool // claims that nobody has looked at since
	nodes   map[string]*corev1.Node
	pods    map[types.UID]*corev1.Pod
	byNode  map[string]map[types.UID]*corev1.Pod
	fresh   []*v1.NodeClaim // that are to be launched
	leaving []*v1.NodeClaim // that are to be drained
}

func newStore(pool *v1.NodePool, daemons []appsv1.DaemonSet) *store {
	return &store{
		pool: pool, daemons: daemons, claims: map[string]*v1.NodeClaim{}, changed: map[string]bool{}, nodes: map[string]*corev1.Node{},
		pods: map[types.UID]*corev1.Pod{}, byNode: map[string]map[types.UID]*corev1.Pod{},
	}
}

// next is a resource version that was not used before. The lock is held.
func (s *store) next() string {
	s.version++
	return strconv.Itoa(s.version)
}

func (s *store) touch(claim string) {
	s.changed[claim] = true
	select {
	case s.dirty <- struct{}{}:
	default:
	}
}

// Get returns a copy. Objects of kinds that the store does not have are not found.
func (s *store) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	switch into := into.(type) {
	case *corev1.Node:
		if n := s.nodes[key.Name]; n != nil {
			n.DeepCopyInto(into)
			return nil
		}
	case *v1.NodeClaim:
		if c := s.claims[key.Name]; c != nil {
			c.DeepCopyInto(into)
			return nil
		}
	case *v1.NodePool:
		if s.pool.Name == key.Name {
			s.pool.DeepCopyInto(into)
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: fmt.Sprintf("%T", into)}, key.Name)
}

// List returns copies.
func (s *store) List(_ context.Context, into client.ObjectList, opts ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(opts)
	s.mu.RLock()
	defer s.mu.RUnlock()
	switch into := into.(type) {
	case *corev1.PodList:
		into.Items = items(s.among(&o), (*corev1.Pod).DeepCopyInto, &o, func(*corev1.Pod) bool { return true })
	case *corev1.NodeList:
		into.Items = items(s.nodes, (*corev1.Node).DeepCopyInto, &o, func(*corev1.Node) bool { return true })
	case *v1.NodeClaimList:
		id, asked := field(&o, fieldProviderID)
		into.Items = items(s.claims, (*v1.NodeClaim).DeepCopyInto, &o, func(c *v1.NodeClaim) bool { return !asked || c.Status.ProviderID == id })
	case *v1.NodePoolList:
		into.Items = []v1.NodePool{*s.pool.DeepCopy()}
	case *appsv1.DaemonSetList:
		for i := range s.daemons {
			into.Items = append(into.Items, *s.daemons[i].DeepCopy())
		}
	case *policyv1.PodDisruptionBudgetList:
		for i := range s.budgets {
			into.Items = append(into.Items, *s.budgets[i].DeepCopy())
		}
	case *corev1.NamespaceList:
		into.Items = []corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceDefault}}}
	default:
		return fmt.Errorf("list %T: the store has none", into)
	}
	return nil
}

// among are the pods of the node that a list is asked for, or all. The lock is held.
func (s *store) among(o *client.ListOptions) map[types.UID]*corev1.Pod {
	if node, asked := field(o, fieldNode); asked {
		return s.byNode[node]
	}
	return s.pods
}

func field(o *client.ListOptions, name string) (value string, asked bool) {
	if o.FieldSelector == nil {
		return "", false
	}
	return o.FieldSelector.RequiresExactMatch(name)
}

// items copies what a list asks for. All objects are in one namespace.
func items[K comparable, T any, P interface {
	*T
	client.Object
}](from map[K]*T, into func(*T, *T), o *client.ListOptions, which func(*T) bool) []T {
	var out []T
	for _, object := range from {
		if o.LabelSelector != nil && !o.LabelSelector.Matches(labels.Set(P(object).GetLabels())) || !which(object) {
			continue
		}
		if o.UnsafeDisableDeepCopy != nil && *o.UnsafeDisableDeepCopy {
			out = append(out, *object)
			continue
		}
		out = append(out, *new(T))
		into(object, &out[len(out)-1])
	}
	return out
}

// Create makes a NodeClaim.
func (s *store) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	claim, ok := object.(*v1.NodeClaim)
	if !ok {
		return fmt.Errorf("create a %T: the store makes NodeClaims only", object)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	claim.ResourceVersion = s.next()
	claim.Name, claim.UID = claim.GenerateName+claim.ResourceVersion, types.UID("claim-"+claim.ResourceVersion)
	claim.CreationTimestamp = metav1.Now()
	s.claims[claim.Name] = claim.DeepCopy()
	s.fresh = append(s.fresh, s.claims[claim.Name])
	s.touch(claim.Name)
	return nil
}

// Patch puts an object in the place of the one that it was made from.
func (s *store) Patch(_ context.Context, object client.Object, _ client.Patch, _ ...client.PatchOption) error {
	switch object := object.(type) {
	case *corev1.Node:
		return s.replaceNode(object)
	case *v1.NodeClaim:
		return s.replaceClaim(object)
	default:
		return fmt.Errorf("patch a %T: the store changes nodes and NodeClaims only", object)
	}
}

// replaceNode changes the node in the cluster, which comes back as any other change does.
func (s *store) replaceNode(n *corev1.Node) error {
	s.mu.RLock()
	known := s.nodes[n.Name]
	s.mu.RUnlock()
	if err := stale("nodes", n, known); err != nil {
		return err
	}
	s.patchNode(n.DeepCopy())
	return nil
}

func (s *store) replaceClaim(c *v1.NodeClaim) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := stale("nodeclaims", c, s.claims[c.Name]); err != nil {
		return err
	}
	c.ResourceVersion = s.next()
	s.claims[c.Name] = c.DeepCopy()
	s.touch(c.Name)
	return nil
}

// stale refuses a change of an object that has changed since it was read.
func stale[T any, P interface {
	*T
	client.Object
}](resource string, object, known P) error {
	of := schema.GroupResource{Resource: resource}
	switch {
	case known == nil:
		return apierrors.NewNotFound(of, object.GetName())
	case known.GetResourceVersion() != object.GetResourceVersion():
		return apierrors.NewConflict(of, object.GetName(), errors.New("it has changed"))
	}
	return nil
}

// Status writes as Patch does.
func (s *store) Status() client.SubResourceWriter { return status{store: s} }

type status struct {
	client.SubResourceWriter
	store *store
}

func (s status) Patch(ctx context.Context, object client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
	return s.store.Patch(ctx, object, patch)
}

// Delete begins the end of a NodeClaim, which its drain completes.
func (s *store) Delete(_ context.Context, object client.Object, _ ...client.DeleteOption) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.claims[object.GetName()]
	if _, ok := object.(*v1.NodeClaim); !ok || known == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: fmt.Sprintf("%T", object)}, object.GetName())
	}
	if known.DeletionTimestamp != nil {
		return nil
	}
	going := known.DeepCopy()
	now := metav1.Now()
	going.DeletionTimestamp, going.ResourceVersion = &now, s.next()
	s.claims[going.Name] = going
	s.leaving = append(s.leaving, going)
	s.touch(going.Name)
	return nil
}

// edit changes a NodeClaim as it is now; nothing happens if it has gone.
func (s *store) edit(claim string, change func(*v1.NodeClaim)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.claims[claim]; known != nil {
		c := known.DeepCopy()
		change(c)
		c.ResourceVersion = s.next()
		s.claims[claim] = c
		s.touch(claim)
	}
}

// revisit has a NodeClaim looked at again.
func (s *store) revisit(claim string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.touch(claim)
}

// drop removes a NodeClaim.
func (s *store) drop(claim string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.claims, claim)
	s.touch(claim)
}

// put notes a pod as it is now.
func (s *store) put(p *corev1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removePod(p.UID)
	s.pods[p.UID] = p
	if s.byNode[p.Spec.NodeName] == nil {
		s.byNode[p.Spec.NodeName] = map[types.UID]*corev1.Pod{}
	}
	s.byNode[p.Spec.NodeName][p.UID] = p
}

// removePod forgets a pod. The lock is held.
func (s *store) removePod(uid types.UID) {
	if p := s.pods[uid]; p != nil {
		delete(s.pods, uid)
		delete(s.byNode[p.Spec.NodeName], uid)
		if len(s.byNode[p.Spec.NodeName]) == 0 {
			delete(s.byNode, p.Spec.NodeName)
		}
	}
}

// take returns the NodeClaims that have changed, those to launch and those to drain, and
// forgets that.
func (s *store) take() (changed map[string]*v1.NodeClaim, fresh, leaving []*v1.NodeClaim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed = map[string]*v1.NodeClaim{}
	for name := range maps.Keys(s.changed) {
		changed[name] = s.claims[name]
	}
	fresh, leaving = s.fresh, s.leaving
	s.changed, s.fresh, s.leaving = map[string]bool{}, nil, nil
	return changed, fresh, leaving
}
