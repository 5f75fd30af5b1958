package sim

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/election"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/moves"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/notices"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/replicas"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/stock"
)

// Options shape a World. The zero value of each duration means its default.
type Options struct {
	// Types is what the cloud sells; nil means stock.Catalogue().
	Types []offer.InstanceType
	// Lag is how far the clients' caches are behind the truth: 5 ms.
	Lag time.Duration
	// ReactionTime is how long controllers and the scheduler take to notice a change: 20 ms.
	ReactionTime time.Duration
	// ControllerPods is how many pods a workload makes each time; 0 means all.
	ControllerPods int
	// SchedulerPods is how many new pods the scheduler looks at each time; 0 means all.
	SchedulerPods int
	// SchedulerTime is how old a pod is at least when the scheduler looks at it for the first
	// time: 0.
	SchedulerTime time.Duration
	// Scores: the scheduler prefers nodes as kube-scheduler does by default; else each pod
	// gets the first node, by name, that has room.
	Scores bool
	// BindingFails says whether the scheduler fails to bind pods now; nil means never.
	BindingFails func() bool
	// BootTime is from the launch of a machine to its kubelet being ready: 40 s.
	BootTime time.Duration
	// LaunchTime is how long the launch call takes: 1 s.
	LaunchTime time.Duration
	// StopTime is how long a pod takes to stop: 2 s.
	StopTime time.Duration
	// ShutdownTime is how long a terminated machine goes on before it is gone: 0.
	// Its kubelet runs until then, and registers again where its Node object has gone.
	ShutdownTime time.Duration
	// Skew is how far the clocks of the API server and the cloud are ahead of the
	// agents': 0.
	Skew time.Duration
}

func (o Options) withDefaults() Options {
	fill := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	fill(&o.Lag, 5*time.Millisecond)
	fill(&o.ReactionTime, 20*time.Millisecond)
	fill(&o.BootTime, 40*time.Second)
	fill(&o.LaunchTime, time.Second)
	fill(&o.StopTime, 2*time.Second)
	if o.Types == nil {
		o.Types = stock.Catalogue()
	}
	return o
}

// World is a cluster and a cloud. It is safe for concurrent use.
type World struct {
	Users
	Faults
	Records
}

// Users are the people and programs that use the cluster: they change what is in it,
// and start agents.
type Users struct{ *world }

// Faults are what happens to machines and their kubelets, in the cloud and by mishap.
type Faults struct{ *world }

// Records are what can be seen of the cluster and the cloud.
type Records struct{ *world }

// world is the state behind all of them.
type world struct {
	options Options

	mu              sync.Mutex
	serial          int
	revisions       int // of pods
	nodes           map[string]*corev1.Node
	pods            map[types.UID]*corev1.Pod
	workloads       map[string]*Workload
	scales          map[string]replicas.Scale // by workload
	daemonSets      map[string]*corev1.PodTemplateSpec
	budgets         []Budget
	provisioners    map[string]*api.Provisioner
	templates       map[string]*api.AWSNodeTemplate
	readings        map[string]finding.List // of Provisioners
	events          []Event
	nodeClaims      map[string]cluster.NodeClaim
	machines        map[string]*machine
	past            []*machine                  // that are not listed any more
	deliveries      map[string][]offer.Instance // by launch id
	stock           *stock.Stock
	neverBoots      func(offer.Instance) bool
	bootsAs         func(offer.Instance) string
	named           func(offer.Instance) string
	pluginsAfter    func(offer.Instance) time.Duration
	audit           audit
	moves           *moves.Record
	launches        []offer.Order
	sweeps          int
	launchTemplates map[string]bool // by Provisioner
	forgotten       map[string]int  // by Provisioner
	clients         []*client
	queue           notices.Queue
	shortfalls      map[string]amount.List // by instance type: what its kubelets lack
	election        election.Election
	claims          election.Claims

	interned             *cluster.Templates
	asked                map[types.UID]*cluster.Template
	published            published
	publishing, reacting bool
}

// published is what the clients' caches hold.
type published struct {
	snapshot     *cluster.Snapshot
	provisioners []*api.Provisioner
	templates    []*api.AWSNodeTemplate
	readings     []cluster.Reading
}

// Event is an event that an agent has reported.
type Event struct {
	cluster.ObjectRef
	Type    string
	Reason  string
	Message string
	At      time.Time
}

