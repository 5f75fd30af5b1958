package peercrds

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/karpenter-provider-aws/pkg/apis"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/check/corpus"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/kinds"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/plane/planetest"
)

const patience = time.Minute

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// TestAPIServer checks that the API server says of each manifest of the corpus what the
// corpus says of it, with which package karpenter agrees by its TestCorpus.
func TestAPIServer(t *testing.T) {
	cases, err := corpus.Cases()
	if err != nil {
		t.Fatal(err)
	}
	client := start(t)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			object := &unstructured.Unstructured{Object: c.Document}
			_, err := client.Resource(resourceOf(c.Document)).Create(t.Context(), object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			switch {
			case c.Refused == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.Refused != "" && err == nil:
				t.Errorf("taken, and should be refused for %s", c.Refused)
			case c.Refused != "" && !apierrors.IsInvalid(err):
				t.Errorf("refused for another reason than a rule: %v", err)
			case c.Refused != "" && !names(err, c.Refused):
				t.Errorf("refused for another field than %s: %v", c.Refused, err)
			}
		})
	}
}

// names reports whether an error is about a field. The API server writes the keys of
// maps as [a] or as .a, depending on the rule.
func names(err error, path string) bool {
	loose := strings.NewReplacer("[", ".", "]", "")
	return strings.Contains(loose.Replace(err.Error()), loose.Replace(path))
}

func resourceOf(document map[string]any) schema.GroupVersionResource {
	if document["kind"] == kinds.NodePoolKind {
		return kinds.NodePools.WithVersion("v1")
	}
	return kinds.NodeClasses.WithVersion("v1")
}

// start returns a client of a control plane that has Karpenter's definitions.
func start(t *testing.T) dynamic.Interface {
	t.Helper()
	p := planetest.Start(t)
	client := dynamic.NewForConfigOrDie(p.RESTConfig())
	for _, text := range [][]byte{apis.NodePoolCRD, apis.EC2NodeClassCRD, apis.NodeClaimCRD} {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &u.Object); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Resource(definitions).Create(t.Context(), u, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, gvr := range []schema.GroupVersionResource{kinds.NodePools.WithVersion("v1"), kinds.NodeClasses.WithVersion("v1"), kinds.NodeClaims.WithVersion("v1")} {
		err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
			_, err := client.Resource(gvr).List(ctx, metav1.ListOptions{})
			return err == nil, nil
		})
		if err != nil {
			t.Fatal(fmt.Errorf("wait for %s: %w", gvr.Resource, err))
		}
	}
	return client
}
