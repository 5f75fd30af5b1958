package survey

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/call"
)

// Webhooks returns the configurations of Karpenter's admission webhooks as `kubectl delete` takes them,
// sorted. While Karpenter is stopped, they refuse changes of its objects. There are none if the user may not
// list them.
func Webhooks(ctx context.Context, client kubernetes.Interface) (out []string, err error) {
	note := func(resource, name string) {
		if strings.HasSuffix(name, ".karpenter.sh") || strings.HasSuffix(name, ".karpenter.k8s.aws") {
			out = append(out, resource+"/"+name)
		}
	}
	registered := client.AdmissionregistrationV1()
	err = call.Each(ctx, all, registered.MutatingWebhookConfigurations().List, func(c *admissionv1.MutatingWebhookConfiguration) {
		note("mutatingwebhookconfigurations", c.Name)
	})
	if err == nil {
		err = call.Each(ctx, all, registered.ValidatingWebhookConfigurations().List, func(c *admissionv1.ValidatingWebhookConfiguration) {
			note("validatingwebhookconfigurations", c.Name)
		})
	}
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, fmt.Errorf("list the admission webhooks: %w", err)
	}
	slices.Sort(out)
	return out, nil
}
