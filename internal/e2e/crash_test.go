package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud"
)

// TestCrash runs two agents of which one leads, and kills them with SIGKILL at random
// moments while workloads come and go, machines fail, instances lose tags and nodes
// what they are known by. One leader in ten is stopped instead (SIGSTOP) until the
// other has led for a while, and goes on then. At the end the cluster has come right,
// and nothing is left when all is deleted. At no time a limit or a budget is exceeded,
// a machine is bought twice for the same pods, or something is changed by a process
// that does not hold the lease.
//
// CRASH_KILLS says how often (3), CRASH_SEED (1) draws the moments and what happens;
// `make crash` is the long run.
func TestCrash(t *testing.T) {
	kills, seed := number(t, "CRASH_KILLS", 3), number(t, "CRASH_SEED", 1)
	t.Logf("%d kills, seed %d", kills, seed)
	s := newScene(t)
	s.agent.Stop()
	c := &crash{
		agents: &agents{scene: s, names: map[string]string{}},
		random: rand.New(rand.NewPCG(uint64(seed), 0)), unthrottle: func() {}, told: map[string]bool{},
	}
	c.prepare()
	watching, stop := context.WithCancel(t.Context())
	var watchers sync.WaitGroup
	sizes := s.vcpus()
	watchers.Go(func() { c.watch(watching, sizes) })
	stopAt := 0
	for kill := range kills {
		if kill%stopEvery == 0 {
			stopAt = kill + c.random.IntN(min(stopEvery, kills-kill))
		}
		c.round(kill, kill == stopAt)
		if kill%20 == 19 {
			t.Logf("%d kills, %d instances launched, %d of them run", kill+1, len(c.Sandbox.Cloud.Instances()), c.live(""))
		}
	}
	c.settle()
	stop()
	watchers.Wait()
	c.dismantle()
}

