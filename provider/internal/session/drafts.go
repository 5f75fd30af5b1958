package session

import (
	"maps"
	"slices"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/attr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// Drafts are the planned objects of the configuration. Objects that are planned later are checked together
// with them. Terraform plans a resource after those that it refers to. The zero value is empty.
type Drafts struct {
	mu           sync.Mutex
	provisioners map[string]drafted[*api.Provisioner]
	templates    map[string]drafted[*api.AWSNodeTemplate]
	count        Turn
	results      map[string]map[string]attr.Value
	profiles     map[string]bool
}

// AddInstanceProfile adds the name of a planned instance profile.
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

// Turn is the position of a draft among all drafts. The effect of a draft is the difference between the
// drafts up to its turn and those before it.
type Turn int

// drafted is a draft and its turn.
type drafted[T any] struct {
	object T
	turn   Turn
}

// AddProvisioner adds a planned Provisioner.
func (d *Drafts) AddProvisioner(p *api.Provisioner) Turn {
	d.mu.Lock()
	defer d.mu.Unlock()
	return add(&d.provisioners, &d.count, p.Name, p)
}

// AddTemplate adds a planned node profile.
func (d *Drafts) AddTemplate(t *api.AWSNodeTemplate) Turn {
	d.mu.Lock()
	defer d.mu.Unlock()
	return add(&d.templates, &d.count, t.Name, t)
}

func add[T any](drafts *map[string]drafted[T], count *Turn, name string, object T) Turn {
	if *drafts == nil {
		*drafts = map[string]drafted[T]{}
	}
	*count++
	(*drafts)[name] = drafted[T]{object, *count}
	return *count
}

// All returns the turn of the last draft.
func (d *Drafts) All() Turn {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.count
}

// SetResults records the computed attributes of a Provisioner that follow from its last check.
func (d *Drafts) SetResults(provisioner string, attributes map[string]attr.Value) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.results == nil {
		d.results = map[string]map[string]attr.Value{}
	}
	d.results[provisioner] = attributes
}

// Results returns what SetResults has recorded.
func (d *Drafts) Results(provisioner string) map[string]attr.Value {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.results[provisioner]
}

// Provisioners returns the live Provisioners, with the drafts up to a turn in the place of those that they
// change, sorted by name.
func (d *Drafts) Provisioners(live []*api.Provisioner, upTo Turn) []*api.Provisioner {
	d.mu.Lock()
	defer d.mu.Unlock()
	return overlay(live, d.provisioners, upTo, func(p *api.Provisioner) string { return p.Name })
}

// Templates is Provisioners for node profiles.
func (d *Drafts) Templates(live []*api.AWSNodeTemplate, upTo Turn) []*api.AWSNodeTemplate {
	d.mu.Lock()
	defer d.mu.Unlock()
	return overlay(live, d.templates, upTo, func(t *api.AWSNodeTemplate) string { return t.Name })
}

func overlay[T any](live []T, drafts map[string]drafted[T], upTo Turn, name func(T) string) []T {
	all := make(map[string]T, len(live)+len(drafts))
	for _, object := range live {
		all[name(object)] = object
	}
	for key, draft := range drafts {
		if draft.turn <= upTo {
			all[key] = draft.object
		}
	}
	out := make([]T, 0, len(all))
	for _, key := range slices.Sorted(maps.Keys(all)) {
		out = append(out, all[key])
	}
	return out
}
