package drain

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// What a drain waits for follows from the node, its pods and the time.
func TestDrainStep(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	pod := func(name string, edits ...func(*cluster.Pod)) *cluster.Pod {
		p := &cluster.Pod{PodKey: cluster.PodKey{Namespace: "d", Name: name}, State: cluster.PodBound, Template: &cluster.Template{}}
		for _, e := range edits {
			e(p)
		}
		return p
	}
	stopBy := func(d time.Duration) func(*cluster.Pod) {
		return func(p *cluster.Pod) { p.State, p.StopBy = cluster.PodTerminating, now.Add(d) }
	}
	finalizer := func(p *cluster.Pod) { p.Finalizers = []string{"example.com/hold"} }
	critical := func(p *cluster.Pod) { p.Template.Critical = true }
	protected := func(p *cluster.Pod) { p.Running, p.Template.DoNotDisrupt = true, true }
	tolerates := func(key string) func(*cluster.Pod) {
		return func(p *cluster.Pod) {
			p.Template.Tolerations = []corev1.Toleration{{Key: key, Operator: corev1.TolerationOpExists}}
		}
	}
	came := func(ago time.Duration) func(*cluster.Pod) {
		return func(p *cluster.Pod) { p.Running, p.Since, p.Template.DoNotDisruptFor = true, now.Add(-ago), time.Hour }
	}
	for name, c := range map[string]struct {
		pods   []*cluster.Pod
		silent time.Duration // for how long the kubelet has been
		limit  time.Duration
		asked  time.Duration // how long ago the deletion was asked for
		budget bool          // a budget has refused the evictions
		pool   bool          // a NodePool has made the node
		lost   bool          // the machine is taken back
		wants  string        // the pods that are waited for
		spares string        // those of them that are not evicted
		says   string
		cause  Cause
	}{
		"nothing there":                     {},
		"a pod that was not asked yet":      {pods: []*cluster.Pod{pod("a")}, wants: "a"},
		"critical ones come last":           {pods: []*cluster.Pod{pod("a"), pod("c", critical)}, wants: "a"},
		"when the others are gone":          {pods: []*cluster.Pod{pod("c", critical)}, wants: "c"},
		"a DaemonSet's pod stays":           {pods: []*cluster.Pod{pod("a", func(p *cluster.Pod) { p.Template.DaemonSet = true })}},
		"nor one that tolerates the taint":  {pods: []*cluster.Pod{pod("a", tolerates(api.TaintDisruption))}},
		"the taint of a NodePool's node":    {pods: []*cluster.Pod{pod("a", tolerates(api.TaintDisrupted))}, pool: true},
		"which other nodes do not get":      {pods: []*cluster.Pod{pod("a", tolerates(api.TaintDisrupted))}, wants: "a"},
		"within its grace period":           {pods: []*cluster.Pod{pod("a", stopBy(time.Hour))}, wants: "a"},
		"in it, the kubelet silent a while": {pods: []*cluster.Pod{pod("a", stopBy(time.Hour))}, silent: 20 * time.Second, wants: "a", cause: HeldByKubelet, says: "silent since 11:59:40 UTC and cannot stop pod d/a; the instance will be terminated at 12:04:40 UTC even if the pod is still there"},
		"in it, the kubelet silent long":    {pods: []*cluster.Pod{pod("a", stopBy(time.Hour))}, silent: 5 * time.Minute},
		"not asked, the kubelet silent":     {pods: []*cluster.Pod{pod("a")}, silent: time.Hour, wants: "a"},
		"refused, silent a while":           {pods: []*cluster.Pod{pod("a", finalizer)}, budget: true, silent: time.Minute, wants: "a", cause: HeldByKubelet, says: "silent since 11:59:00 UTC and cannot stop pod d/a"},
		"refused, silent long":              {pods: []*cluster.Pod{pod("a"), pod("c", critical)}, budget: true, silent: time.Hour, cause: HeldByKubelet, says: "the instance will be terminated even if the pod is still there"},
		"refused, it answers":               {pods: []*cluster.Pod{pod("a")}, budget: true, wants: "a"},
		"a little late":                     {pods: []*cluster.Pod{pod("a", stopBy(-4*time.Minute))}, wants: "a"},
		"late":                              {pods: []*cluster.Pod{pod("a", stopBy(-5*time.Minute))}, wants: "a", cause: HeldByPod, says: "pod d/a has not stopped, although its grace period ended at 2026-01-01 11:55:00 UTC; the instance will be terminated at 2026-01-01 12:10:00 UTC even if the pod is still there"},
		"too late":                          {pods: []*cluster.Pod{pod("a", stopBy(-15*time.Minute))}, cause: HeldByPod, says: "the instance will be terminated even if the pod is still there"},
		"too late, and another":             {pods: []*cluster.Pod{pod("a", stopBy(-15*time.Minute)), pod("b")}, wants: "b", cause: HeldByPod},
		"a finalizer in the grace period":   {pods: []*cluster.Pod{pod("a", finalizer, stopBy(time.Second))}, wants: "a"},
		"a finalizer after it":              {pods: []*cluster.Pod{pod("a", finalizer, stopBy(0))}, wants: "a", cause: HeldByFinalizer, says: "pod d/a should have gone by 2026-01-01 12:00:00 UTC and is held by its finalizer example.com/hold"},
		"the limit is over, not asked":      {pods: []*cluster.Pod{pod("a")}, limit: time.Minute, asked: time.Hour, wants: "a"},
		"the limit is over, in its grace":   {pods: []*cluster.Pod{pod("a", stopBy(10*365*24*time.Hour))}, limit: time.Minute, asked: time.Hour, wants: "a", cause: HeldByPod, says: "terminationGracePeriod ended at 2026-01-01 11:01:00 UTC, but pod d/a may take until 2035-12-30 12:00:00 UTC to stop because of its own grace period"},
		"the limit is over, and its grace":  {pods: []*cluster.Pod{pod("a", stopBy(-cluster.ClockSkew))}, limit: time.Minute, asked: time.Hour},
		"that ends now, by our clock":       {pods: []*cluster.Pod{pod("a", stopBy(0))}, limit: time.Minute, asked: time.Hour, wants: "a"},
		"it must not be disrupted":          {pods: []*cluster.Pod{pod("a", protected), pod("b")}, wants: "a b"},
		"nor that of a NodePool":            {pods: []*cluster.Pod{pod("a", protected), pod("b")}, pool: true, wants: "a b", spares: "a", cause: HeldByAnnotation, says: "pod d/a must not be disrupted, so the drain waits for it"},
		"for a time":                        {pods: []*cluster.Pod{pod("a", came(time.Minute))}, pool: true, wants: "a", spares: "a", cause: HeldByAnnotation},
		"for a time that is over":           {pods: []*cluster.Pod{pod("a", came(time.Hour))}, pool: true, wants: "a"},
		"it has not been started":           {pods: []*cluster.Pod{pod("a", protected, func(p *cluster.Pod) { p.Running = false })}, pool: true, wants: "a"},
		"it must not be, within the limit":  {pods: []*cluster.Pod{pod("a", protected)}, pool: true, limit: time.Hour, asked: time.Minute, wants: "a", spares: "a", cause: HeldByAnnotation, says: "the drain waits for it until 2026-01-01 12:59:00 UTC at most"},
		"nor after the limit":               {pods: []*cluster.Pod{pod("a", protected)}, pool: true, limit: time.Minute, asked: time.Hour, wants: "a"},
		"its machine is taken back":         {pods: []*cluster.Pod{pod("a", protected)}, pool: true, lost: true, wants: "a"},
		"its kubelet is silent a while":     {pods: []*cluster.Pod{pod("a", protected)}, pool: true, silent: time.Minute, wants: "a", spares: "a", cause: HeldByAnnotation},
		"its kubelet is silent long":        {pods: []*cluster.Pod{pod("a", protected)}, pool: true, silent: 5 * time.Minute, wants: "a"},
		"the limit is not over":             {pods: []*cluster.Pod{pod("a", stopBy(0))}, limit: time.Hour, asked: time.Minute, wants: "a"},
	} {
		d := step{node: &cluster.Node{DeletedAt: now.Add(-c.asked)}, pods: c.pods, limit: c.limit, now: now}
		if c.silent > 0 {
			d.node.SilentSince, d.node.UnreadySince = now.Add(-c.silent), now.Add(-c.silent)
		}
		for _, p := range c.pods {
			d.refused = map[string]bool{p.UID: c.budget}
		}
		if c.pool {
			d.node.Labels = map[string]string{api.LabelNodePool: "pool"}
		}
		if c.lost {
			d.node.Annotations = map[string]string{api.AnnotationInterrupted: "true"}
		}
		var names, spared []string
		for _, p := range d.next() {
			names = append(names, p.Name)
			if d.spares(p) {
				spared = append(spared, p.Name)
			}
		}
		if got := strings.Join(names, " "); got != c.wants {
			t.Errorf("%s: it waits for %q, want %q", name, got, c.wants)
		}
		if got := strings.Join(spared, " "); got != c.spares {
			t.Errorf("%s: it spares %q, want %q", name, got, c.spares)
		}
		var got holdUp
		for _, h := range d.held() {
			got = h
		}
		if got.cause != c.cause || !strings.Contains(got.text, c.says) {
			t.Errorf("%s: held up by %+v, want %s: %s", name, got, c.cause, c.says)
		}
	}
}

