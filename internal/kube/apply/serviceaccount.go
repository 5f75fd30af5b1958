package apply

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/call"
)

// RoleAnnotation declares the IAM role of existing ServiceAccounts.
type RoleAnnotation struct {
	client  kubernetes.Interface
	manager Manager
}

// NewRoleAnnotation declares annotations with a field manager of its own, because it does not
// own the ServiceAccounts.
func NewRoleAnnotation(client kubernetes.Interface, manager Manager) *RoleAnnotation {
	manager.Name += "-irsa"
	return &RoleAnnotation{client, manager}
}

// Get returns the ARN of the role in the annotation of the ServiceAccount, which is empty if
// there is no annotation. If there is no such ServiceAccount, apierrors.IsNotFound is true of
// the error.
func (a *RoleAnnotation) Get(ctx context.Context, namespace, name string) (arn string, err error) {
	account, err := call.Get(ctx, func(ctx context.Context) (*corev1.ServiceAccount, error) {
		return a.client.CoreV1().ServiceAccounts(namespace).Get(ctx, name, metav1.GetOptions{})
	})
	if err != nil {
		return "", fmt.Errorf("read ServiceAccount %s/%s: %w", namespace, name, err)
	}
	return account.Annotations[install.RoleAnnotation], nil
}

// Set annotates the ServiceAccount, which must exist.
func (a *RoleAnnotation) Set(ctx context.Context, namespace, name, arn string) error {
	if _, err := a.Get(ctx, namespace, name); err != nil {
		return err
	}
	return a.apply(ctx, applycorev1.ServiceAccount(name, namespace).WithAnnotations(map[string]string{install.RoleAnnotation: arn}))
}

// Remove removes the annotation, unless it names another role by now. It succeeds if the
// ServiceAccount is gone.
func (a *RoleAnnotation) Remove(ctx context.Context, namespace, name, arn string) error {
	switch live, err := a.Get(ctx, namespace, name); {
	case apierrors.IsNotFound(err), err == nil && live != arn:
		return nil
	case err != nil:
		return err
	}
	return a.apply(ctx, applycorev1.ServiceAccount(name, namespace))
}

func (a *RoleAnnotation) apply(ctx context.Context, account *applycorev1.ServiceAccountApplyConfiguration) error {
	_, err := call.Get(ctx, func(ctx context.Context) (*corev1.ServiceAccount, error) {
		return a.client.CoreV1().ServiceAccounts(*account.Namespace).Apply(ctx, account,
			metav1.ApplyOptions{FieldManager: a.manager.Name, Force: a.manager.Force})
	})
	if err != nil {
		return fmt.Errorf("annotate ServiceAccount %s/%s: %w", *account.Namespace, *account.Name, err)
	}
	return nil
}
