package e2e

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/stage"
)

// installed is a scene in which agents are installed as users do it: their pods are
// scheduled to a host, which runs them as processes.
type installed struct {
	*scene
	host    *stage.Host
	changes int // of the installation, see undisturbed
}

func newInstalled(t *testing.T, source string) *installed {
	t.Helper()
	s := &installed{scene: &scene{Stage: newStage(t, ""), t: t}}
	var err error
	if s.workspace, err = s.Workspace("workspace", source); err != nil {
		t.Fatal(err)
	}
	s.terraform("init", "-no-color")
	return s
}

// startHost gives the cluster a node for the agent, until the test ends.
func (s *installed) startHost() {
	s.t.Helper()
	host, err := s.StartHost(s.t.Context(), "system-1")
	if err != nil {
		s.t.Fatal(err)
	}
	s.host = host
	s.t.Cleanup(func() {
		if s.t.Failed() {
			for name, agent := range host.Agents() {
				s.t.Logf("the log of %s:\n%s", name, tail(agent.LogFile, 10_000))
			}
		}
		if err := host.Stop(); err != nil {
			s.t.Errorf("the host: %v", err)
		}
	})
}

// fails runs terraform, which has to fail, and returns what it says, with spaces
// in the place of its frames and line breaks.
func (s *installed) fails(args ...string) string {
	s.t.Helper()
	var out bytes.Buffer
	err := s.workspace.Run(s.t.Context(), &out, args...)
	if err == nil {
		s.t.Fatalf("terraform %v succeeds:\n%s", args, out.String())
	}
	return flat(out.String() + err.Error())
}

func flat(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '\n' || strings.ContainsRune("│╷╵", r) }), " ")
}

// agentState is what the output of testdata/agent says.
type agentState struct {
	Leader      string            `json:"leader"`
	Image       string            `json:"image"`
	ImageDigest string            `json:"image_digest"`
	CRDVersions map[string]string `json:"crd_versions"`
	Revision    string            `json:"revision"`
}

func (s *installed) state() (out agentState) {
	s.t.Helper()
	text, err := s.workspace.Output(s.t.Context(), "agent")
	if err != nil {
		s.t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		s.t.Fatal(err)
	}
	return out
}

// work declares a node profile and a provisioner besides Terraform, and a
// workload that needs a node of it.
func (s *installed) work(app string, replicas int) {
	s.t.Helper()
	s.apply(`
apiVersion: karpenter.k8s.aws/v1alpha1
kind: AWSNodeTemplate
metadata: {name: default}
spec:
  instanceProfile: packhorse-node
  subnetSelector: {karpenter.sh/discovery: packhorse-demo}
  securityGroupSelector: {karpenter.sh/discovery: packhorse-demo}
`)
	s.apply(provisioner("default", ""))
	s.apply(deployment(app, "default", replicas, "500m", "256Mi"))
	s.untilRunning(app, replicas)
}

// boughtNodes returns the names of the nodes with their UIDs, which change if a
// node is made anew.
func (s *installed) boughtNodes() map[string]string {
	s.t.Helper()
	nodes, err := s.nodes(s.t.Context(), "")
	if err != nil {
		s.t.Fatal(err)
	}
	out := map[string]string{}
	for _, n := range nodes {
		out[n.Name] = string(n.UID)
	}
	return out
}

// podUIDs returns the UIDs of an app's pods, sorted.
func (s *installed) podUIDs(app string) []string {
	s.t.Helper()
	pods, err := s.pods(s.t.Context(), "app="+app)
	if err != nil {
		s.t.Fatal(err)
	}
	uids := map[string]bool{}
	for i := range pods {
		uids[string(pods[i].UID)] = true
	}
	return slices.Sorted(maps.Keys(uids))
}

// remains lists the kinds of an installation's objects that are in the cluster.
func (s *installed) remains() (out []string) {
	s.t.Helper()
	ctx := s.t.Context()
	if ns, err := s.Kube.CoreV1().Namespaces().Get(ctx, stage.Namespace, metav1.GetOptions{}); err == nil && ns.Status.Phase == corev1.NamespaceActive {
		out = append(out, "Namespace")
	}
	if _, err := s.Kube.AppsV1().Deployments(stage.Namespace).Get(ctx, stage.ServiceAccount, metav1.GetOptions{}); err == nil {
		out = append(out, "Deployment")
	}
	if _, err := s.Kube.RbacV1().ClusterRoles().Get(ctx, stage.ServiceAccount, metav1.GetOptions{}); err == nil {
		out = append(out, "ClusterRole")
	}
	for _, group := range []string{"karpenter.sh/v1alpha5", "karpenter.k8s.aws/v1alpha1"} {
		if _, err := s.Kube.Discovery().ServerResourcesForGroupVersion(group); err == nil {
			out = append(out, group)
		}
	}
	return out
}
