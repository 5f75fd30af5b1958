package session

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Drafts are the planned objects of the configuration. Objects that are planned later are checked together
// with them. Terraform plans a resource after those that it refers to. The zero value is empty.
type Drafts struct {
	mu       sync.Mutex
	objects  []metav1.Object // by turn; nil where the object was planned again later
	results  map[string]map[string]attr.Value
	profiles map[string]bool
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

// Draft adds a planned Provisioner or node profile.
func Draft[T metav1.Object](d *Drafts, object T) Turn {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.objects {
		if earlier, same := d.objects[i].(T); same && earlier.GetName() == object.GetName() {
			d.objects[i] = nil
		}
	}
	d.objects = append(d.objects, object)
	return Turn(len(d.objects))
}

// Drafted returns the live objects, with the drafts up to a turn in the place of those that they change, sorted
// by name.
func Drafted[T metav1.Object](d *Drafts, live []T, upTo Turn) []T {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make(map[string]T, len(live))
	for _, object := range live {
		all[object.GetName()] = object
	}
	for _, object := range d.objects[:max(upTo, 0)] {
		if draft, ok := object.(T); ok {
			all[draft.GetName()] = draft
		}
	}
	return slices.SortedFunc(maps.Values(all), func(a, b T) int { return cmp.Compare(a.GetName(), b.GetName()) })
}

// All returns the turn of the last draft.
func (d *Drafts) All() Turn {
	d.mu.Lock()
	defer d.mu.Unlock()
	return Turn(len(d.objects))
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
