package agent

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/pace"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/stock"
)

func TestReadyCondition(t *testing.T) {
	cases := map[string]struct {
		edit    func(*api.ProvisionerSpec)
		want    metav1.ConditionStatus
		reason  string
		message string
	}{
		"all is well": {edit: func(*api.ProvisionerSpec) {}, want: metav1.ConditionTrue, reason: view.ReasonReady},
		"invalid": {
			edit: func(s *api.ProvisionerSpec) { s.TTLSecondsAfterEmpty = ptr.To[int64](-1) },
			want: metav1.ConditionFalse, reason: view.ReasonValidation, message: "spec.ttlSecondsAfterEmpty",
		},
		"no such node profile": {
			edit: func(s *api.ProvisionerSpec) { s.ProviderRef = &api.ProviderRef{Name: "absent"} },
			want: metav1.ConditionFalse, reason: view.ReasonNoProfile, message: `"absent"`,
		},
		"frozen": {edit: limitCPU("0"), want: metav1.ConditionFalse, reason: view.ReasonLimitReached, message: "0 of its limit of 0 cpu"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				r.Apply(testProvisioner("default", c.edit))
				r.Apply(testProvisioner("other"))
				r.start(Options{}, nil)
				r.until("the status is there", func() bool { return len(r.Provisioner("default").Status.Conditions) > 0 })
				ready := meta.FindStatusCondition(r.Provisioner("default").Status.Conditions, conditionReady)
				if ready == nil || ready.Status != c.want || ready.Reason != c.reason || !strings.Contains(ready.Message, c.message) {
					t.Errorf("condition %+v, want %s with reason %s and %q", ready, c.want, c.reason, c.message)
				}
				if got := r.Provisioner("default").Status.ObservedGeneration; got != 1 {
					t.Errorf("observed generation %d, want 1", got)
				}
				r.until("the other Provisioner is ready", func() bool {
					return meta.IsStatusConditionTrue(r.Provisioner("other").Status.Conditions, conditionReady)
				})
			})
		})
	}
}

// The status counts what there is, and says when that changed.
func TestStatusCounts(t *testing.T) { // LIFE-023
	inBubble(t, sim.Options{}, func(r *rig) {
		r.served(testProvisioner("default", emptyAfter(10)), sim.Workload{Name: "web", Replicas: 3, Spec: sim.Requests("1500m", "1Gi")})
		status := func() api.ProvisionerStatus { return r.Provisioner("default").Status }
		if s := status(); s.Nodes != int64(len(r.ours())) || s.Resources.Cpu().Value() != r.cores() || s.LastScaleTime == nil {
			t.Errorf("status %+v, want %d nodes with %d cores and a time", s, len(r.ours()), r.cores())
		}
		scaled := status().LastScaleTime.Time
		time.Sleep(time.Minute)
		r.Scale("web", 0)
		r.until("the status is empty", func() bool {
			now := status()
			return now.Nodes == 0 && now.Resources.Cpu().IsZero()
		})
		if !status().LastScaleTime.After(scaled) {
			t.Error("the time of the last change did not change")
		}
	})
}

// A condition that Karpenter has left may have no reason, which the CRD demands: no status could be written with it. One
// with a reason stays as it is.
func TestConditionWithoutReasonGoes(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		p := testProvisioner("default")
		p.Status.Conditions = []metav1.Condition{{Type: "Active", Status: metav1.ConditionTrue}, {Type: "Audited", Status: metav1.ConditionTrue, Reason: "Passed"}}
		r.Apply(p)
		r.start(Options{}, nil)
		r.until("the status is there", func() bool {
			return meta.FindStatusCondition(r.Provisioner("default").Status.Conditions, conditionReady) != nil
		})
		got := r.Provisioner("default").Status.Conditions
		if meta.FindStatusCondition(got, "Active") != nil || meta.FindStatusCondition(got, "Audited") == nil {
			t.Errorf("conditions %v", got)
		}
	})
}

