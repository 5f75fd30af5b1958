package installation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/call"
)

// Withdraw removes from a Deployment what it was declared with before and is not any more. Apply leaves variables, volumes
// and other entries of lists that another manager has declared too, such as Helm before an import. Call it after Apply, so
// that it only removes: fields that a patch sets would belong to the manager twice.
func (k *Keeper) Withdraw(ctx context.Context, before, now *appsv1.Deployment) error {
	was, wasInvalid := json.Marshal(before)
	is, isInvalid := json.Marshal(now)
	patch, err := strategicpatch.CreateTwoWayMergePatch(was, is, appsv1.Deployment{})
	if wasInvalid != nil || isInvalid != nil || err != nil {
		return fmt.Errorf("compare Deployment %s/%s with its declaration before: %w", now.Namespace, now.Name, errors.Join(wasInvalid, isInvalid, err))
	}
	if string(patch) == "{}" {
		return nil
	}
	_, err = call.Get(ctx, func(ctx context.Context) (*appsv1.Deployment, error) {
		return k.typed.AppsV1().Deployments(now.Namespace).Patch(ctx, now.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: k.manager.Name})
	})
	if err != nil {
		return fmt.Errorf("remove settings from Deployment %s/%s: %w", now.Namespace, now.Name, err)
	}
	return nil
}
