package surge

import (
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// What is done next follows from the record, the Deployment as it is, the pods that have not left yet and the node.
func TestNext(t *testing.T) {
	at := func(replicas, available int, scaled bool) *cluster.Deployment {
		d := &cluster.Deployment{Replicas: replicas, Available: available, Settled: true}
		if scaled {
			d.Before = 2
		}
		return d
	}
	other := at(3, 3, true)
	other.Before = 1
	unsettled := at(3, 3, true)
	unsettled.Settled = false
	for name, c := range map[string]struct {
		deployment *cluster.Deployment
		back       bool
		gone       bool // the pod that was to leave
		stays      bool // the node
		grown      bool
		elsewhere  bool // its pods
		age        time.Duration
		want       action
		failed     bool
		moved      bool
	}{
		"nothing is done yet":                                  {deployment: at(2, 2, false), want: grow},
		"the node has no such pods":                            {deployment: at(2, 2, false), elsewhere: true, want: undo},
		"it is scaled up for pods that surge moves no more":    {deployment: at(3, 3, true), elsewhere: true, want: finish},
		"it had another number of replicas before":             {deployment: other, want: undo},
		"the same, and it is noted that all are ready":         {deployment: other, back: true, want: undo},
		"its pod is not ready yet":                             {deployment: at(3, 2, true), want: wait},
		"its controller has not seen it yet":                   {deployment: unsettled, want: wait},
		"all are ready":                                        {deployment: at(3, 3, true), want: finish},
		"that is noted, and it is not scaled back":             {deployment: at(3, 3, true), back: true, want: shrink},
		"it is not scaled back, and the node stays":            {deployment: at(3, 3, true), back: true, stays: true, want: shrink},
		"it is scaled back, and the pod has not gone":          {deployment: at(2, 3, false), back: true, want: wait},
		"the pod has gone":                                     {deployment: at(2, 2, false), back: true, gone: true, want: undo, moved: true},
		"another pod has gone":                                 {deployment: at(2, 2, false), back: true, age: time.Hour, want: undo, failed: true},
		"the pod has gone too early":                           {deployment: at(3, 3, true), gone: true, want: undo},
		"the node stays before it was scaled":                  {deployment: at(2, 2, false), stays: true, want: undo},
		"the node stays":                                       {deployment: at(3, 2, true), stays: true, want: undo},
		"no pod has become ready":                              {deployment: at(3, 2, true), age: time.Hour, want: undo, failed: true},
		"somebody has scaled it to another number":             {deployment: at(7, 7, false), want: undo, failed: true},
		"somebody has scaled it to the same number":            {deployment: at(3, 3, false), want: undo, failed: true},
		"somebody has scaled it back":                          {deployment: at(2, 2, false), grown: true, want: undo, failed: true},
		"somebody has scaled it to 0":                          {deployment: at(0, 0, false), gone: true, want: undo, failed: true},
		"somebody scales it after it was noted that all ready": {deployment: at(5, 3, false), back: true, want: undo, failed: true},
		"it is gone": {want: forget},
	} {
		r := &cluster.Surge{Replicas: 2, Pods: []cluster.SurgePod{{Name: "web-1", UID: "1"}}, Since: noon.Add(-c.age), Back: c.back}
		s := &state{record: r, deployment: c.deployment, left: 1, covered: !c.elsewhere, going: !c.stays, grown: c.grown, now: noon}
		if c.gone {
			s.left = 0
		}
		got := next(s)
		if got.do != c.want || (got.failed != "") != c.failed || got.moved != c.moved {
			t.Errorf("%s: %+v, want %d", name, got, c.want)
		}
	}
}
