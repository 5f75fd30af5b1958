package e2e

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// TestLoad takes a cluster from nothing to many nodes, replaces all of them, and
// takes it back to nothing. LOAD_NODES and LOAD_PODS say how many (5 and 20); with a
// hundred nodes or more it does so with a tenth of them first, to show how the
// figures grow. `make load` prints what the agent took for it.
func TestLoad(t *testing.T) {
	nodes, pods := number(t, "LOAD_NODES", 5), number(t, "LOAD_PODS", 20)
	s := newScene(t)
	sizes := [][2]int{{nodes, pods}}
	if nodes >= 100 {
		sizes = [][2]int{{nodes / 10, pods / 10}, {nodes, pods}}
	}
	var all []cost
	for _, size := range sizes {
		s.agent.Stop() // a fresh one has a peak of memory of its own
		s.startAgent("--profiling")
		l := &load{scene: s, nodes: size[0], pods: size[1]}
		s.longer = time.Duration(l.nodes+l.pods/5) * time.Second
		l.watch()
		all = append(all, l.fromZero(), l.expiry(), l.toZero())
		l.stop()
	}
	s.deleteProvisioner("load")
	slices.SortStableFunc(all, func(a, b cost) int { return cmp.Compare(slices.Index(phases, a.phase), slices.Index(phases, b.phase)) })
	t.Logf("what the agent took:\n%s", table(all))
	check(t, all)
}

var phases = []string{"from zero", "expiry of all", "to zero"}

// load is one size of the cluster.
type load struct {
	*scene
	nodes, pods int

	nodeList listers.NodeLister
	podList  listers.PodLister
	stop     context.CancelFunc
}

// watch keeps caches of what the test waits for: listing thousands of pods several
// times a second would be the larger load.
func (l *load) watch() {
	l.t.Helper()
	cfg := l.Sandbox.RESTConfig()
	cfg.ContentType = runtime.ContentTypeProtobuf
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		l.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(l.t.Context())
	l.stop = cancel
	f := informers.NewSharedInformerFactory(client, 0)
	l.nodeList, l.podList = f.Core().V1().Nodes().Lister(), f.Core().V1().Pods().Lister()
	f.StartWithContext(ctx)
	for kind, synced := range f.WaitForCacheSync(ctx.Done()) {
		if !synced {
			l.t.Fatalf("the cache of %s is not filled", kind)
		}
	}
}

func (l *load) fromZero() cost {
	share := 1800 / ((l.pods + l.nodes - 1) / l.nodes) // of two cores, in thousandths
	l.configure("")
	m := l.begin()
	l.apply(deployment("load", "load", l.pods, fmt.Sprintf("%dm", share), "64Mi"))
	l.until("all pods run", func(context.Context) (bool, string, error) {
		running, err := l.running()
		return running == l.pods, fmt.Sprintf("%d of %d", running, l.pods), err
	})
	l.until("all nodes are up", func(context.Context) (bool, string, error) {
		up, all := 0, l.ours()
		for _, n := range all {
			if n.Labels[api.LabelInitialized] == "true" {
				up++
			}
		}
		return up == len(all), fmt.Sprintf("%d of %d", up, len(all)), nil
	})
	return l.end(m, phases[0])
}

// expiry lets all nodes expire that are there, but not those that replace them: the age
// at which nodes expire grows as time goes by.
func (l *load) expiry() cost {
	old := map[string]bool{}
	var youngest time.Time
	for _, n := range l.ours() {
		old[n.Name] = true
		if n.CreationTimestamp.After(youngest) {
			youngest = n.CreationTimestamp.Time
		}
	}
	const every = 10 * time.Second // the age is set anew
	l.until("the youngest is older than that", func(context.Context) (bool, string, error) {
		age := time.Since(youngest)
		return age > every+time.Second, age.String(), nil
	})
	m := l.begin()
	var set time.Time
	l.until("all nodes are replaced", func(context.Context) (bool, string, error) {
		if time.Since(set) > every {
			set = time.Now()
			l.configure(fmt.Sprintf("ttlSecondsUntilExpired: %d\ndisruption: {budgets: [{nodes: 40%%}]}",
				int(set.Sub(youngest).Seconds())))
		}
		left := 0
		for _, n := range l.ours() {
			if old[n.Name] {
				left++
			}
		}
		return left == 0, fmt.Sprintf("%d of %d are left", left, len(old)), nil
	})
	return l.end(m, phases[1])
}

func (l *load) toZero() cost {
	m := l.begin()
	l.configure("ttlSecondsAfterEmpty: 1")
	l.delete("load")
	l.until("no node is left", func(context.Context) (bool, string, error) {
		nodes, live := len(l.ours()), l.live("load")
		return nodes+live == 0, fmt.Sprintf("%d nodes, %d instances", nodes, live), nil
	})
	return l.end(m, phases[2])
}

// configure applies the provisioner, which buys machines of two cores only.
func (l *load) configure(spec string) {
	l.apply(provisioner("load", spec+`
requirements:
  - {key: node.kubernetes.io/instance-type, operator: In, values: [m5.large, m6i.large, m5a.large]}
`))
}

// ours are the nodes of the load.
func (l *load) ours() []*corev1.Node {
	nodes, err := l.nodeList.List(labels.SelectorFromSet(labels.Set{api.LabelProvisioner: "load"}))
	if err != nil {
		l.t.Fatal(err)
	}
	return nodes
}

func (l *load) running() (int, error) {
	pods, err := l.podList.List(labels.SelectorFromSet(labels.Set{"app": "load"}))
	n := 0
	for _, p := range pods {
		if p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil {
			n++
		}
	}
	return n, err
}
