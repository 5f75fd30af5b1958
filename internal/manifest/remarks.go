package manifest

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// remarks are warnings about fields of which many objects may have the same. Each is made
// once, at the first of them.
type remarks struct {
	texts []string // in the order of the first fields
	at    map[string]*remark
}

type remark struct {
	object, path, advice string // of the first field; the object as Document.Object names it
	count                int
}

func (r *remarks) add(object, path, text, advice string) {
	if of := r.at[text]; of != nil {
		of.count++
		return
	}
	if r.at == nil {
		r.at = map[string]*remark{}
	}
	r.texts, r.at[text] = append(r.texts, text), &remark{object, path, advice, 1}
}

// addWaiting says why nothing is planned or bought for a pod, or for those of a workload, that is in the
// files as one to be scheduled. The object has the pod's spec at a path.
func (r *remarks) addWaiting(p *cluster.Pod, spec *corev1.PodSpec, object, path string) {
	theirs := p.NominatedNode != "" || p.Template.BelongsToNode() || !p.StopBy.IsZero()
	switch {
	case p.State == cluster.PodNew:
		r.add(object, "status", "the scheduler has not looked at these pods yet, so nothing is planned for them", "remove the status to plan for them")
	case p.State == cluster.PodFailing:
		r.add(object, "status", "the scheduler cannot bind these pods because of an error, so nothing is bought for them", "remove the status to plan for them")
	case p.State != cluster.PodWaiting || theirs:
	case len(spec.SchedulingGates) > 0:
		r.add(object, path+".schedulingGates", "pods wait until their scheduling gates are removed, and nothing is planned for them until then", "remove the gates to plan for them")
	case p.Template.SchedulerName != corev1.DefaultSchedulerName:
		r.add(object, path+".schedulerName", fmt.Sprintf("the scheduler %s places these pods, so nothing is planned for them", p.Template.SchedulerName), "")
	}
}

// addDoubts remarks on what is planned as it is written, although the author probably meant
// something else. The API server has not completed the pod's spec yet.
func (r *remarks) addDoubts(spec *corev1.PodSpec, object, path string) {
	r.addFractions(spec.InitContainers, object, path+".initContainers")
	r.addFractions(spec.Containers, object, path+".containers")
}

// addFractions remarks on requests of less than a byte.
func (r *remarks) addFractions(containers []corev1.Container, object, path string) {
	for i := range containers {
		asked := containers[i].Resources.Requests.Memory()
		if whole := asked.DeepCopy(); !whole.RoundUp(0) {
			r.add(object, fmt.Sprintf("%s[%d].resources.requests[memory]", path, i), fmt.Sprintf("%s is a fraction of a byte", asked), "use a unit such as Mi: m means a thousandth")
		}
	}
}

// remark makes the warnings.
func (b *Builder) remark(r *remarks) {
	for _, text := range r.texts {
		of := r.at[text]
		if of.count > 1 {
			text += fmt.Sprintf(" (%d objects in all)", of.count)
		}
		doc := b.seen[of.object]
		doc.Ignored = append(doc.Ignored, finding.Finding{Path: of.path, Text: finding.Plain(text), Advice: finding.Plain(of.advice)})
	}
}
