package e2e

import (
	"context"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/plane"
)

// bindingRefused keeps pods off their node by a policy of the cluster for a while.
func bindingRefused(s *scene) {
	ctx := s.t.Context()
	s.apply(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: refused}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods/binding]}]
  validations: [{expression: "!object.metadata.name.startsWith('refused')", reason: Invalid, message: not today}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: refused}
spec: {policyName: refused, validationActions: [Deny]}
`)
	s.until("the policy is in force", func(ctx context.Context) (bool, string, error) {
		err := s.Kube.CoreV1().Pods(metav1.NamespaceDefault).Bind(ctx, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Name: "refused-probe"}, Target: corev1.ObjectReference{Kind: "Node", Name: "none"},
		}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return apierrors.IsInvalid(err), "", nil
	})
	s.apply(provisioner("refused", "labels: {purpose: refused}"))
	s.apply(deployment("refused", "refused", 1, "500m", "256Mi"))
	s.until("the agent is refused a binding, and looks why", func(context.Context) (bool, string, error) {
		events, err := s.Sandbox.Audit()
		refused := slices.ContainsFunc(events, func(e plane.AuditEvent) bool {
			return e.Verb == "create" && e.ObjectRef != nil && e.ObjectRef.Subresource == "binding" && e.ResponseStatus.Code == http.StatusUnprocessableEntity
		})
		looked := slices.ContainsFunc(events, func(e plane.AuditEvent) bool {
			return e.Verb == "get" && e.ObjectRef != nil && e.ObjectRef.Resource == "pods"
		})
		return refused && looked, "", err
	})
	policies := s.Kube.AdmissionregistrationV1()
	if err := policies.ValidatingAdmissionPolicyBindings().Delete(ctx, "refused", metav1.DeleteOptions{}); err != nil {
		s.t.Fatal(err)
	}
	if err := policies.ValidatingAdmissionPolicies().Delete(ctx, "refused", metav1.DeleteOptions{}); err != nil {
		s.t.Fatal(err)
	}
	s.untilRunning("refused", 1)
	s.delete("refused")
	s.deleteProvisioner("refused")
	s.untilNoNodes("refused")
}