// Consolidation removes nodes that are empty.
func TestConsolidationRemovesEmptyNodes(t *testing.T) {
	for name, c := range map[string]struct {
		after *string
		want  time.Duration // 0: never
	}{"by default": {nil, 30 * time.Second}, "after a while": {ptr.To("5m"), 5 * time.Minute}, "at once": {ptr.To("0s"), 0}, "Never": {ptr.To(api.Never), -1}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				a := r.served(testProvisioner("default", func(s *api.ProvisionerSpec) {
					s.Consolidation, s.Disruption = &api.Consolidation{Enabled: ptr.To(true)}, &api.Disruption{ConsolidateAfter: c.after}
				}), sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("300m", "300Mi")})
				r.never(10*time.Minute, "a node in use goes", func() bool { return r.ours()[0].DeletionTimestamp != nil })
				node := r.ours()[0].Name
				r.Scale("web", 0)
				if c.want < 0 {
					r.never(time.Hour, "the node goes", r.gone(node))
					return
				}
				time.Sleep(10 * time.Second)
				if l := a.leavingOf(node); c.want > 0 && (!strings.Contains(l.What, "is empty") || l.At.IsZero()) {
					t.Errorf("the page says %+v", l)
				}
				took := 12*time.Second + r.until("the node is gone", r.gone(node))
				if took < c.want || took > c.want+15*time.Second {
					t.Errorf("it went after %s, want %s", took, c.want)
				}
			})
		})
	}
}

// applyProfile applies the node profile "standard", which finds the subnets and security groups of a team.
func (r *rig) applyProfile() *api.AWSNodeTemplate {
	profile := &api.AWSNodeTemplate{ObjectMeta: metav1.ObjectMeta{Name: "standard"}}
	profile.Spec.SubnetSelector = map[string]string{"team": "a"}
	profile.Spec.SecurityGroupSelector = map[string]string{"team": "a"}
	r.ApplyTemplate(profile)
	return profile
}

// The status of a node profile is written also while that of its Provisioner cannot be.
func TestNodeTemplateStatusAlone(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.applyProfile()
		r.Apply(testProvisioner("default", func(s *api.ProvisionerSpec) { s.ProviderRef = &api.ProviderRef{Name: "standard"} }))
		var refused atomic.Bool
		refused.Store(true)
		r.start(Options{}, failing("UpdateProvisionerStatus", &refused, "not today"))
		r.until("the profile says what it found", func() bool { return len(r.NodeTemplate("standard").Status.Subnets) == len(stock.Zones) })
	})
}

func TestNodeTemplateStatus(t *testing.T) { // LAUNCH-007
	inBubble(t, sim.Options{}, func(r *rig) {
		r.applyProfile()
		r.Apply(testProvisioner("default", func(s *api.ProvisionerSpec) { s.ProviderRef = &api.ProviderRef{Name: "standard"} }))
		r.start(Options{}, nil)
		r.until("the profile says what it found", func() bool { return len(r.NodeTemplate("standard").Status.Subnets) == len(stock.Zones) })
		if !meta.IsStatusConditionTrue(r.NodeTemplate("standard").Status.Conditions, conditionReady) {
			t.Errorf("conditions %v, want it ready", r.NodeTemplate("standard").Status.Conditions)
		}
	})
}

// Nothing is built from a node profile that is being deleted, such as an EC2NodeClass that Karpenter's finalizer
// keeps. Nodes that have been built from it stay.
func TestNodeProfileBeingDeleted(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		profile := r.applyProfile()
		p := testProvisioner("default", func(s *api.ProvisionerSpec) { s.ProviderRef = &api.ProviderRef{Name: "standard"} })
		r.served(p, sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("1500m", "1Gi")})
		leaving := r.NodeTemplate("standard").DeepCopy()
		leaving.DeletionTimestamp = ptr.To(metav1.Now())
		r.ApplyTemplate(leaving)
		r.Scale("web", 3)
		r.never(10*time.Minute, "its nodes change", func() bool { return len(r.ours()) != 1 })
		ready := meta.FindStatusCondition(r.Provisioner("default").Status.Conditions, conditionReady)
		if ready == nil || ready.Status != metav1.ConditionFalse || ready.Reason != view.ReasonProfileGoes {
			t.Errorf("condition %+v, want reason %s", ready, view.ReasonProfileGoes)
		}
		r.ApplyTemplate(profile)
		r.until("the workload runs", r.allRun("web", 3))
	})
}

