package kube

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// Provisioners returns the Provisioners that can be decoded, without defaults, and those that stand
// for NodePools, sorted by name. They must not be changed.
func (c *Cluster) Provisioners() []*api.Provisioner {
	out, _ := decodeAll(c.caches.provisioners, api.ProvisionerOf)
	own := len(out)
	for _, p := range c.pools.take().provisioners {
		if slices.ContainsFunc(out[:own], func(o *api.Provisioner) bool { return o.Name == p.Name }) {
			reportTaken(c, p)
			continue
		}
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b *api.Provisioner) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// NodeTemplates returns the node profiles that can be decoded, without defaults, and those that
// stand for EC2NodeClasses, sorted by name. They must not be changed.
func (c *Cluster) NodeTemplates() []*api.AWSNodeTemplate {
	out, _ := decodeAll(c.caches.nodeTemplates, api.NodeTemplateOf)
	out = append(out, c.pools.take().templates...)
	slices.SortFunc(out, func(a, b *api.AWSNodeTemplate) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Readings returns the findings about Provisioners and node profiles. Objects with errors among
// their findings cannot be decoded.
func (c *Cluster) Readings() []cluster.Reading {
	_, provisioners := decodeAll(c.caches.provisioners, api.ProvisionerOf)
	_, templates := decodeAll(c.caches.nodeTemplates, api.NodeTemplateOf)
	out := slices.Concat(provisioners, templates, c.pools.take().readings)
	slices.SortFunc(out, func(a, b cluster.Reading) int {
		return cmp.Or(cmp.Compare(a.Object.Kind, b.Object.Kind), cmp.Compare(a.Object.Name, b.Object.Name))
	})
	return out
}

// decoded is the result of decoding one version of an object.
type decoded struct {
	version  string
	value    any // nil for an object that cannot be decoded
	findings finding.List
}

// decodeAll returns the decoded objects of a cache and their findings. It decodes each version of
// an object only once.
func decodeAll[T any](m *mirror, decode func(map[string]any) (*T, finding.List, error)) ([]*T, []cluster.Reading) {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := map[string]decoded{}
	var out []*T
	var readings []cluster.Reading
	for _, u := range list[*unstructured.Unstructured](m) {
		now, ok := m.decoded[string(u.GetUID())]
		if !ok || now.version != u.GetResourceVersion() {
			now = decodeOne(u, decode)
		}
		next[string(u.GetUID())] = now
		if len(now.findings) > 0 {
			ref := cluster.ObjectRef{Kind: u.GetKind(), Name: u.GetName(), UID: string(u.GetUID())}
			readings = append(readings, cluster.Reading{Object: ref, Findings: now.findings, Deleted: u.GetDeletionTimestamp(), Finalizers: u.GetFinalizers()})
		}
		if now.value != nil {
			out = append(out, now.value.(*T))
		}
	}
	m.decoded = next
	return out, readings
}

func decodeOne[T any](u *unstructured.Unstructured, decode func(map[string]any) (*T, finding.List, error)) decoded {
	value, found, err := decode(u.Object)
	out := decoded{version: u.GetResourceVersion(), findings: append(found, finding.Of(err)...)}
	if err == nil {
		out.value = value
	}
	return out
}
