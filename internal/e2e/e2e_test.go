package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/sandboxtest"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/stage"
)

// patience bounds each wait. It is generous: a busy machine is no failure.
const patience = 2 * time.Minute

// scene is a sandbox in which `terraform apply` has run and an agent leads.
type scene struct {
	*stage.Stage
	t         *testing.T
	workspace *stage.Workspace
	agent     *stage.Agent
	role      string
	// longer bounds each wait instead of patience where much is to be done.
	longer time.Duration
}

func newScene(t *testing.T) *scene {
	t.Helper()
	return newSceneIn(t, "eu-west-1")
}

func newSceneIn(t *testing.T, region string) *scene {
	t.Helper()
	return sceneOn(t, newStage(t, region), region)
}

// sceneOn has a scene in a sandbox with nothing in it.
func sceneOn(t *testing.T, st *stage.Stage, region string) *scene {
	t.Helper()
	if err := st.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := &scene{Stage: st, t: t}
	var err error
	if s.workspace, err = st.Workspace("prepared", "testdata/prepared"); err != nil {
		t.Fatal(err)
	}
	s.terraform("init", "-no-color")
	s.terraform("apply", "-auto-approve", "-no-color", "-var", "region="+region)
	if s.role, err = s.workspace.Output(t.Context(), "agent_role_arn"); err != nil {
		t.Fatal(err)
	}
	s.startAgent()
	return s
}

// newStage starts a sandbox with nothing in it, until the test ends. Without a region
// it is where the sandbox is by itself. The test shares nothing with others, and much
// of its time is waiting, so that it runs beside them.
func newStage(t *testing.T, region string) *stage.Stage {
	t.Helper()
	t.Parallel()
	o := sandbox.Options{Region: region, BootDelay: 500 * time.Millisecond, AuditUser: agentUser}
	st := sandboxtest.Stage(t, o, func(box *sandbox.Sandbox) {
		checkRights(t, box)
		checkSecrets(t, box)
	})
	checkVersion(t, st)
	return st
}

// checkVersion fails the test if the control plane has another version than the one
// that `make e2e` is about to record.
func checkVersion(t *testing.T, st *stage.Stage) {
	t.Helper()
	want := os.Getenv("KUBERNETES_VERSION")
	if want == "" {
		return
	}
	got, err := st.Kube.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if got.GitVersion != "v"+want {
		t.Fatalf("the control plane is Kubernetes %s, want v%s (PACKHORSE_CONTROLPLANE=%s)", got.GitVersion, want, os.Getenv("PACKHORSE_CONTROLPLANE"))
	}
}

// in returns the scene as a subtest sees it.
func (s *scene) in(t *testing.T) *scene {
	sub := *s
	sub.t = t
	return &sub
}

func (s *scene) terraform(args ...string) string {
	s.t.Helper()
	var out bytes.Buffer
	if err := s.workspace.Run(s.t.Context(), &out, args...); err != nil {
		s.t.Fatalf("%v\n%s", err, out.String())
	}
	return out.String()
}

func (s *scene) startAgent(args ...string) {
	s.t.Helper()
	agent, err := s.StartAgent(s.t.Context(), stage.AgentOptions{RoleARN: s.role, Args: args})
	if err != nil {
		s.t.Fatal(err)
	}
	s.agent = agent
	s.t.Cleanup(func() {
		agent.Stop()
		if s.t.Failed() {
			s.t.Logf("the agent's log:\n%s", tail(agent.LogFile, 20_000))
		}
	})
	s.untilLeading(agent)
}

// untilLeading waits until the agent says that it leads. The lease may still name its
// predecessor, which has the same name.
func (s *scene) untilLeading(agent *stage.Agent) {
	s.t.Helper()
	s.until("the agent leads", func(ctx context.Context) (bool, string, error) {
		now, err := statusOf(ctx, agent)
		return err == nil && now.Leading, fmt.Sprintf("%v", err), nil
	})
}

func (s *scene) apply(manifest string) {
	s.t.Helper()
	if err := s.Apply(s.t.Context(), []byte(manifest)); err != nil {
		s.t.Fatal(err)
	}
}

// until waits for a condition; what it returns says how far it got.
func (s *scene) until(what string, check func(context.Context) (done bool, seen string, err error)) {
	s.t.Helper()
	var seen string
	err := wait.PollUntilContextTimeout(s.t.Context(), 100*time.Millisecond, max(patience, s.longer), true, func(ctx context.Context) (bool, error) {
		if err := s.Sandbox.Err(); err != nil {
			return false, err
		}
		done, now, err := check(ctx)
		if ctx.Err() == nil { // else the check was cut off
			seen = now
		}
		return done, err
	})
	if err != nil {
		s.t.Fatalf("wait until %s: %v; last seen: %s\n%s", what, err, seen, s.happened())
	}
}