// A Provisioner that cannot be read buys nothing, and its nodes stay.
func TestUnreadableProvisioner(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.served(testProvisioner("default", emptyAfter(10)), sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("1500m", "1Gi")})
		r.Remark("default", finding.List{{Severity: finding.Error, Path: "spec.requirements", Text: finding.Plain("must be a list")}})
		r.Scale("web", 3)
		r.never(10*time.Minute, "its nodes change", func() bool { return len(r.ours()) != 1 })
		ready := meta.FindStatusCondition(r.Provisioner("default").Status.Conditions, conditionReady)
		if ready == nil || ready.Reason != view.ReasonValidation {
			t.Errorf("condition %+v, want reason %s", ready, view.ReasonValidation)
		}
		r.Remark("default", nil)
		r.until("the workload runs", r.allRun("web", 3))
	})
}

// What a spec says in vain is told by a condition and by one event, until it is gone.
func TestSpecWarnings(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.applyProfile()
		refer := func(s *api.ProvisionerSpec) { s.ProviderRef = &api.ProviderRef{Name: "standard"} }
		r.Apply(testProvisioner("default", refer, func(s *api.ProvisionerSpec) { s.Limits = &api.Limits{} }))
		r.Remark("default", finding.List{{Path: "spec.limits.cpu", Text: finding.Plain("unknown field, ignored"), Advice: finding.Plain("move it into spec.limits.resources")}})
		r.start(Options{}, nil)
		condition := func() *metav1.Condition {
			return meta.FindStatusCondition(r.Provisioner("default").Status.Conditions, conditionWarnings)
		}
		r.until("the condition is there", func() bool { return condition() != nil })
		for _, want := range []string{"spec.limits.cpu: unknown field, ignored; move it into spec.limits.resources.", "empty limits limit nothing"} {
			if c := condition(); c.Status != metav1.ConditionTrue || !strings.Contains(c.Message, want) {
				t.Errorf("condition %+v, want it true with %q", c, want)
			}
		}
		if !meta.IsStatusConditionTrue(r.Provisioner("default").Status.Conditions, conditionReady) {
			t.Error("a warning keeps it from being ready")
		}
		time.Sleep(10 * time.Minute)
		if events := r.Events(event.DoubtfulSpec); len(events) != 1 || !strings.Contains(events[0].Message, "spec.limits.cpu") {
			t.Errorf("events %+v, want one", events)
		}
		r.Remark("default", nil)
		r.Apply(testProvisioner("default", refer))
		r.until("the condition is gone", func() bool { return condition() == nil })
	})
}

// Startup taints and missing device plugins keep a node from being initialized.
func TestInitialization(t *testing.T) { // LIFE-005, LIFE-006, LIFE-009
	agent := corev1.Taint{Key: "example.com/agent", Effect: corev1.TaintEffectNoExecute}
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default", func(s *api.ProvisionerSpec) { s.StartupTaints = []corev1.Taint{agent} }))
		r.start(Options{}, nil)
		r.Deploy(sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("500m", "500Mi")})
		r.until("the kubelet is up", func() bool {
			return len(r.ours()) == 1 && r.ours()[0].Status.Conditions[0].Status == corev1.ConditionTrue
		})
		r.never(5*time.Minute, "the node is initialized", r.allUp)
		r.Untaint(r.ours()[0].Name, agent.Key)
		r.until("the node is initialized", r.allUp)
	})
}

