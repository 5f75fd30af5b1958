package aws

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// maxLearnt is the number of entries at which everything is forgotten.
const maxLearnt = 5000

// learnt remembers the capacity of registered nodes by instance type and image, and their
// allocatable resources, which also depend on the kubelet's configuration and on the node profile:
// the file systems of its volumes are a little smaller than they are, and its user data may say what
// the kubelet reserves and how many pods it takes. The memory of machines of one type differs by a few
// pages. The smallest figure counts, because a prediction must not be too high; see [offer.Devices] for devices.
type learnt struct {
	mu          sync.Mutex
	memory      map[model]int64 // capacity, in bytes
	allocatable map[setup]amount.List
	devices     map[setup]offer.Devices
	devised     sets.Set[string] // Provisioners whose nodes have shown devices
	version     uint64           // changes with the content
}

// model determines the memory that a kubelet finds. No image stands for all of them: which one a
// launch template of the user's own names is not known before a machine runs.
type model struct{ instanceType, imageID string }

// setup determines the resources that pods get, and how many there may be.
type setup struct {
	model
	kubelet string // as JSON
	profile string // SizeHash of the node profile
	// provisioner is set for devices, because the labels of its nodes decide which device plugin they run.
	provisioner string
}

func newLearnt() *learnt {
	return &learnt{memory: map[model]int64{}, allocatable: map[setup]amount.List{}, devices: map[setup]offer.Devices{}, devised: sets.New[string]()}
}

// Learn remembers what a node reported when it registered, for the predictions of later
// markets. Repeating it is cheap.
func (c *Cloud) Learn(o offer.Observed) {
	if o.InstanceType == "" || o.ImageID == "" || o.Capacity[amount.Memory] <= 0 {
		return
	}
	c.learnt.add(o)
}

// Learnt returns the memory capacities that Learn has remembered, sorted by instance type and
// image.
func (c *Cloud) Learnt() []offer.Learnt { return c.learnt.list() }

func (l *learnt) add(o offer.Observed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.memory) >= maxLearnt || len(l.allocatable) >= maxLearnt {
		clear(l.memory)
		clear(l.allocatable)
		clear(l.devices)
		clear(l.devised)
	}
	l.addTo(model{o.InstanceType, o.ImageID}, &o)
	l.addTo(model{o.InstanceType, ""}, &o)
}

func (l *learnt) addTo(key model, o *offer.Observed) {
	if known, ok := l.memory[key]; !ok || o.Capacity[amount.Memory] < known {
		l.memory[key] = o.Capacity[amount.Memory]
		l.version++
	}
	shared := setup{key, kubeletKey(o.Kubelet), o.Profile.SizeHash(), ""}
	for name, seen := range o.Allocatable {
		at := shared
		if offer.Device(name) {
			at.provisioner = o.Provisioner
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

// correct replaces the estimates of t by what was learnt, of all images if the setup has none. It changes
// t's lists in place. Without ownPods, the agent itself tells the kubelet how many pods it takes: its
// options say so, and they may have changed since a node reported.
func (l *learnt) correct(t *offer.InstanceType, at setup, ownPods bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if memory, ok := l.memory[at.model]; ok {
		t.Capacity[amount.Memory] = memory
	}
	shared := at
	shared.provisioner = ""
	for _, at := range []setup{shared, at} {
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

// state returns a text that changes with the content. Only Provisioners whose nodes have shown devices have one of their own.
func (l *learnt) state(provisioner string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.devised.Has(provisioner) {
		provisioner = ""
	}
	return fmt.Sprintf("%d %s", l.version, provisioner)
}

func (l *learnt) list() []offer.Learnt {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]offer.Learnt, 0, len(l.memory))
	for key, memory := range l.memory {
		if key.imageID == "" {
			continue
		}
		out = append(out, offer.Learnt{InstanceType: key.instanceType, ImageID: key.imageID, Memory: memory})
	}
	slices.SortFunc(out, func(a, b offer.Learnt) int {
		return cmp.Or(cmp.Compare(a.InstanceType, b.InstanceType), cmp.Compare(a.ImageID, b.ImageID))
	})
	return out
}

// kubeletKey identifies a kubelet configuration. None is the same as an empty one.
func kubeletKey(k *api.KubeletConfiguration) string {
	if k == nil {
		k = &api.KubeletConfiguration{}
	}
	text, err := json.Marshal(k)
	if err != nil {
		return "" // cannot happen: it was read from JSON
	}
	return string(text)
}
