package aws

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// maxLearnt bounds the pairs of instance type and image that are remembered.
const maxLearnt = 5000

// learnt holds what registered nodes have shown: how much of the nominal memory
// is there, by instance type and image, and how much of it pods get, which also
// depends on how the kubelet is configured. Machines of a type differ by some pages,
// so that the smallest figure counts: an estimate may not be too high.
type learnt struct {
	mu          sync.Mutex
	memory      map[model]int64       // capacity, in bytes
	allocatable map[setup]amount.List // CPU and memory
	version     uint64                // changes with the content
}

// model is what decides about the memory that a kubelet finds.
type model struct{ instanceType, imageID string }

// setup is what decides about the memory that pods get.
type setup struct {
	model
	kubelet string // as JSON
}

func newLearnt() *learnt {
	return &learnt{memory: map[model]int64{}, allocatable: map[setup]amount.List{}}
}

// Learn takes over what a node has shown on its registration, so that later
// markets predict it. It is cheap to repeat.
func (c *Cloud) Learn(o offer.Observed) {
	if o.InstanceType == "" || o.ImageID == "" || o.Capacity[amount.Memory] <= 0 {
		return
	}
	c.learnt.add(o)
}

// Learnt returns the memory figures that Learn has put in the place of estimates,
// sorted by instance type and image.
func (c *Cloud) Learnt() []offer.Learnt { return c.learnt.list() }

func (l *learnt) add(o offer.Observed) {
	key := model{o.InstanceType, o.ImageID}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.memory) >= maxLearnt || len(l.allocatable) >= maxLearnt {
		clear(l.memory)
		clear(l.allocatable)
	}
	if known, ok := l.memory[key]; !ok || o.Capacity[amount.Memory] < known {
		l.memory[key] = o.Capacity[amount.Memory]
		l.version++
	}
	at := setup{key, kubeletKey(o.Kubelet)}
	known := l.allocatable[at]
	lower := maps.Clone(known)
	if lower == nil {
		lower = amount.List{}
	}
	for _, name := range []string{amount.CPU, amount.Memory} {
		seen, reported := o.Allocatable[name]
		if have, ok := lower[name]; reported && (!ok || seen < have) {
			lower[name] = seen
		}
	}
	if !maps.Equal(known, lower) {
		l.allocatable[at] = lower
		l.version++
	}
}

// correct puts what was learnt in the place of what was estimated. The lists of t
// are t's own.
func (l *learnt) correct(t *offer.InstanceType, imageID, kubelet string) {
	key := model{t.Name, imageID}
	l.mu.Lock()
	defer l.mu.Unlock()
	if memory, ok := l.memory[key]; ok {
		t.Capacity[amount.Memory] = memory
	}
	for name, allocatable := range l.allocatable[setup{key, kubelet}] {
		t.Overhead[name] = max(t.Capacity[name]-allocatable, 0)
	}
}

func (l *learnt) state() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.version
}

func (l *learnt) list() []offer.Learnt {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]offer.Learnt, 0, len(l.memory))
	for key, memory := range l.memory {
		out = append(out, offer.Learnt{InstanceType: key.instanceType, ImageID: key.imageID, Memory: memory})
	}
	slices.SortFunc(out, func(a, b offer.Learnt) int {
		return cmp.Or(cmp.Compare(a.InstanceType, b.InstanceType), cmp.Compare(a.ImageID, b.ImageID))
	})
	return out
}

// kubeletKey identifies a kubelet configuration; one that says nothing is as none.
func kubeletKey(k *api.KubeletConfiguration) string {
	if k == nil {
		k = &api.KubeletConfiguration{}
	}
	text, err := json.Marshal(k)
	if err != nil {
		return "" // cannot be: it was read from JSON
	}
	return string(text)
}