// A cloud that answers each question with another error is not asked without end.
func TestUnreadableMarketDoesNotSpin(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default"))
		var asked atomic.Int32
		r.start(Options{}, func(call string, when sim.When) error {
			if call == "Market" && when == sim.Before {
				return fmt.Errorf("request %d was denied", asked.Add(1))
			}
			return nil
		})
		time.Sleep(10 * time.Minute)
		if got := asked.Load(); got > 60 {
			t.Errorf("asked %d times in ten minutes", got)
		}
		ready := meta.FindStatusCondition(r.Provisioner("default").Status.Conditions, conditionReady)
		if ready == nil || ready.Reason != view.ReasonMarket || !strings.Contains(ready.Message, "was denied") {
			t.Errorf("condition %+v, want reason %s with the cloud's words", ready, view.ReasonMarket)
		}
	})
}

// A right that the agent lacks does not fill the log, however many pods come meanwhile, and the agent goes on
// soon once it has the right.
func TestDeniedReadsAreNotLoggedByEachTurn(t *testing.T) {
	for call, most := range map[string]int{"Market": 10 * 8, "Instances": 30} {
		t.Run(call, func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				log := &written{}
				r.log = hclog.New(&hclog.LoggerOptions{Output: log, Level: hclog.Warn})
				for i := range 10 {
					r.Apply(testProvisioner(fmt.Sprint("team-", i)))
				}
				var broken atomic.Bool
				broken.Store(true)
				a := r.start(Options{}, failing(call, &broken, "access denied"))
				for i := range 300 {
					r.Deploy(sim.Workload{Name: fmt.Sprint("web-", i), Replicas: 1, Spec: sim.Requests("100m", "100Mi")})
					time.Sleep(2 * time.Second)
				}
				lines := 0
				for _, line := range log.text {
					if strings.Contains(line, "could not read the market") || strings.Contains(line, "could not compare nodes") {
						lines++
					}
				}
				if lines < 5 || lines > most {
					t.Errorf("%d lines in ten minutes, want from 5 to %d", lines, most)
				}
				if counted := gauge(t, a.metrics, "cloud_errors_total", call); counted < 5 || counted > float64(most) {
					t.Errorf("%v errors are counted in ten minutes, want from 5 to %d", counted, most)
				}
				broken.Store(false)
				if took := r.until("a machine is bought", func() bool { return len(r.Launches()) > 0 }); took > 2*time.Minute {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

// What the cloud did not tell is said once for each reason, until it does.
func TestMarketConditions(t *testing.T) {
	p, quotes := &view.Provisioner{Raw: testProvisioner("default")}, pace.NewRetries(quotePause, quotePause)
	var conditions []metav1.Condition
	said := func(kind string) string {
		if found := meta.FindStatusCondition(conditions, kind); found != nil {
			return found.Reason + ": " + found.Message
		}
		return ""
	}
	for i, c := range []struct{ estimate, reason, fault, prices, stock string }{
		{},
		{estimate: "no route, RequestID: 1", prices: "no route, RequestID: 1"},
		{estimate: "no route, RequestID: 2", reason: "SpotPricesUnknown", fault: "denied, RequestID: 3", prices: "no route, RequestID: 1", stock: "SpotPricesUnknown: denied, RequestID: 3"},
		{reason: "SpotPricesUnknown", fault: "denied, RequestID: 4", stock: "SpotPricesUnknown: denied, RequestID: 3"},
		{reason: "SpotPricesOutdated", fault: "denied, RequestID: 5", stock: "SpotPricesOutdated: denied, RequestID: 5"},
		{},
	} {
		p.Market.Estimate, p.Market.FaultReason, p.Market.Fault = c.estimate, c.reason, c.fault
		setMarketConditions(p, &conditions, quotes)
		if got := said(conditionPrices); (got == "") != (c.prices == "") || !strings.Contains(got, c.prices) {
			t.Errorf("step %d: %s is %q, want %q", i, conditionPrices, got, c.prices)
		}
		if got := said(conditionStock); got != c.stock {
			t.Errorf("step %d: %s is %q, want %q", i, conditionStock, got, c.stock)
		}
	}
}

// The free addresses of a subnet change all the time. Each time they are written, the agent looks at the cluster again.
func TestFreeAddressesAreWrittenNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, quotes := &view.Provisioner{Template: "standard"}, pace.NewRetries(quotePause, quotePause)
		for i, c := range []struct {
			after      time.Duration
			free, want []int64 // of each subnet
		}{
			{0, []int64{250, 250}, []int64{250, 250}},
			{0, []int64{249, 250}, []int64{249, 250}},
			{time.Minute, []int64{240, 251}, []int64{249, 250}},
			{time.Minute, []int64{240, 0}, []int64{240, 0}}, // a subnet is full
			{time.Minute, []int64{239, 0}, []int64{240, 0}},
			{time.Minute, []int64{239, 3}, []int64{239, 3}}, // and has room again
			{quotePause, []int64{238, 5}, []int64{238, 5}},
			{time.Minute, []int64{238}, []int64{238}}, // no longer selected
		} {
			time.Sleep(c.after)
			p.Market.Status.Subnets = nil
			for i, free := range c.free {
				p.Market.Status.Subnets = append(p.Market.Status.Subnets, api.SubnetStatus{ID: fmt.Sprintf("subnet-%d", i), FreeAddresses: free})
			}
			p.TemplateSubnets = profileStatus(p, quotes).Subnets
			var got []int64
			for _, s := range p.TemplateSubnets {
				got = append(got, s.FreeAddresses)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("step %d: %v are written, want %v", i, got, c.want)
			}
		}
	})
}

// An admission webhook hangs when statuses of many Provisioners are written. Pods that wait get a machine meanwhile.
func TestManyStatusesAreSlowToWrite(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		var hangs, hung atomic.Bool
		for i := range 20 {
			r.Apply(testProvisioner(fmt.Sprintf("p%02d", i)))
		}
		r.start(Options{}, func(made string, when sim.When) error {
			if made == "UpdateProvisionerStatus" && when == sim.Before && hangs.Load() {
				hung.Store(true)
				time.Sleep(15 * time.Second)
			}
			return nil
		})
		r.Deploy(two())
		r.until("the workload runs", r.allRun("web", 2))
		hangs.Store(true)
		r.until("a call hangs", hung.Load)
		bought := len(r.Launches())
		r.Deploy(sim.Workload{Name: "more", Replicas: 1, Spec: sim.Requests("1500m", "1Gi")})
		if took := r.until("a machine is bought", func() bool { return len(r.Launches()) > bought }); took > time.Minute {
			t.Errorf("it took %s", took)
		}
	})
}

