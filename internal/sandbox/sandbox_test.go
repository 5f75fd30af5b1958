package sandbox_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/kubelet"
)

// account is a sandbox with the clients of its administrator.
type account struct {
	*sandbox.Sandbox
	kube kubernetes.Interface
	aws  aws.Config
	ec2  *ec2.Client
}

func start(t *testing.T) *account {
	t.Helper()
	box, err := sandbox.Start(t.Context(), sandbox.Options{
		BootDelay: 300 * time.Millisecond, Progress: func(line string) { t.Log(line) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(box.Stop(), box.Stop()); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(box.Dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the temporary folder %s is left: %v", box.Dir, err)
		}
	})
	kube, err := kubernetes.NewForConfig(box.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	accessKeyID, secret := box.Cloud.AdminCredentials()
	config := aws.Config{
		Region: box.Region, BaseEndpoint: &box.AWSEndpoint,
		Credentials: credentials.NewStaticCredentialsProvider(accessKeyID, secret, ""),
	}
	return &account{Sandbox: box, kube: kube, aws: config, ec2: ec2.NewFromConfig(config)}
}

func TestSandbox(t *testing.T) {
	a := start(t)
	a.createInstanceProfile(t, "nodes")
	t.Run("pods run on an instance that is launched for them", a.testPodsRun)
	t.Run("a wrong certificate authority keeps a node away", a.testWrongAuthority)
	t.Run("a PodDisruptionBudget refuses evictions", a.testEviction)
	t.Run("a ServiceAccount's token is exchanged for AWS credentials", a.testWebIdentity)
	t.Run("an EKS token authenticates to the API server", a.testEKSToken)
	t.Run("the environment reaches both", a.testEnvironment)
}

// testPodsRun walks the main path by hand: unschedulable pods, an instance, its
// node, running pods, and the end of the instance.
func (a *account) testPodsRun(t *testing.T) {
	a.createDeployment(t, "web", 3)
	a.eventually(t, "all pods of web are marked unschedulable", func(ctx context.Context) (bool, error) {
		return a.countPods(ctx, "web", unschedulable) == 3, nil
	})

	id := a.launch(t, a.CA)
	name := a.awaitKubelet(t, id, kubelet.Registered).Node
	a.eventually(t, "all pods of web run", func(ctx context.Context) (bool, error) {
		return a.countPods(ctx, "web", func(pod *corev1.Pod) bool {
			return pod.Status.Phase == corev1.PodRunning && pod.Spec.NodeName == name
		}) == 3, nil
	})

	node, err := a.kube.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if node.Labels["team"] != "a" || node.Labels[corev1.LabelInstanceTypeStable] != "m5.large" {
		t.Errorf("labels = %v, want those of the user data and of the machine", node.Labels)
	}
	if got, want := node.Spec.ProviderID, "aws:///"+node.Labels[corev1.LabelTopologyZone]+"/"+id; got != want {
		t.Errorf("provider ID = %s, want %s", got, want)
	}
	if got := node.Status.Allocatable.Pods().Value(); got != 12 {
		t.Errorf("allocatable pods = %d, want the user data's 12", got)
	}
	if len(node.Spec.Taints) != 1 || node.Spec.Taints[0].Key != "dedicated" {
		t.Errorf("taints = %v, want the user data's dedicated", node.Spec.Taints)
	}

	if _, err := a.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
	a.awaitKubelet(t, id, kubelet.Stopped)
	if err := a.kube.CoreV1().Nodes().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}

func (a *account) testWrongAuthority(t *testing.T) {
	stranger := httptest.NewTLSServer(nil)
	defer stranger.Close()
	id := a.launch(t, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: stranger.Certificate().Raw}))
	status := a.awaitKubelet(t, id, kubelet.Failed)
	if !strings.Contains(status.Reason, "unknown authority") {
		t.Errorf("reason = %q, want the unknown authority", status.Reason)
	}
	response, err := http.Get(a.ControlEndpoint + "/kubelets")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var shown []kubelet.Status
	if err := json.NewDecoder(response.Body).Decode(&shown); err != nil {
		t.Fatal(err)
	}
	for _, s := range shown {
		if s.InstanceID == id && s.Reason == status.Reason {
			return
		}
	}
	t.Errorf("the control endpoint shows %+v, want %s with its reason", shown, id)
}

func (a *account) testEviction(t *testing.T) {
	a.createDeployment(t, "guarded", 1)
	_, err := a.kube.PolicyV1().PodDisruptionBudgets("default").Create(t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "guarded"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: ptr.To(intstr.FromInt32(1)),
			Selector:     &metav1.LabelSelector{MatchLabels: map[string]string{"app": "guarded"}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	a.awaitKubelet(t, a.launch(t, a.CA), kubelet.Registered)
	var pod corev1.Pod
	a.eventually(t, "the guarded pod runs", func(ctx context.Context) (bool, error) {
		return a.countPods(ctx, "guarded", func(p *corev1.Pod) bool {
			pod = *p
			return p.Status.Phase == corev1.PodRunning
		}) == 1, nil
	})
	a.eventually(t, "the budget counts the pod", func(ctx context.Context) (bool, error) {
		budget, err := a.kube.PolicyV1().PodDisruptionBudgets("default").Get(ctx, "guarded", metav1.GetOptions{})
		return err == nil && budget.Status.CurrentHealthy == 1, err
	})
	err = a.kube.PolicyV1().Evictions("default").Evict(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace}})
	if !apierrors.IsTooManyRequests(err) {
		t.Errorf("eviction = %v, want 429", err)
	}
}

