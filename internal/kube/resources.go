package kube

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// Provisioners returns those that can be read, as written, sorted by name. They
// may not be changed.
func (c *Cluster) Provisioners() []*api.Provisioner {
	out, _ := decodeAll(c.caches.provisioners, api.DecodeProvisioner)
	slices.SortFunc(out, func(a, b *api.Provisioner) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// NodeTemplates returns the node profiles that can be read, as written, sorted by
// name. They may not be changed.
func (c *Cluster) NodeTemplates() []*api.AWSNodeTemplate {
	out, _ := decodeAll(c.caches.nodeTemplates, api.DecodeNodeTemplate)
	slices.SortFunc(out, func(a, b *api.AWSNodeTemplate) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Rejected returns the Provisioners and node profiles that cannot be read.
func (c *Cluster) Rejected() []cluster.Rejection {
	_, provisioners := decodeAll(c.caches.provisioners, api.DecodeProvisioner)
	_, templates := decodeAll(c.caches.nodeTemplates, api.DecodeNodeTemplate)
	out := slices.Concat(provisioners, templates)
	slices.SortFunc(out, func(a, b cluster.Rejection) int {
		return cmp.Or(cmp.Compare(a.Object.Kind, b.Object.Kind), cmp.Compare(a.Object.Name, b.Object.Name))
	})
	return out
}

// decoded remembers what became of an object in a cache; see decodeAll.
type decoded struct {
	version string
	value   any
	err     error
}

// decodeAll decodes the objects of a cache, each version once.
func decodeAll[T any](m *mirror, decode func([]byte) (*T, []string, error)) ([]*T, []cluster.Rejection) {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := map[string]decoded{}
	var out []*T
	var rejected []cluster.Rejection
	for _, u := range list[*unstructured.Unstructured](m) {
		now, ok := m.decoded[string(u.GetUID())]
		if !ok || now.version != u.GetResourceVersion() {
			value, err := decodeOne(u, decode)
			now = decoded{version: u.GetResourceVersion(), value: value, err: err}
		}
		next[string(u.GetUID())] = now
		if now.err != nil {
			ref := cluster.ObjectRef{Kind: u.GetKind(), Name: u.GetName(), UID: string(u.GetUID())}
			rejected = append(rejected, cluster.Rejection{Object: ref, Err: now.err})
			continue
		}
		out = append(out, now.value.(*T))
	}
	m.decoded = next
	return out, rejected
}

func decodeOne[T any](u *unstructured.Unstructured, decode func([]byte) (*T, []string, error)) (*T, error) {
	asJSON, err := json.Marshal(u.Object)
	if err != nil {
		return nil, fmt.Errorf("encode %s %s: %w", u.GetKind(), u.GetName(), err)
	}
	value, _, err := decode(asJSON)
	return value, err
}