// A condition quotes the error that there is now. The ids and times that differ from one error to the next change nothing.
func TestConditionQuotesTheLatestError(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		var requests atomic.Int64
		var denied atomic.Value
		denied.Store("")
		fail := func(call string, when sim.When) error {
			if action := denied.Load().(string); call == "Market" && when == sim.Before && action != "" {
				return fmt.Errorf("RequestID: %d, UnauthorizedOperation: not authorized to perform: %s", requests.Add(1), action)
			}
			return nil
		}
		r.Apply(testProvisioner("default"))
		r.start(Options{}, fail)
		r.until("it is ready", func() bool { return r.ready("default").Status == metav1.ConditionTrue })
		denied.Store("ec2:DescribeSubnets")
		r.until("it is not ready", func() bool { return r.ready("default").Status == metav1.ConditionFalse })
		first := r.ready("default").Message
		time.Sleep(10 * time.Minute)
		if got := r.ready("default").Message; got != first || requests.Load() < 2 {
			t.Errorf("after %d requests: %q, want still %q", requests.Load(), got, first)
		}
		denied.Store("ec2:DescribeSecurityGroups")
		time.Sleep(10 * time.Minute)
		if got := r.ready("default"); got.Reason != view.ReasonMarket || !strings.Contains(got.Message, "ec2:DescribeSecurityGroups") {
			t.Errorf("once something else is denied: %s, %q", got.Reason, got.Message)
		}
	})
}