// The terminationGracePeriod of a NodePool bounds the whole drain. That of a Provisioner only says when pods are
// deleted instead of evicted, each with its own grace period.
func TestPodsThatEndAtTheLimit(t *testing.T) {
	const limit = 10 * time.Minute
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	years := 10 * 365 * 24 * time.Hour
	bound := func(grace time.Duration) *cluster.Pod {
		return &cluster.Pod{State: cluster.PodBound, Grace: grace, Template: &cluster.Template{}}
	}
	stopping := func(in time.Duration) *cluster.Pod {
		return &cluster.Pod{State: cluster.PodTerminating, StopBy: now.Add(in), Template: &cluster.Template{}}
	}
	for name, c := range map[string]struct {
		pod         *cluster.Pod
		provisioner bool // and not a NodePool
		asked       time.Duration
		ends        bool
		within      time.Duration
	}{
		"there is time":                              {pod: bound(30 * time.Second), asked: time.Minute},
		"as much as it needs is left":                {pod: bound(30 * time.Second), asked: limit - 30*time.Second, ends: true, within: 30 * time.Second},
		"it asks for years":                          {pod: bound(years), asked: time.Second, ends: true, within: limit - time.Second},
		"the limit is over":                          {pod: bound(30 * time.Second), asked: time.Hour, ends: true, within: time.Second},
		"it was asked to stop within years":          {pod: stopping(years), asked: time.Minute, ends: true, within: limit - time.Minute},
		"it was asked to stop in time":               {pod: stopping(8 * time.Minute), asked: time.Minute},
		"as far as clocks tell":                      {pod: stopping(time.Minute), asked: limit},
		"a critical one does not wait for others":    {pod: &cluster.Pod{State: cluster.PodBound, Grace: years, Template: &cluster.Template{Critical: true}}, ends: true, within: limit},
		"a DaemonSet's pod stays":                    {pod: &cluster.Pod{State: cluster.PodBound, Grace: years, Template: &cluster.Template{DaemonSet: true}}, asked: time.Hour},
		"of a Provisioner, within the limit":         {pod: bound(years), provisioner: true, asked: time.Minute},
		"of a Provisioner, the limit is over":        {pod: bound(years), provisioner: true, asked: time.Hour, ends: true},
		"of a Provisioner, and it was asked to stop": {pod: stopping(years), provisioner: true, asked: time.Hour},
	} {
		s := step{node: &cluster.Node{DeletedAt: now.Add(-c.asked)}, pods: []*cluster.Pod{bound(0), c.pod}, limit: limit, now: now}
		if !c.provisioner {
			s.node.Labels = map[string]string{api.LabelNodePool: "pool"}
		}
		if got := slices.Contains(s.ending(s.next()), c.pod); got != c.ends || got && s.within() != c.within {
			t.Errorf("%s: it is deleted: %t, to stop within %s; want %t, %s", name, got, s.within(), c.ends, c.within)
		}
	}
}

