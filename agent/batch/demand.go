package batch

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// demand is how many pods an owner wants to have.
//
// A controller creates the pods of a large scale-up one after the other, which takes seconds or even
// minutes. Once the scheduler has found no node for the first of them, the agent buys machines for all:
// it adds expected replicas like the pods that exist. Only the decision and the machines know them;
// they are bound to no node, and no event is about them.
//
// For an owner that a HorizontalPodAutoscaler scales up in fast steps, the agent buys about every
// second step. Machines for few pods cost more per pod, because the kubelet and the system take a
// larger part of a small machine.
type demand struct {
	wanted  int
	certain bool          // nothing is known that may keep it from making them
	until   time.Time     // wanted holds
	grew    time.Time     // it came to want more; zero after it came to want less
	every   time.Duration // between its last two steps to more; 0 where there was one
}

// expected returns how many pods the owner will certainly have. It is 0 if that is not known.
func (d demand) expected(now time.Time) int {
	if !d.certain || now.After(d.until) {
		return 0
	}
	return d.wanted
}

// learn notes an owner's answer, which holds for the given time. Steps that are further apart are
// unrelated.
func (s *State) learn(a Answer, valid time.Duration, now time.Time) {
	s.forget(now, valid)
	uid := a.Pod.Owner.UID
	d, known := s.demands[uid]
	switch {
	case a.Err != nil && !known:
		return
	case a.Err != nil:
		d.certain = false
	case now.Sub(d.grew) > valid:
		d.grew, d.every = now, 0
	case a.Wanted.Pods > d.wanted:
		d.grew, d.every = now, now.Sub(d.grew)
	case a.Wanted.Pods < d.wanted:
		d.grew, d.every = time.Time{}, 0
	}
	if a.Err == nil {
		// Pods with volumes of their own are not like the one that is there.
		alike := len(a.Pod.Template.Claims) == 0 && !a.Pod.Template.ResourceClaims
		d.wanted, d.certain, d.until = a.Wanted.Pods, a.Wanted.Certain && alike, now.Add(valid)
	}
	if s.demands == nil {
		s.demands = map[string]demand{}
	}
	s.demands[uid] = d
}

// forget drops what has not held for the given time.
func (s *State) forget(now time.Time, valid time.Duration) {
	maps.DeleteFunc(s.demands, func(_ string, d demand) bool { return now.After(d.until) && now.Sub(d.grew) > valid })
}

// expectedPrefix starts the UID of an expected replica. UIDs of the API server have no slash.
const expectedPrefix = "expected/"

// IsExpected reports whether a pod is a replica that its owner has not made yet.
func IsExpected(p cluster.PodKey) bool { return strings.HasPrefix(p.UID, expectedPrefix) }

// maxExpected bounds the expected replicas of all owners together. Each is a pod of about 1 KiB to the
// decision, and whoever may create a Deployment chooses their number: a million would need more memory
// than the agent has, again after each restart. 5,000 is as many nodes as Kubernetes supports in one
// cluster, so that it limits no sensible step: machines for further replicas are bought once their pods
// exist.
const maxExpected = 5_000

// Expect returns the snapshot with the expected replicas of owners whose pods wait for a node. An owner
// whose pods also wait for something else, such as a scheduling gate, gets none. Expect does not change
// its argument.
func (s State) Expect(snapshot *cluster.Snapshot, now time.Time) *cluster.Snapshot {
	if len(s.demands) == 0 {
		return snapshot
	}
	have, model := made(snapshot), map[string]*cluster.Pod{}
	for p := range snapshot.EachPod() {
		switch d := s.demands[p.Owner.UID]; p.State {
		case cluster.PodPending:
			model[p.Owner.UID] = p
		case cluster.PodWaiting, cluster.PodFailing:
			have[p.Owner.UID] = max(have[p.Owner.UID], d.wanted)
		}
	}
	out := *snapshot
	out.Pods = slices.Clip(snapshot.Pods)
	missing := func(owner string) int { return max(0, s.demands[owner].expected(now)-have[owner]) }
	owners := slices.SortedFunc(maps.Keys(model), func(a, b string) int {
		return cmp.Or(cmp.Compare(missing(a), missing(b)), cmp.Compare(a, b))
	})
	for i, owner := range owners {
		// Each may have an equal part of what is left. Those that need less come first.
		left := maxExpected - (len(out.Pods) - len(snapshot.Pods))
		for n := range min(missing(owner), left/(len(owners)-i)) {
			out.Pods = append(out.Pods, replica(model[owner], n))
		}
	}
	if len(out.Pods) > len(snapshot.Pods) {
		out.Sort()
	}
	return &out
}

// made counts the pods of each owner, by UID, that are not being deleted.
func made(s *cluster.Snapshot) map[string]int {
	have := map[string]int{}
	for p := range s.EachPod() {
		if p.State != cluster.PodTerminating {
			have[p.Owner.UID]++
		}
	}
	return have
}

// replica returns the n-th expected replica, which will be like the given pod.
func replica(p *cluster.Pod, n int) cluster.Pod {
	out := *p
	out.Name = fmt.Sprintf("%s-expected-%d", p.Owner.Name, n)
	out.UID = fmt.Sprintf("%s%s/%d", expectedPrefix, p.Owner.UID, n)
	out.PresumedUnschedulable = true
	return out
}