// testEnvironment uses nothing but the variables of Env.
func (a *account) testEnvironment(t *testing.T) {
	env := map[string]string{}
	for _, pair := range a.Env() {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
	}
	if _, err := os.Stat(env["KUBECONFIG"]); err != nil {
		t.Errorf("KUBECONFIG: %v", err)
	}
	client := ec2.New(ec2.Options{
		Region: env["AWS_REGION"], BaseEndpoint: aws.String(env["AWS_ENDPOINT_URL"]),
		Credentials: credentials.NewStaticCredentialsProvider(env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"], ""),
	})
	zones, err := client.DescribeAvailabilityZones(t.Context(), &ec2.DescribeAvailabilityZonesInput{})
	if err != nil || len(zones.AvailabilityZones) == 0 {
		t.Errorf("DescribeAvailabilityZones = %v, %v, want zones", zones, err)
	}
	response, err := http.Get(env["PACKHORSE_SANDBOX_CONTROL"] + "/kubelets")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("control endpoint: %s, %s, %v", response.Status, body, err)
	}
}

func (a *account) createInstanceProfile(t *testing.T, name string) {
	t.Helper()
	client := iam.NewFromConfig(a.aws)
	_, roleErr := client.CreateRole(t.Context(), &iam.CreateRoleInput{
		RoleName: &name,
		AssumeRolePolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow",` +
			`"Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}`),
	})
	_, profileErr := client.CreateInstanceProfile(t.Context(), &iam.CreateInstanceProfileInput{InstanceProfileName: &name})
	_, addErr := client.AddRoleToInstanceProfile(t.Context(), &iam.AddRoleToInstanceProfileInput{InstanceProfileName: &name, RoleName: &name})
	if err := errors.Join(roleErr, profileErr, addErr); err != nil {
		t.Fatal(err)
	}
}

// launch starts one m5.large whose user data leads to the cluster, with the given
// certificate authority, and returns its id.
func (a *account) launch(t *testing.T, ca []byte) string {
	t.Helper()
	name := fmt.Sprintf("/aws/service/eks/optimized-ami/%s/amazon-linux-2023/x86_64/standard/recommended/image_id", a.Version)
	image, err := ssm.NewFromConfig(a.aws).GetParameter(t.Context(), &ssm.GetParameterInput{Name: aws.String(name)})
	if err != nil {
		t.Fatal(err)
	}
	subnets, err := a.ec2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{
		Filters: []ec2types.Filter{{Name: aws.String("tag:karpenter.sh/discovery"), Values: []string{a.ClusterName}}},
	})
	if err != nil || len(subnets.Subnets) == 0 {
		t.Fatalf("DescribeSubnets = %v, %v, want some", subnets, err)
	}
	userData := fmt.Sprintf(`MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="//"

--//
Content-Type: application/node.eks.aws

apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster:
    name: %s
    apiServerEndpoint: %s
    certificateAuthority: %s
    cidr: 10.100.0.0/16
  kubelet:
    config:
      maxPods: 12
      registerWithTaints: [{key: dedicated, value: tests, effect: NoSchedule}]
    flags: ['--node-labels="team=a"']
--//--
`, a.ClusterName, a.Host, base64.StdEncoding.EncodeToString(ca))
	output, err := a.ec2.RunInstances(t.Context(), &ec2.RunInstancesInput{
		ImageId: image.Parameter.Value, InstanceType: ec2types.InstanceTypeM5Large, SubnetId: subnets.Subnets[0].SubnetId,
		MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
		IamInstanceProfile: &ec2types.IamInstanceProfileSpecification{Name: aws.String("nodes")},
		UserData:           aws.String(base64.StdEncoding.EncodeToString([]byte(userData))),
	})
	if err != nil {
		t.Fatal(err)
	}
	return *output.Instances[0].InstanceId
}

func (a *account) createDeployment(t *testing.T, name string, replicas int32) {
	t.Helper()
	labels := map[string]string{"app": name}
	_, err := a.kube.AppsV1().Deployments("default").Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					Tolerations: []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}},
					Containers: []corev1.Container{{
						Name: "main", Image: "example.com/main",
						Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}},
					}},
				},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// countPods counts a deployment's pods that match.
func (a *account) countPods(ctx context.Context, app string, match func(*corev1.Pod) bool) int {
	pods, err := a.kube.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: "app=" + app})
	if err != nil {
		return -1
	}
	count := 0
	for i := range pods.Items {
		if match(&pods.Items[i]) {
			count++
		}
	}
	return count
}

func unschedulable(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled {
			return condition.Status == corev1.ConditionFalse && condition.Reason == corev1.PodReasonUnschedulable
		}
	}
	return false
}

func (a *account) awaitKubelet(t *testing.T, instanceID string, phase kubelet.Phase) kubelet.Status {
	t.Helper()
	var last kubelet.Status
	a.eventually(t, fmt.Sprintf("the node of %s is %s", instanceID, phase), func(context.Context) (bool, error) {
		for _, status := range a.Kubelets.Nodes() {
			if status.InstanceID == instanceID {
				last = status
			}
		}
		if last.Phase != phase {
			return false, fmt.Errorf("it is %s (%s)", last.Phase, last.Reason)
		}
		return true, nil
	})
	return last
}

// eventually polls a condition for up to 30 s.
func (a *account) eventually(t *testing.T, what string, condition func(context.Context) (bool, error)) {
	t.Helper()
	var last error
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		var met bool
		if met, last = condition(t.Context()); met {
			return
		}
	}
	t.Fatalf("not after 30 s: %s: %v", what, last)
}
