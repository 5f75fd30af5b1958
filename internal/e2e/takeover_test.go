package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/kinds"
	modelled "github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2"
)

// TestTakeover gives a cluster to Karpenter and takes it over under load: no pod restarts,
// no machine is bought or ended for it, and at no time would Karpenter end one. Pods that
// come meanwhile get machines that satisfy minValues. While Karpenter holds its Lease,
// before and afterwards, the agent serves nothing.
func TestTakeover(t *testing.T) {
	const region = "eu-west-1"
	st := newStage(t, region)
	st.Options = map[string]string{"node-pools": "true"}
	s := sceneOn(t, st, region)
	s.deleteProvisioner("default")
	s.untilNoNodes("default")
	s.applyWithKubectl("testdata/nodepool-crds.yaml")
	s.kubectl("", "wait", "--for=condition=Established", "crd/nodepools.karpenter.sh", "crd/ec2nodeclasses.karpenter.k8s.aws", "crd/nodeclaims.karpenter.sh")
	s.applyWithKubectl("testdata/nodepools.yaml")
	s.untilReady("True", "Ready", "")
	s.apply(strings.Replace(deployment("web", "unused", 12, "900m", "1Gi"), api.LabelProvisioner+": unused", api.LabelNodePool+": general", 1))
	s.untilRunning("web", 12)
	pods, machines := s.uids("web"), s.ids()

	s.agent.Stop()
	said := s.handBack()
	if !strings.Contains(said, "of NodePools back to Karpenter. Start it now.") {
		t.Errorf("handback says %s", said)
	}
	s.checkKarpenters()
	preview := s.admin("packhorse-agent", "takeover", "--dry-run")
	if want := fmt.Sprintf("Nodes: %d of %d will be taken over; the takeover restarts no pod", len(machines), len(machines)); !strings.Contains(preview, want) {
		t.Errorf("the preview lacks %q:\n%s", want, preview)
	}

	lease := s.karpenterRuns()
	s.startAgent()
	s.untilStandingBy()
	s.checkKarpenters()

	known := modelled.Fleets(s.Sandbox.Cloud.EC2)
	began := time.Now()
	lease()
	s.apply(strings.Replace(deployment("more", "unused", 6, "900m", "1Gi"), api.LabelProvisioner+": unused", api.LabelNodePool+": general", 1))
	s.untilTakenOver(len(machines))
	took := time.Since(began)
	s.untilRunning("more", 6)
	s.untilReady("True", "Ready", "")
	now, err := statusOf(t.Context(), s.agent)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.uids("web"); !maps.Equal(got, pods) {
		t.Errorf("pods were replaced: %v, before %v", got, pods)
	}
	for id := range machines {
		if !s.ids()[id] {
			t.Errorf("machine %s was ended", id)
		}
	}
	t.Logf("took over %d nodes in %s; restarts of pods: 0 of %d; price before: %s; of these nodes after: $%.4f/h; of all nodes, with more pods: $%.4f/h",
		len(machines), took.Round(time.Millisecond), len(pods), priceLine(preview), s.price(machines), now.HourlyPrice)
	s.checkVariety(known)

	lease = s.karpenterRuns()
	s.untilStandingBy()
	lease()
	s.untilReady("True", "Ready", "")
	if waited := s.admin("packhorse-agent", "takeover"); !strings.Contains(waited, "have been taken over") {
		t.Errorf("takeover says %s", waited)
	}
	s.delete("web")
	s.delete("more")
	s.untilNoNodes("general")
}

// price is what the agent pays for the nodes of these instances, per hour.
func (s *scene) price(instances map[string]bool) float64 {
	s.t.Helper()
	nodes, err := s.nodes(s.t.Context(), "general")
	if err != nil {
		s.t.Fatal(err)
	}
	sum := 0.0
	for _, n := range nodes {
		if !instances[n.Spec.ProviderID[strings.LastIndex(n.Spec.ProviderID, "/")+1:]] {
			continue
		}
		price, err := strconv.ParseFloat(n.Annotations[api.AnnotationHourlyPrice], 64)
		if err != nil || price <= 0 {
			s.t.Errorf("node %s has the price %q", n.Name, n.Annotations[api.AnnotationHourlyPrice])
		}
		sum += price / 1e6
	}
	return sum
}

