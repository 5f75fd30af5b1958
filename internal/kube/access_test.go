package kube

import (
	"cmp"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic/fake"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/access"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/kinds"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/plane/planetest"
)

// While a kind cannot be read, the agent is not ready, and its objects are what they
// were: an answer that there is no such kind does not mean that somebody has deleted
// them. Both ends of that time are told, once each.
func TestUnreadableKindLeavesWhatIsKnown(t *testing.T) {
	group := api.ProvisionerGVR.GroupResource()
	for name, refusal := range map[string]error{
		"not installed": apierrors.NewNotFound(group, ""), "forbidden": apierrors.NewForbidden(group, "", nil),
	} {
		t.Run(name, func(t *testing.T) {
			g := &gate{refusal: refusal}
			c, client := g.cluster(t)
			known := func(name string) func() error {
				return func() error {
					if _, ok := get[*unstructured.Unstructured](c.caches.provisioners, "", name); !ok || !c.Synced() {
						return fmt.Errorf("waiting for %q", c.Waiting())
					}
					return nil
				}
			}
			planetest.Eventually(t, "the caches are filled", known("first"))
			g.shut(true)
			planetest.Eventually(t, "the kind is waited for", func() error {
				if waiting := c.Waiting(); len(waiting) != 1 || !strings.HasPrefix(waiting[0], group.String()+": ") || c.Synced() {
					return fmt.Errorf("waiting for %q", waiting)
				}
				return nil
			})
			if _, ok := get[*unstructured.Unstructured](c.caches.provisioners, "", "first"); !ok {
				t.Error("what was known is forgotten")
			}
			if _, err := client.Resource(api.ProvisionerGVR).Create(t.Context(), bare("second"), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			g.shut(false)
			planetest.Eventually(t, "the cache follows again", known("second"))
			if got, want := g.heard(), group.String()+" is lost, "+group.String()+" is back"; got != want {
				t.Errorf("told %q, want %q", got, want)
			}
		})
	}
}

// A cache that cannot be refreshed for another reason is reported once this has lasted for a while, and its end
// once the cache has been refreshed. What is known counts meanwhile: an agent that starts to lead goes on with it.
func TestStaleCacheIsReported(t *testing.T) {
	group := api.ProvisionerGVR.GroupResource()
	refusals := map[string]error{"timeout": apierrors.NewTimeoutError("etcd is slow", 1), "credentials": apierrors.NewUnauthorized("")}
	for name, refusal := range refusals {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := &gate{refusal: refusal}
				c, client := g.cluster(t)
				knows := func(what, name string, waiting int, told string) {
					t.Helper()
					_, ok := get[*unstructured.Unstructured](c.caches.provisioners, "", name)
					if !ok || !c.Synced() || len(c.Waiting()) != waiting || g.heard() != told {
						t.Errorf("%s: knows %s %t, synced %t, waiting for %q, told %q, want %q", what, name, ok, c.Synced(), c.Waiting(), g.heard(), told)
					}
				}
				time.Sleep(time.Second)
				knows("at first", "first", 0, "")
				g.shut(true)
				time.Sleep(access.StaleAfter / 2)
				g.shut(false)
				time.Sleep(2 * access.StaleAfter)
				knows("after a short failure", "first", 0, "")
				if _, err := client.Resource(api.ProvisionerGVR).Create(t.Context(), bare("second"), metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
				g.shut(true)
				time.Sleep(time.Hour)
				knows("while it fails", "first", 1, group.String()+" is lost")
				if waiting := strings.Join(c.Waiting(), ""); !strings.HasPrefix(waiting, group.String()+": ") || !strings.Contains(waiting, refusal.Error()) {
					t.Errorf("waiting for %q", waiting)
				}
				g.shut(false)
				time.Sleep(2 * access.StaleAfter)
				knows("after it", "second", 0, group.String()+" is lost, "+group.String()+" is back")
			})
		})
	}
}

