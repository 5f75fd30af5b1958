package survey

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/call"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/kinds"
)

// each calls use with every object of a kind.
func each[L runtime.Object, T any](ctx context.Context, o metav1.ListOptions, list func(context.Context, metav1.ListOptions) (L, error), use func(*T)) error {
	if err := call.Each(ctx, o, list, use); err != nil {
		return fmt.Errorf("list objects of type %T: %w", *new(T), err)
	}
	return nil
}

// Objects returns the custom resources of a kind, sorted by name. It returns none if the cluster does
// not serve the kind.
func Objects(ctx context.Context, custom dynamic.Interface, kind schema.GroupVersionResource) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	err := call.Each(ctx, metav1.ListOptions{}, custom.Resource(kind).List, func(u *unstructured.Unstructured) { out = append(out, u) })
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the %s: %w", kind.GroupResource(), err)
	}
	slices.SortFunc(out, func(a, b *unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	return out, nil
}

func readCustom(ctx context.Context, client kubernetes.Interface, custom dynamic.Interface, out *cluster.Survey) error {
	var err error
	if out.Provisioners, err = decodeAll(ctx, custom, api.ProvisionerGVR, api.ProvisionerOf, out); err != nil {
		return err
	}
	if out.NodeTemplates, err = decodeAll(ctx, custom, api.NodeTemplateGVR, api.NodeTemplateOf, out); err != nil {
		return err
	}
	return readNodePools(ctx, client, custom, out)
}

// readNodePools adds the Provisioners and node profiles that stand for NodePools and EC2NodeClasses.
// If the user may not list these, Hidden says so. A NodePool with the name of a Provisioner is left
// out.
func readNodePools(ctx context.Context, client kubernetes.Interface, custom dynamic.Interface, out *cluster.Survey) error {
	var objects []map[string]any
	for _, kind := range []schema.GroupResource{kinds.NodeClasses, kinds.NodePools} {
		found, err := newest(ctx, custom, kind)
		if apierrors.IsForbidden(err) {
			// The API server also returns Forbidden for kinds that it does not serve.
			if isServed(client, kind) {
				out.Hidden = append(out.Hidden, fmt.Sprintf("%s could not be read: %v", kind, err))
			}
			continue
		}
		if err != nil {
			return err
		}
		for _, u := range found {
			objects = append(objects, u.Object)
		}
	}
	for _, s := range karpenter.StandIns(objects) {
		if s.NodeTemplate != nil {
			out.NodeTemplates = append(out.NodeTemplates, s.NodeTemplate)
		} else if !slices.ContainsFunc(out.Provisioners, func(own *api.Provisioner) bool { return own.Name == s.Name }) {
			out.Provisioners = append(out.Provisioners, s.Provisioner)
		}
	}
	slices.SortFunc(out.Provisioners, func(a, b *api.Provisioner) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(out.NodeTemplates, func(a, b *api.AWSNodeTemplate) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// newest returns the objects of a kind of Karpenter, sorted by name, in the newest version that the
// cluster serves.
func newest(ctx context.Context, custom dynamic.Interface, kind schema.GroupResource) ([]*unstructured.Unstructured, error) {
	for _, version := range kinds.Versions {
		found, err := Objects(ctx, custom, kind.WithVersion(version))
		if err != nil || len(found) > 0 {
			return found, err
		}
	}
	return nil, nil
}

// isServed reports whether the cluster serves a kind of Karpenter. It is true if that cannot be found
// out.
func isServed(client kubernetes.Interface, kind schema.GroupResource) bool {
	return slices.ContainsFunc(kinds.Versions, func(version string) bool {
		served, err := serves(client, kind.WithVersion(version))
		return served || err != nil
	})
}

// Machines reports whether the cluster has the kind Machine, which only Karpenter 0.28 to 0.32 defines.
func Machines(client kubernetes.Interface) (bool, error) {
	return serves(client, api.ProvisionerGVR.GroupVersion().WithResource("machines"))
}

func serves(client kubernetes.Interface, kind schema.GroupVersionResource) (bool, error) {
	known, err := client.Discovery().ServerResourcesForGroupVersion(kind.GroupVersion().String())
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look up the kinds of %s: %w", kind.GroupVersion(), err)
	}
	return slices.ContainsFunc(known.APIResources, func(r metav1.APIResource) bool { return r.Name == kind.Resource }), nil
}

func decodeAll[T any](ctx context.Context, custom dynamic.Interface, kind schema.GroupVersionResource, decode func(map[string]any) (*T, finding.List, error), s *cluster.Survey) ([]*T, error) {
	objects, err := Objects(ctx, custom, kind)
	if err != nil {
		return nil, err
	}
	var out []*T
	for _, u := range objects {
		value, _, err := decode(u.Object)
		if err != nil {
			ref := cluster.ObjectRef{Kind: u.GetKind(), Name: u.GetName(), UID: string(u.GetUID())}
			s.Rejected = append(s.Rejected, cluster.Reading{Object: ref, Findings: finding.Of(err)})
			continue
		}
		out = append(out, value)
	}
	return out, nil
}