// checkVariety sees to it that machines were bought since, each with a choice of at least
// the four families that minValues of the NodePool demands.
func (s *scene) checkVariety(before map[string]*ec2.CreateFleetInput) {
	s.t.Helper()
	bought := 0
	for token, fleet := range modelled.Fleets(s.Sandbox.Cloud.EC2) {
		if before[token] != nil {
			continue
		}
		bought++
		families := map[string]bool{}
		for _, config := range fleet.LaunchTemplateConfigs {
			for _, o := range config.Overrides {
				family, _, _ := strings.Cut(string(o.InstanceType), ".")
				families[family] = true
			}
		}
		if len(families) < 4 {
			s.t.Errorf("a launch request offers the families %v, minValues is 4", slices.Sorted(maps.Keys(families)))
		}
	}
	if bought == 0 {
		s.t.Error("no machine was bought for the pods that came")
	}
}

// priceLine is what a preview says of the price now.
func priceLine(preview string) string {
	_, price, _ := strings.Cut(preview, "Price now: ")
	price, _, _ = strings.Cut(price, "\n")
	return price
}

// admin runs a program as somebody with all rights in the cluster and in AWS.
func (s *scene) admin(binary string, args ...string) string {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), s.built(binary), args...)
	cmd.Env = append(os.Environ(), s.Sandbox.Env()...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("%s %v: %v\n%s", binary, args, err, out)
	}
	return string(out)
}

// handBack runs handback with the rights that its help lists and no others.
func (s *scene) handBack() (said string) {
	s.t.Helper()
	operator := s.operator()
	s.until("the machines are handed back", func(ctx context.Context) (bool, string, error) {
		cmd := exec.CommandContext(ctx, s.built("packhorse-agent"), "handback", "--cluster-name", s.Sandbox.ClusterName)
		cmd.Env = slices.Concat(os.Environ(), s.Sandbox.Env(), operator)
		out, err := cmd.CombinedOutput()
		said = string(out)
		if strings.Contains(said, "cannot find RESTMapping") {
			return false, said, nil // admission learns of a new kind within half a minute
		}
		return err == nil, said, err
	})
	return said
}

