package provider_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestExamplesOfResources applies the examples that the documentation shows for
// resources, each beside the same provider block. The agent's needs a node to run on:
// internal/e2e applies it.
func TestExamplesOfResources(t *testing.T) {
	trustTheCluster(t)
	serviceAccount(t, "reports", "writer")
	files, err := filepath.Glob("../examples/resources/*/resource.tf")
	if err != nil || len(files) < 5 {
		t.Fatalf("examples = %v, %v", files, err)
	}
	for _, file := range files {
		if strings.Contains(file, "packhorse_agent") {
			continue
		}
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			example, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: factories(),
				Steps:                    []resource.TestStep{{Config: byName() + string(example), ConfigPlanChecks: plansEmpty}},
			})
		})
	}
}

// trustTheCluster gives the account an OIDC provider for the cluster's issuer.
func trustTheCluster(t *testing.T) {
	t.Helper()
	out, err := roles.CreateOpenIDConnectProvider(t.Context(), &iam.CreateOpenIDConnectProviderInput{
		Url: aws.String(box.Host), ClientIDList: []string{"sts.amazonaws.com"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, err := roles.DeleteOpenIDConnectProvider(context.Background(), &iam.DeleteOpenIDConnectProviderInput{OpenIDConnectProviderArn: out.OpenIDConnectProviderArn})
		if err != nil {
			t.Error(err)
		}
	})
}

func serviceAccount(t *testing.T, namespace, name string) {
	t.Helper()
	ctx := t.Context()
	if _, err := kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := kube.CoreV1().ServiceAccounts(namespace).Create(ctx, account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