// New returns an empty World.
func New(options Options) *World {
	options = options.withDefaults()
	w := &world{
		options:         options,
		nodes:           map[string]*corev1.Node{},
		pods:            map[types.UID]*corev1.Pod{},
		workloads:       map[string]*Workload{},
		scales:          map[string]replicas.Scale{},
		daemonSets:      map[string]*corev1.PodTemplateSpec{},
		provisioners:    map[string]*api.Provisioner{},
		templates:       map[string]*api.AWSNodeTemplate{},
		readings:        map[string]finding.List{},
		machines:        map[string]*machine{},
		nodeClaims:      map[string]cluster.NodeClaim{},
		deliveries:      map[string][]offer.Instance{},
		forgotten:       map[string]int{},
		launchTemplates: map[string]bool{},
		stock:           stock.New(options.Types),
		shortfalls:      map[string]amount.List{},
		interned:        cluster.NewTemplates(),
		asked:           map[types.UID]*cluster.Template{},
		audit:           audit{peak: map[string]amount.List{}},
		moves:           moves.New(),
	}
	w.published = w.state()
	return &World{Users{w}, Faults{w}, Records{w}}
}

// next returns a number that was not used before.
func (w *world) next() int {
	w.serial++
	return w.serial
}

func (w *world) uid() types.UID { return types.UID(fmt.Sprintf("uid-%06d", w.next())) }

// now is the time by the clocks of the API server and the cloud, in whole seconds as objects hold it.
func (w *world) now() metav1.Time { return metav1.Unix(time.Now().Add(w.options.Skew).Unix(), 0) }

// changed makes the change visible after the lag and wakes the controllers. The
// lock is held.
func (w *world) changed() {
	if !w.publishing {
		w.publishing = true
		time.AfterFunc(w.options.Lag, w.publish)
	}
	w.wake()
}

func (w *world) wake() {
	if !w.reacting {
		w.reacting = true
		time.AfterFunc(w.options.ReactionTime, w.react)
	}
}

func (w *world) publish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.publishing = false
	w.published = w.state()
	for _, c := range w.clients {
		c.signal()
	}
}

// react runs the controllers once. Each change wakes them again, so that they
// come to rest when there is nothing left to do.
func (w *world) react() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reacting = false
	w.controllers().reconcileWorkloads()
	w.controllers().reconcileDaemonSets()
	w.kubelets().registerAgain()
	w.schedule()
}

// convert converts a pod; false for one that has finished. What a pod asks of scheduling
// stays as it was when the pod was made: finding that out again and again took a third of
// the time of a timeline.
func (w *world) convert(p *corev1.Pod) (cluster.Pod, bool) {
	if asks := w.asked[p.UID]; asks != nil && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed {
		return w.interned.Known(p, asks), true
	}
	out, unfinished := w.interned.Pod(p)
	if unfinished {
		w.asked[p.UID] = out.Template
	}
	return out, unfinished
}

// state converts the truth. The lock is held.
func (w *world) state() published {
	maps.DeleteFunc(w.asked, func(uid types.UID, _ *cluster.Template) bool { return w.pods[uid] == nil })
	s := &cluster.Snapshot{Namespaces: []cluster.Namespace{{Name: metav1.NamespaceDefault}}}
	for _, p := range w.pods {
		if pod, ok := w.convert(p); ok {
			s.Pods = append(s.Pods, pod)
		}
	}
	for _, n := range w.nodes {
		s.Nodes = append(s.Nodes, cluster.FromNode(n.DeepCopy(), nil))
	}
	var sets []*appsv1.DaemonSet
	for name, template := range w.daemonSets {
		sets = append(sets, replicas.DaemonSet(name, template))
	}
	s.DaemonSets = cluster.FromDaemonSets(sets, s.Pods)
	for _, b := range w.budgets {
		s.PodDisruptionBudgets = append(s.PodDisruptionBudgets, cluster.PodDisruptionBudget{
			Namespace: metav1.NamespaceDefault, Name: b.Name,
			Selector:           &metav1.LabelSelector{MatchLabels: b.Selector},
			DisruptionsAllowed: int32(b.Allows(w.pods)),
		})
	}
	s.Deployments = w.controllers().deployments()
	s.Sort()
	out := published{snapshot: s}
	for _, name := range slices.Sorted(maps.Keys(w.provisioners)) {
		if found := w.readings[name]; len(found) > 0 {
			ref := cluster.ObjectRef{Kind: api.ProvisionerKind, Name: name, UID: string(w.provisioners[name].UID)}
			p := w.provisioners[name].DeepCopy()
			out.readings = append(out.readings, cluster.Reading{Object: ref, Findings: found, Deleted: p.DeletionTimestamp, Finalizers: p.Finalizers})
			if len(found.Errors()) > 0 {
				continue
			}
		}
		out.provisioners = append(out.provisioners, w.provisioners[name].DeepCopy())
	}
	for _, name := range slices.Sorted(maps.Keys(w.templates)) {
		out.templates = append(out.templates, w.templates[name].DeepCopy())
	}
	return out
}
