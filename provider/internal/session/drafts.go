package session

import (
	"maps"
	"slices"
	"sync"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// Drafts are the objects that the configuration is about to declare, so that
// those that are planned later can be judged together with them. Terraform plans
// what is referred to first. The zero value is empty.
type Drafts struct {
	mu           sync.Mutex
	provisioners map[string]*api.Provisioner
	templates    map[string]*api.AWSNodeTemplate
	replaced     map[string]int
	profiles     map[string]bool
}

// AddInstanceProfile keeps the name of a planned instance profile.
func (d *Drafts) AddInstanceProfile(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.profiles == nil {
		d.profiles = map[string]bool{}
	}
	d.profiles[name] = true
}

// HasInstanceProfile reports whether an instance profile of the name is planned.
func (d *Drafts) HasInstanceProfile(name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.profiles[name]
}

// AddProvisioner keeps a planned Provisioner.
func (d *Drafts) AddProvisioner(p *api.Provisioner) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.provisioners == nil {
		d.provisioners = map[string]*api.Provisioner{}
	}
	d.provisioners[p.Name] = p
}

// AddTemplate keeps a planned node profile.
func (d *Drafts) AddTemplate(t *api.AWSNodeTemplate) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.templates == nil {
		d.templates = map[string]*api.AWSNodeTemplate{}
	}
	d.templates[t.Name] = t
}

// SetReplaced keeps how many nodes the change of a Provisioner replaces.
func (d *Drafts) SetReplaced(provisioner string, nodes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.replaced == nil {
		d.replaced = map[string]int{}
	}
	d.replaced[provisioner] = nodes
}

// Replaced returns what SetReplaced has kept.
func (d *Drafts) Replaced(provisioner string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.replaced[provisioner]
}

// Provisioners returns the live ones with the drafts in place of those that they
// change, in the order of their names.
func (d *Drafts) Provisioners(live []*api.Provisioner) []*api.Provisioner {
	d.mu.Lock()
	defer d.mu.Unlock()
	return overlay(live, d.provisioners, func(p *api.Provisioner) string { return p.Name })
}

// Templates does the same for node profiles.
func (d *Drafts) Templates(live []*api.AWSNodeTemplate) []*api.AWSNodeTemplate {
	d.mu.Lock()
	defer d.mu.Unlock()
	return overlay(live, d.templates, func(t *api.AWSNodeTemplate) string { return t.Name })
}

func overlay[T any](live []T, drafts map[string]T, name func(T) string) []T {
	all := make(map[string]T, len(live)+len(drafts))
	for _, object := range live {
		all[name(object)] = object
	}
	maps.Copy(all, drafts)
	out := make([]T, 0, len(all))
	for _, key := range slices.Sorted(maps.Keys(all)) {
		out = append(out, all[key])
	}
	return out
}