// operator makes an identity with the rights that the help of handback lists, and returns the variables with
// its credentials.
func (s *scene) operator() []string {
	s.t.Helper()
	const name = "operator"
	help := s.admin("packhorse-agent", "handback", "--help")
	_, rules, _ := strings.Cut(help, "  rules:\n")
	rules, _, _ = strings.Cut(rules, "\n\n")
	s.kubectl(fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %[1]s}
rules:
%[2]s
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[1]s}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %[1]s}]
`, name, rules), "apply", "-f", "-")
	access, err := clientcmd.LoadFromFile(s.Sandbox.Kubeconfig)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, user := range access.AuthInfos {
		user.Impersonate = name
	}
	file := filepath.Join(s.t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*access, file); err != nil {
		s.t.Fatal(err)
	}
	actions := strings.Join(regexp.MustCompile(`(?:ec2|eks):[A-Z]\w+`).FindAllString(help, -1), `","`)
	roles, trust := iam.NewFromConfig(s.AWS()), `{"Statement":{"Effect":"Allow","Action":"sts:AssumeRole","Principal":{"AWS":"*"}}}`
	made, err := roles.CreateRole(s.t.Context(), &iam.CreateRoleInput{RoleName: ptr.To(name), AssumeRolePolicyDocument: &trust})
	if err != nil {
		s.t.Fatal(err)
	}
	rights := `{"Statement":{"Effect":"Allow","Action":["` + actions + `"],"Resource":"*"}}`
	if _, err := roles.PutRolePolicy(s.t.Context(), &iam.PutRolePolicyInput{RoleName: ptr.To(name), PolicyName: ptr.To(name), PolicyDocument: &rights}); err != nil {
		s.t.Fatal(err)
	}
	session, err := sts.NewFromConfig(s.AWS()).AssumeRole(s.t.Context(), &sts.AssumeRoleInput{RoleArn: made.Role.Arn, RoleSessionName: ptr.To(name)})
	if err != nil {
		s.t.Fatal(err)
	}
	return []string{
		"KUBECONFIG=" + file, "AWS_ACCESS_KEY_ID=" + *session.Credentials.AccessKeyId, "AWS_SECRET_ACCESS_KEY=" + *session.Credentials.SecretAccessKey,
		"AWS_SESSION_TOKEN=" + *session.Credentials.SessionToken,
	}
}

// uids are the pods of an app, none of which has restarted.
func (s *scene) uids(app string) map[string]bool {
	s.t.Helper()
	pods, err := s.pods(s.t.Context(), "app="+app)
	if err != nil {
		s.t.Fatal(err)
	}
	out := map[string]bool{}
	for _, p := range pods {
		out[string(p.UID)] = true
		for _, c := range p.Status.ContainerStatuses {
			if c.RestartCount > 0 {
				s.t.Errorf("pod %s has restarted %d times", p.Name, c.RestartCount)
			}
		}
	}
	return out
}

// ids are the instances that run.
func (s *scene) ids() map[string]bool {
	out := map[string]bool{}
	for _, i := range s.Live() {
		out[i.ID] = true
	}
	return out
}

// checkKarpenters sees to it that everything is as Karpenter leaves it: it ends instances
// that have its tags and no NodeClaim, and NodeClaims without an instance.
func (s *scene) checkKarpenters() {
	s.t.Helper()
	claimed := map[string]bool{}
	for _, c := range s.nodeClaims(s.t.Context()) {
		claimed[c] = true
	}
	live := s.Live()
	for _, i := range live {
		tags := i.Tags
		if tags[api.LabelNodePool] != "general" || tags["karpenter.k8s.aws/ec2nodeclass"] != "general" || tags["eks:eks-cluster-name"] != s.Sandbox.ClusterName ||
			tags[api.TagClusterPrefix+s.Sandbox.ClusterName] != "owned" || tags[api.TagManagedBy] != s.Sandbox.ClusterName || tags[api.TagLaunchID] != "" {
			s.t.Errorf("instance %s has the tags %v", i.ID, tags)
		}
		if !claimed[i.ID] {
			s.t.Errorf("instance %s has no NodeClaim", i.ID)
		}
	}
	if len(claimed) != len(live) {
		s.t.Errorf("%d NodeClaims for %d instances", len(claimed), len(live))
	}
	nodes, err := s.Kube.CoreV1().Nodes().List(s.t.Context(), metav1.ListOptions{LabelSelector: api.LabelNodePool})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, n := range nodes.Items {
		if len(n.OwnerReferences) != 1 || n.OwnerReferences[0].Kind != kinds.NodeClaimKind || n.Labels[api.LabelRegistered] != "true" || n.Labels[api.LabelProvisioner] != "" {
			s.t.Errorf("node %s: %v %v", n.Name, n.OwnerReferences, n.Labels)
		}
	}
}

// nodeClaims returns the ids of the instances that have one.
func (s *scene) nodeClaims(ctx context.Context) (out []string) {
	s.t.Helper()
	list, err := s.Dynamic.Resource(kinds.NodeClaims.WithVersion("v1")).List(ctx, metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	for i := range list.Items {
		provider := kube.NodeClaimOf(list.Items[i].Object).ProviderID
		out = append(out, provider[strings.LastIndex(provider, "/")+1:])
	}
	return out
}

// karpenterRuns holds Karpenter's Lease until what it returns is called.
func (s *scene) karpenterRuns() (stop func()) {
	s.t.Helper()
	leases := s.Kube.CoordinationV1().Leases("kube-system")
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: install.KarpenterLease}, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: ptr.To("karpenter-1"), LeaseDurationSeconds: ptr.To[int32](3600), RenewTime: ptr.To(metav1.NewMicroTime(time.Now())),
	}}
	if _, err := leases.Create(s.t.Context(), lease, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	return func() {
		if err := leases.Delete(s.t.Context(), install.KarpenterLease, metav1.DeleteOptions{}); err != nil {
			s.t.Fatal(err)
		}
	}
}

// untilTakenOver waits until the agent looks after what Karpenter has left.
func (s *scene) untilTakenOver(machines int) {
	s.t.Helper()
	s.until("everything is taken over", func(ctx context.Context) (bool, string, error) {
		nodes, err := s.nodes(ctx, "general")
		left := len(s.nodeClaims(ctx))
		for _, i := range s.Live() {
			if i.Tags[api.LabelNodePool] != "" {
				left++
			}
		}
		for _, n := range nodes {
			if len(n.OwnerReferences) != 1 || n.OwnerReferences[0].Kind != kinds.NodePoolKind {
				left++
			}
		}
		return left == 0 && len(nodes) >= machines, fmt.Sprintf("%d nodes, %d things are left", len(nodes), left), err
	})
}