// Volumes are waited for while the node has none of their pods, but not beyond the terminationGracePeriod of a NodePool.
func TestVolumesThatAreWaitedFor(t *testing.T) {
	const limit = 10 * time.Minute
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	stays := &cluster.Pod{State: cluster.PodBound, Template: &cluster.Template{DaemonSet: true, Claims: []cluster.ClaimRef{{Name: "cache"}}}}
	for name, c := range map[string]struct {
		attached     int
		pods         []*cluster.Pod
		empty, asked time.Duration
		pool         bool
		want         int
	}{
		"none":                               {},
		"two":                                {attached: 2, want: 2},
		"that of a pod that stays":           {attached: 1, pods: []*cluster.Pod{stays}},
		"and another":                        {attached: 2, pods: []*cluster.Pod{stays}, want: 1},
		"a pod whose volume is not attached": {pods: []*cluster.Pod{stays}},
		"for long":                           {attached: 1, empty: DetachPatience},
		"of a Provisioner, beyond its limit": {attached: 1, asked: limit, want: 1},
		"of a NodePool, within its limit":    {attached: 1, asked: limit - 1, pool: true, want: 1},
		"of a NodePool, beyond its limit":    {attached: 1, asked: limit, pool: true},
	} {
		s := step{node: &cluster.Node{DeletedAt: now.Add(-c.asked), AttachedVolumes: c.attached}, pods: c.pods, limit: limit, now: now}
		if c.pool {
			s.node.Labels = map[string]string{api.LabelNodePool: "pool"}
		}
		if got := s.volumesLeft(c.empty); got != c.want {
			t.Errorf("%s: %d volumes are waited for, want %d", name, got, c.want)
		}
	}
}

