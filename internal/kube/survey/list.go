package survey

import (
	"context"
	"encoding/json"
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

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/call"
)

const (
	pageSize = 500
	// maxPages bounds the pages of one kind.
	maxPages = 2000
)

// each calls use with every object of a kind, page by page.
func each[L runtime.Object, T any](ctx context.Context, o metav1.ListOptions, list func(context.Context, metav1.ListOptions) (L, error), use func(*T)) error {
	o.Limit = pageSize
	for range maxPages {
		page, err := call.Get(ctx, func(ctx context.Context) (L, error) { return list(ctx, o) })
		if err != nil {
			return fmt.Errorf("list objects of type %T: %w", *new(T), err)
		}
		err = meta.EachListItem(page, func(object runtime.Object) error {
			item, ok := object.(any).(*T)
			if !ok {
				return fmt.Errorf("a list of %T holds %T", *new(T), object)
			}
			use(item)
			return nil
		})
		if err != nil {
			return err
		}
		listed, err := meta.ListAccessor(page)
		if err != nil {
			return err
		}
		if o.Continue = listed.GetContinue(); o.Continue == "" {
			return nil
		}
	}
	return fmt.Errorf("list objects of type %T: more than %d pages", *new(T), maxPages)
}

// Objects lists the custom resources of a kind; none where the cluster does not
// know it.
func Objects(ctx context.Context, custom dynamic.Interface, kind schema.GroupVersionResource) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	err := each(ctx, metav1.ListOptions{}, custom.Resource(kind).List, func(u *unstructured.Unstructured) { out = append(out, u) })
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil, nil
	}
	slices.SortFunc(out, func(a, b *unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	return out, err
}

func readCustom(ctx context.Context, custom dynamic.Interface, out *cluster.Survey) error {
	var err error
	if out.Provisioners, err = decodeAll(ctx, custom, api.ProvisionerGVR, api.DecodeProvisioner, out); err != nil {
		return err
	}
	out.NodeTemplates, err = decodeAll(ctx, custom, api.NodeTemplateGVR, api.DecodeNodeTemplate, out)
	return err
}

func decodeAll[T any](ctx context.Context, custom dynamic.Interface, kind schema.GroupVersionResource, decode func([]byte) (*T, api.Findings, error), s *cluster.Survey) ([]*T, error) {
	objects, err := Objects(ctx, custom, kind)
	if err != nil {
		return nil, err
	}
	var out []*T
	for _, u := range objects {
		asJSON, err := json.Marshal(u.Object)
		if err != nil {
			return nil, fmt.Errorf("encode %s %s: %w", u.GetKind(), u.GetName(), err)
		}
		value, _, err := decode(asJSON)
		if err != nil {
			ref := cluster.ObjectRef{Kind: u.GetKind(), Name: u.GetName(), UID: string(u.GetUID())}
			s.Rejected = append(s.Rejected, cluster.Reading{Object: ref, Findings: api.FindingsOf(err)})
			continue
		}
		out = append(out, value)
	}
	return out, nil
}
