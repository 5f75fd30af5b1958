package manifest

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// indexes are ordinals of pods, as ranges: a Job may have a hundred thousand.
type indexes []span

// span is the ordinals from first to last, both included.
type span struct{ first, last int }

// parseIndexes reads a list such as "1,3-5,7", in which a Job's status has its indexes.
func parseIndexes(text string) (indexes, bool) {
	if text == "" {
		return nil, true
	}
	var out indexes
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(part, "-")
		first, err := strconv.ParseUint(from, 10, 31)
		last := first
		if err == nil && isRange {
			last, err = strconv.ParseUint(to, 10, 31)
		}
		if err != nil || last < first {
			return nil, false
		}
		out = append(out, span{int(first), int(last)})
	}
	return out, true
}

func (x indexes) count() int {
	n := 0
	for _, s := range x {
		n += s.last - s.first + 1
	}
	return n
}

// without returns the first ordinals, from a given one on, that are none of these.
func (x indexes) without(first, count int) []int {
	sorted := slices.SortedFunc(slices.Values(x), func(a, b span) int { return cmp.Compare(a.first, b.first) })
	out := make([]int, 0, count)
	for n := first; len(out) < count; n++ {
		for len(sorted) > 0 && sorted[0].first <= n {
			n, sorted = max(n, sorted[0].last+1), sorted[1:]
		}
		out = append(out, n)
	}
	return out
}

// ordinals are those of the pods that are to be created.
func (w *workload) ordinals() []int { return w.settled.without(w.first, w.count) }

// skip takes the ordinals of pods that exist off those that are to be created. Pods beyond
// the last ordinal of a StatefulSet are about to be deleted.
func (w *workload) skip(pods []*corev1.Pod) {
	left := w.count
	for _, pod := range pods {
		n, err := strconv.Atoi(w.ordinalOf(pod))
		if beyond := w.nameLabel != "" && (n < w.first || n-w.first >= w.count); err == nil && beyond {
			continue
		}
		if left--; err == nil {
			w.settled = append(w.settled, span{n, n})
		}
	}
	w.count = left
}

// ordinalOf returns the ordinal of a pod as it is written: a StatefulSet has it in the pod's
// name, an indexed Job in an annotation.
func (w *workload) ordinalOf(pod *corev1.Pod) string {
	if w.nameLabel != "" {
		return strings.TrimPrefix(pod.Name, w.owner.Name+"-")
	}
	return pod.Annotations[batchv1.JobCompletionIndexAnnotation]
}