// So is a cache that has never been filled.
func TestCacheThatDoesNotFillIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{refusal: apierrors.NewTimeoutError("etcd is slow", 1), closed: true}
		c, _ := g.cluster(t)
		time.Sleep(access.StaleAfter / 2)
		if len(c.Waiting()) != 1 || g.heard() != "" {
			t.Errorf("waiting for %q, told %q", c.Waiting(), g.heard())
		}
		time.Sleep(access.StaleAfter)
		lost := api.ProvisionerGVR.GroupResource().String() + " is lost"
		if len(c.Waiting()) != 1 || g.heard() != lost {
			t.Errorf("waiting for %q, told %q, want %q", c.Waiting(), g.heard(), lost)
		}
		g.shut(false)
		time.Sleep(access.StaleAfter)
		if want := lost + ", " + strings.Replace(lost, "lost", "back", 1); !c.Synced() || len(c.Waiting()) > 0 || g.heard() != want {
			t.Errorf("waiting for %q, told %q, want %q", c.Waiting(), g.heard(), want)
		}
	})
}

// A cluster without Karpenter may lack its kinds for ever, or get them later.
func TestKindsThatAClusterMayLackAreAskedForRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{resource: kinds.NodePools.Resource, refusal: apierrors.NewNotFound(kinds.NodePools, ""), closed: true}
		c, _ := g.cluster(t)
		time.Sleep(time.Hour)
		most := len(kinds.Versions) * (int(time.Hour/missingPoll) + 10)
		if got := g.refusals(); got > most || !c.Synced() {
			t.Errorf("asked %d times in an hour, want at most %d; synced %t", got, most, c.Synced())
		}
		g.shut(false)
		time.Sleep(missingPoll + time.Second)
		if !c.caches.pools.nodePools.handler.HasSynced() {
			t.Error("the kind is there, but has not been read")
		}
	})
}

func bare(name string) *unstructured.Unstructured {
	p := &unstructured.Unstructured{}
	p.SetAPIVersion(api.ProvisionerGVR.GroupVersion().String())
	p.SetKind("Provisioner")
	p.SetName(name)
	return p
}

// gate refuses to read a kind while it is shut.
type gate struct {
	resource string // Provisioners if empty
	refusal  error

	mu      sync.Mutex
	closed  bool
	refused int // requests to list
	watches []*watch.FakeWatcher
	told    []string
}

// cluster has a Provisioner called first.
func (g *gate) cluster(t *testing.T) (*Cluster, *fake.FakeDynamicClient) {
	t.Helper()
	plain, resource := kubefake.NewClientset(), cmp.Or(g.resource, api.ProvisionerGVR.Resource)
	listKinds := map[schema.GroupVersionResource]string{}
	unread, err := newCaches(plain, nil, Options{NodePools: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range unread.all {
		for _, version := range append(kinds.Versions, m.resource.Version) {
			listKinds[m.resource.GroupResource().WithVersion(version)] = m.resource.Resource + "List"
		}
	}
	listKinds[api.ProvisionerGVR] = "ProvisionerList"
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), listKinds, bare("first"))
	client.PrependReactor("list", resource, func(clienttesting.Action) (bool, runtime.Object, error) {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.closed {
			g.refused++
		}
		return g.closed, nil, g.refusal
	})
	client.PrependWatchReactor(resource, func(clienttesting.Action) (bool, watch.Interface, error) {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.closed {
			return true, nil, g.refusal
		}
		w := watch.NewFake()
		g.watches = append(g.watches, w)
		return true, w, nil
	})
	caches, err := newCaches(plain, client, Options{Access: g.tell, NodePools: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := caches.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &Cluster{caches: caches}, client
}

// shut shuts or opens the gate. The watches end with both.
func (g *gate) shut(closed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = closed
	for _, w := range g.watches {
		w.Stop()
	}
	g.watches = nil
}

// refusals returns how often the kind could not be listed.
func (g *gate) refusals() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.refused
}

func (g *gate) tell(resource string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil {
		g.told = append(g.told, resource+" is lost")
		return
	}
	g.told = append(g.told, resource+" is back")
}

func (g *gate) heard() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return strings.Join(g.told, ", ")
}
