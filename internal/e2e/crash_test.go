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

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/stage"
)

// TestCrash kills the agent with SIGKILL at random moments while workloads come
// and go and machines fail, starts it again each time, and checks at the end that
// the cluster has come right and that nothing is left when all is deleted.
//
// CRASH_KILLS says how often (3), CRASH_SEED (1) draws the moments and what happens;
// `make crash` is the long run.
func TestCrash(t *testing.T) {
	kills, seed := number(t, "CRASH_KILLS", 3), number(t, "CRASH_SEED", 1)
	t.Logf("%d kills, seed %d", kills, seed)
	s := newScene(t)
	s.agent.Stop()
	c := &crash{scene: s, random: rand.New(rand.NewPCG(uint64(seed), 0)), unthrottle: func() {}, log: s.agent.LogFile}
	c.prepare()
	watching, stop := context.WithCancel(t.Context())
	var watchers sync.WaitGroup
	sizes := s.vcpus()
	watchers.Go(func() { c.watch(watching, sizes) })
	for kill := range kills {
		c.start()
		if kill == 0 {
			c.untilLaunched() // throttled from the first moment on it would take minutes
		}
		c.disturb(time.Second + time.Duration(c.random.IntN(6000))*time.Millisecond)
		c.agent.Kill()
		c.disturb(time.Duration(c.random.IntN(1500)) * time.Millisecond)
		if kill%20 == 19 {
			t.Logf("%d kills, %d instances launched, %d of them run", kill+1, len(c.Sandbox.Cloud.Instances()), c.live(""))
		}
	}
	c.settle()
	stop()
	watchers.Wait()
	c.dismantle()
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
	*scene
	random *rand.Rand
	// unthrottle ends the throttling that is in force, of which there is one at most:
	// several together would let hardly any call through, and so leave the agent
	// nothing to be killed over.
	unthrottle func()
	log        string // of all agents, one after the other

	mu     sync.Mutex
	broken []string // what must not have happened
}

const (
	crashLimit   = 48 // cores of provisioner bounded
	guardedLeast = 2  // pods of guarded that the budget keeps running
)

// crashApps are the workloads by provisioner, with the number of pods at the end.
var crashApps = map[string]struct {
	provisioner string
	final       int
}{
	"burst":   {"bounded", 10},
	"steady":  {"loose", 6},
	"guarded": {"guarded", 4},
}

func (c *crash) prepare() {
	c.apply(provisioner("bounded", fmt.Sprintf("limits: {resources: {cpu: %q}}\nlabels: {purpose: bounded}", strconv.Itoa(crashLimit))))
	c.apply(provisioner("loose", "ttlSecondsUntilExpired: 90\nttlSecondsAfterEmpty: 5"))
	c.apply(provisioner("guarded", "ttlSecondsUntilExpired: 60\nttlSecondsAfterEmpty: 5"))
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

func (c *crash) start() {
	c.t.Helper()
	// Nobody waits for the lease of a process that was killed.
	agent, err := c.StartAgent(c.t.Context(), stage.AgentOptions{RoleARN: c.role, Args: []string{"--leader-elect=false", "--startup-timeout=2m"}})
	if err != nil {
		c.t.Fatal(err)
	}
	c.agent = agent
	c.t.Cleanup(agent.Stop)
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
	switch c.random.IntN(8) {
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
	}
	return nil
}

func (c *crash) scale(ctx context.Context, app string, replicas int) error {
	_, err := c.Kube.AppsV1().Deployments(metav1.NamespaceDefault).UpdateScale(ctx, app, &autoscalingv1.Scale{
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
	nodes = slices.DeleteFunc(nodes, func(n corev1.Node) bool { return !slices.Contains(n.Finalizers, api.Finalizer) })
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

// watch looks for what must not happen at any time: a limit exceeded, or fewer
// pods than a budget says.
func (c *crash) watch(ctx context.Context, sizes map[string]int64) {
	served := false
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
		if pods, err := c.pods(ctx, "app=guarded"); err == nil {
			running := 0
			for _, p := range pods {
				if p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil {
					running++
				}
			}
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
		c.t.Logf("%s\n%s\n%s\n%s", c.broken[0], c.inventory(), c.happened(), tail(c.log, 20_000))
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
		fmt.Fprintf(&b, "instance %s of %s: %s\n", i.ID, i.Tags[api.LabelProvisioner], i.State)
	}
	return b.String()
}

// settle ends all trouble and waits until all pods run and nodes and instances
// agree.
func (c *crash) settle() {
	c.t.Helper()
	c.unthrottle()
	c.Sandbox.Cloud.SetCapacity("*", "*", "spot", -1)
	c.start()
	for app, a := range crashApps {
		if err := c.scale(c.t.Context(), app, a.final); err != nil {
			c.t.Fatal(err)
		}
		c.untilRunning(app, a.final)
	}
	c.until("each node has a running instance and each instance a node", func(ctx context.Context) (bool, string, error) {
		nodes, err := c.nodes(ctx, "")
		instances := map[string]bool{}
		for _, i := range c.Live() {
			instances[i.ID] = true
		}
		for _, n := range nodes {
			id := n.Spec.ProviderID[strings.LastIndex(n.Spec.ProviderID, "/")+1:]
			if !instances[id] || n.DeletionTimestamp != nil {
				return false, fmt.Sprintf("node %s of instance %s, deletion %v", n.Name, id, n.DeletionTimestamp), err
			}
			delete(instances, id)
		}
		return len(instances) == 0, fmt.Sprintf("instances without a node: %v", instances), err
	})
}

// dismantle deletes everything and waits until nothing is left.
func (c *crash) dismantle() {
	c.t.Helper()
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