// What holds up a drain is reported once it lasts, and again before its event is forgotten.
func TestHoldUpsAreReported(t *testing.T) {
	var h holdUps
	runs := false // a step of the node
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	pass := func(after time.Duration, pods ...string) int {
		now = now.Add(after)
		for _, p := range pods {
			h.note("n", holdUp{HeldByFinalizer, "pod " + p + " is held", cluster.PodKey{Name: p, UID: p}})
			h.note("n", holdUp{HeldByFinalizer, "pod " + p + " is held", cluster.PodKey{Name: p, UID: p}}) // noted twice
		}
		return len(h.endPass(now, func(string) bool { return runs }))
	}
	for i, c := range []struct{ got, want int }{
		{pass(0, "a", "b"), 0},
		{pass(ReportAfter, "a", "b", "c"), 2},
		{pass(time.Second, "a", "b", "c"), 0},
		{pass(ReportAfter, "b", "c"), 1},
		{pass(event.RepeatAfter, "b"), 1},
	} {
		if c.got != c.want {
			t.Errorf("pass %d reported %d, want %d", i, c.got, c.want)
		}
	}
	pass(0, "b", "c", "d")
	if got, want := h.words()["n"], "pod b is held (and 2 more like it)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := h.causes(); len(got) != 1 {
		t.Errorf("causes %v", got)
	}
	if runs = true; pass(0) != 0 || len(h.causes()) != 1 {
		t.Error("what is known of a node is forgotten while a step of it runs")
	}
	if runs = false; pass(0) != 0 || len(h.words())+len(h.causes()) != 0 {
		t.Error("what is over is still there")
	}
}
