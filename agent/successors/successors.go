// Package successors remembers the pods that have gone and whose successors have not come. The successor of a pod of a
// StatefulSet, for example, is made when its predecessor has gone: in between nothing in the cluster says that a node is
// needed.
package successors

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// patience is how long after a pod has gone that comes back its successor may take
// until the scheduler has tried it. If none comes, its StatefulSet, for example, has gone or
// shrunk.
const patience = 10 * time.Second

// Gone are the pods that have gone lately and come back, as those of StatefulSets do. The successor has
// the same name and often the same volume. Several purchases may
// look at the cluster at once. Losing them at a restart may cost a node that is bought again.
type Gone struct {
	mu    sync.Mutex
	there map[podName]cluster.Pod // on nodes, at the last call
	gone  map[podName]departed
}

type podName struct{ namespace, name string }

type departed struct {
	pod   cluster.Pod
	until time.Time
}

// Await returns the snapshot with the pods that have gone and whose successors are on
// their way, as if they were still going. The argument is not changed.
func (h *Gone) Await(s *cluster.Snapshot, now time.Time) *cluster.Snapshot {
	there, arrived := map[podName]cluster.Pod{}, map[podName]bool{}
	for p := range s.EachPod() {
		if !p.ComesBack() {
			continue
		}
		name := podName{p.Namespace, p.Name}
		if p.NodeName != "" {
			there[name] = *p
		}
		arrived[name] = p.State != cluster.PodNew
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, p := range h.there {
		if _, ok := there[name]; !ok {
			if h.gone == nil {
				h.gone = map[podName]departed{}
			}
			h.gone[name] = departed{p, now.Add(patience)}
		}
	}
	h.there = there
	maps.DeleteFunc(h.gone, func(name podName, d departed) bool { return arrived[name] || !now.Before(d.until) })
	if len(h.gone) == 0 {
		return s
	}
	out := *s
	out.Pods = slices.Clone(s.Pods)
	for _, d := range h.gone {
		p := d.pod
		p.State, p.StopBy = cluster.PodTerminating, now
		out.Pods = append(out.Pods, p)
	}
	out.Sort()
	return &out
}

// Resumes returns when successors are not waited for any more.
func (h *Gone) Resumes() (at []time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, d := range h.gone {
		at = append(at, d.until)
	}
	return at
}