// happened lists the machines, the events in the cluster and the conditions of the
// Provisioners, for the message of a failure.
func (s *scene) happened() string {
	var b strings.Builder
	for _, n := range s.Sandbox.Kubelets.Nodes() {
		_, _ = fmt.Fprintf(&b, "Machine %s %s %s %s since %s\n", n.InstanceID, n.Node, n.Phase, n.Reason, n.Since.Format(time.TimeOnly))
	}
	ctx := context.WithoutCancel(s.t.Context())
	events, err := s.Kube.CoreV1().Events("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	for _, e := range events.Items {
		if e.Source.Component == "packhorse-agent" || e.ReportingController == "packhorse-agent" {
			_, _ = fmt.Fprintf(&b, "%s %s %s: %s\n", e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Reason, e.Message)
		}
	}
	provisioners, err := s.Dynamic.Resource(api.ProvisionerGVR).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	for _, p := range provisioners.Items {
		_, _ = fmt.Fprintf(&b, "Provisioner %s: %v\n", p.GetName(), p.Object["status"])
	}
	return b.String()
}

func (s *scene) pods(ctx context.Context, selector string) ([]corev1.Pod, error) {
	list, err := s.Kube.CoreV1().Pods(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	return list.Items, nil
}

func (s *scene) nodes(ctx context.Context, provisioner string) ([]corev1.Node, error) {
	selector := api.LabelProvisioner
	if provisioner != "" {
		selector += "=" + provisioner
	}
	list, err := s.Kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	return list.Items, nil
}

// nodesOf returns the nodes of a provisioner; none is a failure.
func (s *scene) nodesOf(provisioner string) []corev1.Node {
	s.t.Helper()
	nodes, err := s.nodes(s.t.Context(), provisioner)
	if err != nil || len(nodes) == 0 {
		s.t.Fatalf("%d nodes of %s, %v", len(nodes), provisioner, err)
	}
	return nodes
}

// untilRunning waits until count pods of the app run.
func (s *scene) untilRunning(app string, count int) {
	s.t.Helper()
	s.until(fmt.Sprintf("%d pods of %s run", count, app), func(ctx context.Context) (bool, string, error) {
		pods, err := s.pods(ctx, "app="+app)
		running := 0
		for _, p := range pods {
			if p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil {
				running++
			}
		}
		return running == count, fmt.Sprintf("%d of %d", running, len(pods)), err
	})
}

// untilNoNodes waits until a provisioner ("": any) has neither nodes nor instances.
func (s *scene) untilNoNodes(provisioner string) {
	s.t.Helper()
	s.until("no node of "+provisioner+" is left", func(ctx context.Context) (bool, string, error) {
		nodes, err := s.nodes(ctx, provisioner)
		live := s.live(provisioner)
		return len(nodes) == 0 && live == 0, fmt.Sprintf("%d nodes, %d instances", len(nodes), live), err
	})
}

// live counts the instances of a provisioner ("": any) that run.
func (s *scene) live(provisioner string) int {
	n := 0
	for _, i := range s.Live() {
		if provisioner == "" || i.Tags[api.LabelProvisioner] == provisioner {
			n++
		}
	}
	return n
}

// event returns the message of the newest event about an object with the reason.
func (s *scene) event(ctx context.Context, kind, name, reason string) (string, error) {
	list, err := s.Kube.CoreV1().Events("").List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.kind=" + kind + ",reason=" + reason})
	if err != nil {
		return "", fmt.Errorf("list events: %w", err)
	}
	for _, e := range list.Items {
		if strings.HasPrefix(e.InvolvedObject.Name, name) {
			return e.Message, nil
		}
	}
	return "", nil
}

// deployment is a manifest of pods that only the named provisioner may serve.
func deployment(app, provisioner string, replicas int, cpu, memory string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  replicas: %[3]d
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      terminationGracePeriodSeconds: 1
      nodeSelector: {karpenter.sh/provisioner-name: %[2]s}
      containers:
        - name: main
          image: registry.k8s.io/pause:3.10
          resources: {requests: {cpu: "%[4]s", memory: %[5]s}}
`, app, provisioner, replicas, cpu, memory)
}

// provisioner is a manifest with the given lines added to its spec. It keeps empty
// nodes for longer than any scene takes, unless the spec says otherwise.
func provisioner(name, spec string) string {
	if !strings.Contains(spec, "ttlSecondsAfterEmpty") && !strings.Contains(spec, "consolidation:") {
		spec = strings.TrimSpace(spec) + "\nttlSecondsAfterEmpty: 3600"
	}
	return fmt.Sprintf(`
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: %s}
spec:
  providerRef: {name: default}
%s
`, name, indent(spec))
}

func indent(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return "  " + strings.Join(lines, "\n  ")
}

func tail(path string, most int) string {
	f, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(f)
	if err != nil {
		return err.Error()
	}
	if len(text) > most {
		text = text[len(text)-most:]
	}
	return string(text)
}