// round ends one process: it kills one at a random moment, or stops the leader.
func (c *crash) round(kill int, stops bool) {
	c.t.Helper()
	leader := c.awaitLeader(nil)
	if kill == 0 {
		c.untilLaunched() // throttled from the first moment on it would take minutes
	}
	if stops {
		c.until("the machines of once are gone", c.renewOnce)
		c.disturb(time.Duration(c.random.IntN(2500)) * time.Millisecond)
		c.stopTheLeader(func() { c.disturb(time.Duration(c.random.IntN(2000)) * time.Millisecond) })
		c.revive()
		c.untilRunning("once", onceAll)
		c.checkLease()
		return
	}
	if _, _, err := c.renewOnce(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	c.disturb(time.Second + time.Duration(c.random.IntN(5000))*time.Millisecond)
	if c.random.IntN(4) == 0 {
		leader = c.running[c.random.IntN(2)]
	}
	c.kill(leader)
	c.disturb(time.Duration(c.random.IntN(1500)) * time.Millisecond)
}

// renewOnce scales the workload of provisioner once up if there is nothing of it, and
// down if all of it runs. It reports whether it has scaled it up.
func (c *crash) renewOnce(ctx context.Context) (bool, string, error) {
	pods, err := c.pods(ctx, "app=once")
	if err != nil {
		return false, "", err
	}
	nodes, err := c.nodes(ctx, "once")
	live := c.machines("once")
	switch running := runningOf(pods); {
	case err != nil:
	case len(pods)+len(nodes)+len(live) == 0:
		c.mu.Lock()
		c.onceBefore = c.launched("once")
		c.mu.Unlock()
		return true, "", c.scale(ctx, "once", onceAll)
	case running == onceAll:
		err = c.scale(ctx, "once", 0)
	}
	return false, fmt.Sprintf("%d pods, %d nodes, %d machines", len(pods), len(nodes), len(live)), err
}

// launched counts the instances that a provisioner has ever had.
func (c *crash) launched(provisioner string) int {
	n := 0
	for _, i := range c.Sandbox.Cloud.Instances() {
		if i.Tags[api.LabelProvisioner] == provisioner {
			n++
		}
	}
	return n
}

func runningOf(pods []corev1.Pod) int {
	n := 0
	for _, p := range pods {
		if p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil {
			n++
		}
	}
	return n
}

// checkLease looks for what was done without the lease. A single request of a process
// that was stopped may have been on its way.
func (c *crash) checkLease() {
	c.t.Helper()
	c.learnTokens()
	events, err := c.Sandbox.Audit()
	if err != nil {
		c.t.Fatal(err)
	}
	terms, all := deeds(events, c.Sandbox.Cloud.Calls(), c.names)
	for _, what := range []string{"create /api/v1/nodes", "CreateFleet"} {
		if !slices.ContainsFunc(all, func(d deed) bool { return strings.HasPrefix(d.what, what) }) {
			c.t.Fatalf("nobody knows who did %q: %d renewals of the lease and %d changes are known", what, len(terms), len(all))
		}
	}
	of := map[string][]deed{}
	for _, d := range usurped(terms, all) {
		of[d.who] = append(of[d.who], d)
	}
	for who, deeds := range of {
		if what := fmt.Sprint(deeds); !c.told[what] {
			c.told[what] = true
			if len(deeds) == 1 && c.byName(who).stopped {
				c.t.Logf("a request was on its way: %s", what)
			} else {
				c.breach("changed something without the lease: %s", what)
			}
		}
	}
}

// untilLaunched waits until there was anything to be killed over.
func (c *crash) untilLaunched() {
	c.until("something is launched", func(context.Context) (bool, string, error) {
		return len(c.Sandbox.Cloud.Instances()) > 0, "no instance", nil
	})
}

func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// crash is one run.
type crash struct {
	*agents
	random *rand.Rand
	// unthrottle ends the throttling that is in force, of which there is one at most:
	// several together would let hardly any call through, and so leave the agent
	// nothing to be killed over.
	unthrottle func()
	told       map[string]bool // what was done without the lease

	mu         sync.Mutex
	broken     []string // what must not have happened
	onceBefore int      // machines that once had before its pods were made
}

const (
	crashLimit   = 48 // cores of provisioner bounded
	guardedLeast = 2  // pods of guarded that the budget keeps running
	onceAll      = 4  // pods of once,
	onceMachines = 2  // for which so many machines are enough: two fit on each
	stopEvery    = 10 // rounds, in one of which the leader is stopped rather than killed
)

// crashApps are the workloads by provisioner, with the number of pods at the end.
var crashApps = map[string]struct {
	provisioner string
	final       int
}{
	"burst":   {"bounded", 10},
	"steady":  {"loose", 6},
	"guarded": {"guarded", 4},
	"once":    {"once", 0},
}

func (c *crash) prepare() {
	c.apply(provisioner("bounded", fmt.Sprintf("limits: {resources: {cpu: %q}}\nlabels: {purpose: bounded}", strconv.Itoa(crashLimit))))
	c.apply(provisioner("loose", "ttlSecondsUntilExpired: 90\nttlSecondsAfterEmpty: 5"))
	c.apply(provisioner("guarded", "ttlSecondsUntilExpired: 60\nttlSecondsAfterEmpty: 5"))
	c.apply(provisioner("once", `ttlSecondsAfterEmpty: 10
requirements:
  - {key: node.kubernetes.io/instance-type, operator: In, values: [m5.large]}
  - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
`))
	for app, a := range crashApps {
		c.apply(deployment(app, a.provisioner, a.final, "700m", "512Mi"))
	}
	c.apply(fmt.Sprintf(`
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: guarded}
spec: {minAvailable: %d, selector: {matchLabels: {app: guarded}}}
`, guardedLeast))
}

// disturb lets things happen for a while.
func (c *crash) disturb(d time.Duration) {
	c.t.Helper()
	for end := time.Now().Add(d); ; {
		if err := c.step(c.t.Context()); err != nil {
			c.t.Fatal(err)
		}
		pause := time.NewTimer(min(time.Duration(100+c.random.IntN(900))*time.Millisecond, max(time.Until(end), 0)))
		select {
		case <-c.t.Context().Done():
			return
		case <-pause.C:
		}
		if !time.Now().Before(end) {
			return
		}
	}
}

// step lets one thing happen.
func (c *crash) step(ctx context.Context) error {
	switch c.random.IntN(10) {
	case 0, 1:
		return c.scale(ctx, "burst", c.random.IntN(25))
	case 2:
		return c.scale(ctx, "steady", c.random.IntN(15))
	case 3:
		return c.deleteNode(ctx)
	case 4:
		if live := c.machines("bounded", "loose"); len(live) > 0 {
			return c.Sandbox.Cloud.TerminateInstance(live[c.random.IntN(len(live))])
		}
	case 5:
		c.Sandbox.Cloud.SetCapacity("*", []string{"eu-west-1a", "eu-west-1b"}[c.random.IntN(2)], "spot", c.random.IntN(3)-1)
	case 6:
		c.unthrottle()
		c.unthrottle = c.Sandbox.Cloud.Inject(cloud.Fault{Service: "ec2", Code: "RequestLimitExceeded", Rate: 0.5, Times: c.random.IntN(30)})
	case 7:
		return c.deletePod(ctx)
	case 8:
		return c.untag(ctx)
	case 9:
		return c.unmark(ctx)
	}
	return nil
}

// marked are the nodes that have all by which they are known as a Provisioner's, and
// whose instances have their tags. One that is about to lose something is taken from
// these: something has to tell whose it is. The machines of once are left alone, or it
// would need more of them.
func (c *crash) marked(ctx context.Context) ([]corev1.Node, error) {
	nodes, err := c.nodes(ctx, "")
	tagged := map[string]bool{}
	for _, i := range c.Live() {
		tagged[i.ID] = c.tagged(i)
	}
	return slices.DeleteFunc(nodes, func(n corev1.Node) bool {
		return n.Labels[api.LabelProvisioner] == "once" || n.DeletionTimestamp != nil || !hasMarks(n) || !tagged[instanceOf(n)]
	}), err
}

func hasMarks(n corev1.Node) bool {
	return n.Labels[api.LabelProvisioner] != "" && n.Annotations[api.AnnotationLaunchID] != "" && slices.Contains(n.Finalizers, api.Finalizer)
}

// tagged reports whether an instance has the tags that it is listed by.
func (c *crash) tagged(i cloud.Instance) bool {
	return i.Tags[api.TagManagedBy] != "" && i.Tags[api.TagClusterPrefix+c.Sandbox.ClusterName] != "" && i.Tags[api.TagLaunchID] != ""
}

func instanceOf(n corev1.Node) string {
	return n.Spec.ProviderID[strings.LastIndex(n.Spec.ProviderID, "/")+1:]
}

// untag takes tags of the cluster from an instance, but not all.
func (c *crash) untag(ctx context.Context) error {
	nodes, err := c.marked(ctx)
	if err != nil || len(nodes) == 0 {
		return err
	}
	id := instanceOf(nodes[c.random.IntN(len(nodes))])
	if c.random.IntN(2) == 0 {
		return c.Sandbox.Cloud.Untag(id, api.TagManagedBy)
	}
	return c.Sandbox.Cloud.Untag(id, api.TagClusterPrefix+c.Sandbox.ClusterName, api.TagLaunchID)
}

// unmark takes from a node something by which it is known.
func (c *crash) unmark(ctx context.Context) error {
	nodes, err := c.marked(ctx)
	if err != nil || len(nodes) == 0 {
		return err
	}
	n := nodes[c.random.IntN(len(nodes))]
	what := []string{
		`"labels":{"` + api.LabelProvisioner + `":null}`,
		`"annotations":{"` + api.AnnotationLaunchID + `":null}`,
		`"finalizers":null`,
	}[c.random.IntN(3)]
	// The version is named because a node that is just being deleted would go at once without its finalizer.
	patch := fmt.Sprintf(`{"metadata":{"resourceVersion":%q,%s}}`, n.ResourceVersion, what)
	_, err = c.Kube.CoreV1().Nodes().Patch(ctx, n.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

func (s *scene) scale(ctx context.Context, app string, replicas int) error {
	_, err := s.Kube.AppsV1().Deployments(metav1.NamespaceDefault).UpdateScale(ctx, app, &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Name: app, Namespace: metav1.NamespaceDefault},
		Spec:       autoscalingv1.ScaleSpec{Replicas: int32(replicas)},
	}, metav1.UpdateOptions{})
	return err
}

// deleteNode deletes one of the nodes that an agent has adopted. Another, which a
// kubelet registered while no agent ran, goes at once with the pods on it, and
// nobody is asked.
func (c *crash) deleteNode(ctx context.Context) error {
	nodes, err := c.nodes(ctx, "")
	nodes = slices.DeleteFunc(nodes, func(n corev1.Node) bool {
		return !slices.Contains(n.Finalizers, api.Finalizer) || n.Labels[api.LabelProvisioner] == "once"
	})
	if err != nil || len(nodes) == 0 {
		return err
	}
	err = c.Kube.CoreV1().Nodes().Delete(ctx, nodes[c.random.IntN(len(nodes))].Name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (c *crash) deletePod(ctx context.Context) error {
	pods, err := c.pods(ctx, "app in (burst, steady)")
	if err != nil || len(pods) == 0 {
		return err
	}
	err = c.Kube.CoreV1().Pods(metav1.NamespaceDefault).Delete(ctx, pods[c.random.IntN(len(pods))].Name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// machines lists the instances of some provisioners that run.
func (c *crash) machines(provisioners ...string) []string {
	var out []string
	for _, i := range c.Live() {
		for _, p := range provisioners {
			if i.Tags[api.LabelProvisioner] == p {
				out = append(out, i.ID)
			}
		}
	}
	return out
}

// watch looks for what must not happen at any time: a limit exceeded, a machine bought
// twice, or fewer pods than a budget says.
func (c *crash) watch(ctx context.Context, sizes map[string]int64) {
	served, most := false, onceMachines
	for ctx.Err() == nil {
		var cores int64
		for _, i := range c.Live() {
			if i.Tags[api.LabelProvisioner] == "bounded" {
				cores += sizes[i.Type]
			}
		}
		if cores > crashLimit {
			c.breach("%d cores are bought with provisioner bounded, its limit is %d", cores, crashLimit)
		}
		c.mu.Lock()
		once := c.launched("once") - c.onceBefore
		c.mu.Unlock()
		if once > most {
			most = once // tell each once
			c.breach("%d machines are bought for the pods of once, for which %d are enough", once, onceMachines)
		}
		if pods, err := c.pods(ctx, "app=guarded"); err == nil {
			running := runningOf(pods)
			served = served || running == crashApps["guarded"].final
			if served && running < guardedLeast {
				c.breach("%d pods of guarded run, its budget says %d", running, guardedLeast)
			}
		}
		timer := time.NewTimer(50 * time.Millisecond)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
	}
}

// breach notes what must not have happened, and shows what led to the first such thing.
func (c *crash) breach(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken = append(c.broken, fmt.Sprintf("%s: ", time.Now().Format(time.TimeOnly))+fmt.Sprintf(format, args...))
	if len(c.broken) == 1 {
		c.t.Logf("%s\n%s\n%s\n%s", c.broken[0], c.inventory(), c.happened(), c.logs())
	}
}

// inventory lists the pods, nodes and instances as they are.
func (c *crash) inventory() string {
	var b strings.Builder
	ctx := context.WithoutCancel(c.t.Context())
	pods, err := c.pods(ctx, "")
	if err != nil {
		return err.Error()
	}
	for _, p := range pods {
		fmt.Fprintf(&b, "pod %s on %s: %s, made %v, goes %v\n", p.Name, p.Spec.NodeName, p.Status.Phase, p.CreationTimestamp, p.DeletionTimestamp)
	}
	nodes, err := c.nodes(ctx, "")
	if err != nil {
		return err.Error()
	}
	for _, n := range nodes {
		fmt.Fprintf(&b, "node %s of %s: made %v, goes %v, finalizers %v, taints %v\n", n.Name, n.Spec.ProviderID, n.CreationTimestamp, n.DeletionTimestamp, n.Finalizers, n.Spec.Taints)
	}
	for _, i := range c.Sandbox.Cloud.Instances() {
		fmt.Fprintf(&b, "instance %s of %s: %s, launched %v, launch id %s, tagged %v\n",
			i.ID, i.Tags[api.LabelProvisioner], i.State, i.LaunchTime, i.Tags[api.TagLaunchID], c.tagged(i))
	}
	return b.String()
}

// settle ends all trouble and waits until all pods run and nodes and instances
// agree.
func (c *crash) settle() {
	c.t.Helper()
	c.unthrottle()
	c.Sandbox.Cloud.SetCapacity("*", "*", "spot", -1)
	c.awaitLeader(nil)
	for app, a := range crashApps {
		if err := c.scale(c.t.Context(), app, a.final); err != nil {
			c.t.Fatal(err)
		}
		c.untilRunning(app, a.final)
	}
	c.until("each node has a running instance and each instance a node, with all that they are known by", func(ctx context.Context) (bool, string, error) {
		nodes, err := c.nodes(ctx, "")
		instances := map[string]bool{}
		for _, i := range c.Live() {
			if !c.tagged(i) {
				return false, fmt.Sprintf("instance %s has the tags %v", i.ID, i.Tags), err
			}
			instances[i.ID] = true
		}
		for _, n := range nodes {
			id := instanceOf(n)
			if !instances[id] || n.DeletionTimestamp != nil || !hasMarks(n) {
				return false, fmt.Sprintf("node %s of instance %s: %+v", n.Name, id, n.ObjectMeta), err
			}
			delete(instances, id)
		}
		return len(instances) == 0, fmt.Sprintf("instances without a node: %v", instances), err
	})
}

// dismantle deletes everything and waits until nothing is left.
func (c *crash) dismantle() {
	c.t.Helper()
	c.checkLease()
	c.mu.Lock()
	for _, b := range c.broken {
		c.t.Error(b)
	}
	c.mu.Unlock()
	for app, a := range crashApps {
		c.delete(app)
		c.deleteProvisioner(a.provisioner)
	}
	c.untilNoNodes("")
	c.until("nothing of the provisioners is left", func(ctx context.Context) (bool, string, error) {
		left, err := c.Leftovers(ctx)
		var ours []string
		for _, l := range left {
			if strings.HasPrefix(l, "instance ") || strings.HasPrefix(l, "launch template ") || strings.HasPrefix(l, "node ") {
				ours = append(ours, l)
			}
		}
		return len(ours) == 0, strings.Join(ours, ", "), err
	})
}
