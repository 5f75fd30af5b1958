// Package learnt remembers what registered nodes have shown of their instance types.
package learnt

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// maxEntries is the number of entries at which half of the models are forgotten.
const maxEntries = 5000

// Store remembers the capacity of registered nodes by instance type and image, and their
// allocatable resources, which also depend on the kubelet's configuration and on the node profile:
// the file systems of its volumes are a little smaller than they are, and its user data may say what
// the kubelet reserves and how many pods it takes. The memory of machines of one type differs by a few
// pages. The smallest figure counts, because a prediction must not be too high; see [offer.Devices] for devices.
type Store struct {
	mu          sync.Mutex
	memory      map[Model]int64 // capacity, in bytes
	allocatable map[Setup]amount.List
	devices     map[Setup]offer.Devices
	devised     sets.Set[string] // Provisioners whose nodes have shown devices
	uses        uint64           // so far: by nodes that show something, and by predictions
	used        map[Model]uint64 // the last use
	version     uint64           // changes with the content
}

// Model determines the memory that a kubelet finds. No image stands for all of them: which one a
// launch template of the user's own names is not known before a machine runs.
type Model struct{ InstanceType, ImageID string }

// Setup determines the resources that pods get, and how many there may be.
type Setup struct {
	Model
	Kubelet string // as JSON; see KubeletKey
	Profile string // SizeHash of the node profile
	// Provisioner is set for devices, because the labels of its nodes decide which device plugin they run.
	Provisioner string
}

// New returns an empty Store.
func New() *Store {
	return &Store{memory: map[Model]int64{}, allocatable: map[Setup]amount.List{}, devices: map[Setup]offer.Devices{}, devised: sets.New[string](), used: map[Model]uint64{}}
}

// Add remembers what a node reported when it registered. Repeating it is cheap.
func (l *Store) Add(o offer.Observed) {
	if o.InstanceType == "" || o.ImageID == "" || o.Capacity[amount.Memory] <= 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.memory) >= maxEntries || len(l.allocatable) >= maxEntries {
		l.forget()
	}
	l.addTo(Model{o.InstanceType, o.ImageID}, &o)
	l.addTo(Model{o.InstanceType, ""}, &o)
}

// forget drops the half of the models that was not used for the longest time, such as those with images that have been
// replaced. Nodes show what they have only once, so what predictions use must stay.
func (l *Store) forget() {
	uses := slices.Sorted(maps.Values(l.used))
	until := uses[len(uses)/2]
	old := func(m Model) bool { return l.used[m] <= until }
	maps.DeleteFunc(l.memory, func(m Model, _ int64) bool { return old(m) })
	maps.DeleteFunc(l.allocatable, func(at Setup, _ amount.List) bool { return old(at.Model) })
	maps.DeleteFunc(l.devices, func(at Setup, _ offer.Devices) bool { return old(at.Model) })
	maps.DeleteFunc(l.used, func(m Model, _ uint64) bool { return old(m) })
	l.version++
}

// use notes that a model is used now.
func (l *Store) use(m Model) {
	l.uses++
	l.used[m] = l.uses
}

func (l *Store) addTo(key Model, o *offer.Observed) {
	l.use(key)
	if known, ok := l.memory[key]; !ok || o.Capacity[amount.Memory] < known {
		l.memory[key] = o.Capacity[amount.Memory]
		l.version++
	}
	shared := Setup{key, KubeletKey(o.Kubelet), o.Profile.SizeHash(), ""}
	for name, seen := range o.Allocatable {
		at := shared
		if offer.Device(name) {
			at.Provisioner = o.Provisioner
			l.devised.Insert(o.Provisioner)
		}
		if l.allocatable[at] == nil {
			l.allocatable[at], l.devices[at] = amount.List{}, offer.Devices{}
		}
		if l.devices[at].Add(o.Node, amount.List{name: seen}) {
			l.version++
		}
		if have, ok := l.allocatable[at][name]; !ok || seen < have {
			l.allocatable[at][name] = seen
			l.version++
		}
	}
}

// Correct replaces the estimates of t by what was learnt, of all images if the setup has none. It changes
// t's lists in place. Without ownPods, the agent itself tells the kubelet how many pods it takes: its
// options say so, and they may have changed since a node reported.
func (l *Store) Correct(t *offer.InstanceType, at Setup, ownPods bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if memory, ok := l.memory[at.Model]; ok {
		t.Capacity[amount.Memory] = memory
		l.use(at.Model)
	}
	shared := at
	shared.Provisioner = ""
	for _, at := range []Setup{shared, at} {
		for name, allocatable := range l.allocatable[at] {
			known, huge := t.Capacity[name], allocatable > 0 && strings.HasPrefix(name, "hugepages-")
			if name == amount.Pods && !ownPods || known == 0 && !huge {
				continue
			}
			if huge || name == amount.EphemeralStorage || offer.Device(name) { // of which images, user data and device plugins make more
				t.Capacity[name] = max(known, allocatable)
			}
			if !amount.Extended(name) {
				t.Overhead[name] = max(t.Capacity[name]-allocatable, 0)
			}
		}
		l.devices[at].Bound(t.Capacity)
	}
}

// State returns a text that changes with the content. Only Provisioners whose nodes have shown devices have one of their own.
func (l *Store) State(provisioner string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.devised.Has(provisioner) {
		provisioner = ""
	}
	return fmt.Sprintf("%d %s", l.version, provisioner)
}

// List returns the memory capacities that are known, sorted by instance type and image.
func (l *Store) List() []offer.Learnt {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]offer.Learnt, 0, len(l.memory))
	for key, memory := range l.memory {
		if key.ImageID == "" {
			continue
		}
		out = append(out, offer.Learnt{InstanceType: key.InstanceType, ImageID: key.ImageID, Memory: memory})
	}
	slices.SortFunc(out, func(a, b offer.Learnt) int {
		return cmp.Or(cmp.Compare(a.InstanceType, b.InstanceType), cmp.Compare(a.ImageID, b.ImageID))
	})
	return out
}

// KubeletKey identifies a kubelet configuration. None is the same as an empty one.
func KubeletKey(k *api.KubeletConfiguration) string {
	if k == nil {
		k = &api.KubeletConfiguration{}
	}
	text, err := json.Marshal(k)
	if err != nil {
		return "" // cannot happen: it was read from JSON
	}
	return string(text)
}
