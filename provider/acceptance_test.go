package provider_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox"
	"github.com/packhorse-io/terraform-provider-packhorse/provider"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/cmd/terraform-provider-packhorse/platform"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// The cluster and the AWS account that all tests of the package share, and
// clients of their administrator. Each test uses names of its own.
var (
	box      *sandbox.Sandbox
	objects  dynamic.Interface
	kube     kubernetes.Interface
	roles    *iam.Client
	access   *eks.Client
	queues   *sqs.Client
	rules    *eventbridge.Client
	machines *ec2.Client
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	ctx := context.Background()
	if err := prepareTerraform(); err != nil {
		return 1, err
	}
	box, err = sandbox.Start(ctx, sandbox.Options{})
	if err != nil {
		return 1, fmt.Errorf("the tests of the provider need the sandbox, whose control plane `make controlplane` builds: %w", err)
	}
	defer func() { err = errors.Join(err, box.Stop()) }()
	if err := connect(ctx); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// prepareTerraform lets the tests use the installed Terraform, with nothing of
// the developer's own configuration.
func prepareTerraform() error {
	path := os.Getenv("TF_ACC_TERRAFORM_PATH")
	if path == "" {
		var err error
		if path, err = exec.LookPath("terraform"); err != nil {
			return fmt.Errorf("the tests of the provider need Terraform in the PATH: %w", err)
		}
	}
	config, err := filepath.Abs("testdata/terraformrc")
	if err != nil {
		return err
	}
	for name, value := range map[string]string{
		"TF_ACC": "1", "TF_ACC_TERRAFORM_PATH": path, "TF_CLI_CONFIG_FILE": config, "TF_ACC_PROVIDER_NAMESPACE": "packhorse",
		"CHECKPOINT_DISABLE": "1", "TF_LOG_SDK": "off", "TF_LOG_PROVIDER_PACKHORSE": "off", "KUBE_CONFIG_PATH": "", "AWS_PROFILE": "", "AWS_SESSION_TOKEN": "",
	} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	return nil
}

// connect points the environment and the clients to the sandbox and installs
// the custom resources.
func connect(ctx context.Context) (err error) {
	for _, variable := range box.Env() {
		name, value, _ := strings.Cut(variable, "=")
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	if objects, err = dynamic.NewForConfig(box.RESTConfig()); err != nil {
		return err
	}
	if kube, err = kubernetes.NewForConfig(box.RESTConfig()); err != nil {
		return err
	}
	key, secret := box.Cloud.AdminCredentials()
	admin := aws.Config{
		Region: box.Region, BaseEndpoint: aws.String(box.AWSEndpoint), Credentials: credentials.NewStaticCredentialsProvider(key, secret, ""),
	}
	roles, access = iam.NewFromConfig(admin), eks.NewFromConfig(admin)
	queues, rules = sqs.NewFromConfig(admin), eventbridge.NewFromConfig(admin)
	machines = ec2.NewFromConfig(admin)
	for _, crd := range api.CRDs() {
		if err := install(ctx, crd); err != nil {
			return err
		}
	}
	return nil
}

var crdResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

func install(ctx context.Context, crd api.CRD) error {
	definition := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(crd.YAML, &definition.Object); err != nil {
		return fmt.Errorf("read CRD %s: %w", crd.Name, err)
	}
	if _, err := objects.Resource(crdResource).Create(ctx, definition, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("install CRD %s: %w", crd.Name, err)
	}
	group, resource, _ := strings.Cut(crd.Name, ".")
	served := schema.GroupVersionResource{Group: resource, Resource: group, Version: api.ProvisionerVersion}
	if resource == api.NodeTemplateGroup {
		served.Version = api.NodeTemplateVersion
	}
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		_, err := objects.Resource(served).List(ctx, metav1.ListOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
}

// factories serves the provider in process. It does not wait for pod identity associations, which have an effect at once
// in the sandbox.
func factories() map[string]func() (tfprotov6.ProviderServer, error) {
	return map[string]func() (tfprotov6.ProviderServer, error){
		"packhorse": func() (tfprotov6.ProviderServer, error) { return provider.NewServer("test", connectWithoutLag)(), nil },
	}
}

func connectWithoutLag(cfg session.Config) session.Platform {
	return withoutLag{platform.Connect(cfg)}
}

type withoutLag struct{ session.Platform }

func (p withoutLag) Account(ctx context.Context) (*session.Account, error) {
	account, err := p.Platform.Account(ctx)
	if err != nil {
		return nil, err
	}
	prompt := *account
	prompt.AssociationLag = 0
	return &prompt, nil
}

// byName is a provider block that finds the cluster by its name. Plans do not
// look ahead, which has tests of its own.
func byName() string {
	return fmt.Sprintf("provider \"packhorse\" {\n  cluster_name = %q\n  plan_checks  = \"off\"\n}\n", box.ClusterName)
}

// lookingAhead is a provider block whose plans do, with further arguments.
func lookingAhead(arguments string) string {
	return fmt.Sprintf("provider \"packhorse\" {\n  cluster_name = %q\n%s\n}\n", box.ClusterName, arguments)
}

// object returns a live object.
func object(t *testing.T, resource schema.GroupVersionResource, name string) *unstructured.Unstructured {
	t.Helper()
	live, err := objects.Resource(resource).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return live
}

// apply declares an object in the name of another field manager.
func apply(t testing.TB, manager string, resource schema.GroupVersionResource, kind, name, spec string) {
	t.Helper()
	desired := &unstructured.Unstructured{Object: map[string]any{}}
	if err := yaml.Unmarshal([]byte("spec: "+spec), &desired.Object); err != nil {
		t.Fatal(err)
	}
	desired.SetGroupVersionKind(resource.GroupVersion().WithKind(kind))
	desired.SetName(name)
	if _, err := objects.Resource(resource).Apply(t.Context(), name, desired, metav1.ApplyOptions{FieldManager: manager, Force: true}); err != nil {
		t.Fatal(err)
	}
}

func remove(t testing.TB, resource schema.GroupVersionResource, name string) {
	t.Helper()
	if err := objects.Resource(resource).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}
