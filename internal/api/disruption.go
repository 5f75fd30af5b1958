package api

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"
	_ "time/tzdata" // windows have time zones, and images may have no database of them

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/cron"
)

// Disruption bounds how nodes are disrupted voluntarily.
type Disruption struct {
	// Budgets bound how many nodes may be disrupted at the same time. If several apply, the
	// strictest counts.
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	Budgets []Budget `json:"budgets,omitempty"`
	// ConsolidateAfter is how long no pod may have come to a node or left it before it may be
	// consolidated, or Never. 30s by default.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^([0-9]+([.][0-9]*)?(ns|us|µs|ms|s|m|h))+$|^0$|^Never$`
	ConsolidateAfter *string `json:"consolidateAfter,omitempty"`
	// EvictionCost is what moving a pod costs, in hours of the price of its own resources.
	// Consolidation weighs it against the saving. With Never, it moves no pods. 1 by default.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^([0-9]{1,9}([.][0-9]{1,9})?|Never)$`
	// +kubebuilder:validation:XValidation:rule="type(self) != int || self >= 0",message="must not be negative"
	EvictionCost *NumberOrNever `json:"evictionCost,omitempty"`
	// Windows are the times at which nodes may be disrupted voluntarily. At any time by
	// default.
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	Windows []Window `json:"windows,omitempty"`
	// TerminationGracePeriod bounds how long a drain waits for evictions. After that, the
	// remaining pods are deleted regardless of PodDisruptionBudgets, each with its own grace
	// period.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+([.][0-9]*)?(ns|us|µs|ms|s|m|h))+$|^0$`
	TerminationGracePeriod *metav1.Duration `json:"terminationGracePeriod,omitempty"`
	// Drift replaces nodes that no longer match the Provisioner or its node profile. On by
	// default.
	Drift *bool `json:"drift,omitempty"`
}

// Window is a time in which nodes may be disrupted voluntarily.
type Window struct {
	// Schedule is a cron expression; the window is open for Duration from each match.
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^\s*(@(annually|daily|hourly|midnight|monthly|weekly|yearly)|[^@\s]\S*(\s+\S+){4})\s*$`
	Schedule string `json:"schedule"`
	// TimeZone of the schedule, such as Europe/Berlin. UTC by default.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	TimeZone *string `json:"timeZone,omitempty"`
	// Duration is how long the window is open from each match of Schedule.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+([.][0-9]*)?(ns|us|µs|ms|s|m|h))+$`
	Duration metav1.Duration `json:"duration"`
}

// NumberOrNever is a number that is not negative, or Never.
type NumberOrNever string

// UnmarshalJSON accepts a number too.
func (n *NumberOrNever) UnmarshalJSON(text []byte) error {
	return (*numberOrString)(n).UnmarshalJSON(text)
}

// NumberOrPercent is a number that is not negative, or a percentage such as 10%.
type NumberOrPercent string

// UnmarshalJSON accepts a number too.
func (n *NumberOrPercent) UnmarshalJSON(text []byte) error {
	return (*numberOrString)(n).UnmarshalJSON(text)
}

// Budget bounds how many nodes may be disrupted at the same time.
//
// +kubebuilder:validation:XValidation:rule="has(self.schedule) == has(self.duration)",message="schedule and duration go together"
type Budget struct {
	// Nodes is a number, or a percentage of the Provisioner's nodes such as "10%".
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=10
	// +kubebuilder:validation:Pattern=`^((100|[0-9]{1,2})%|[0-9]{1,9})$`
	// +kubebuilder:validation:XValidation:rule="type(self) != int || self >= 0",message="must not be negative"
	Nodes NumberOrPercent `json:"nodes"`
	// Schedule is a cron expression in UTC; the budget holds for Duration from each match.
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^\s*(@(annually|daily|hourly|midnight|monthly|weekly|yearly)|[^@\s]\S*(\s+\S+){4})\s*$`
	Schedule *string `json:"schedule,omitempty"`
	// Duration is how long the budget holds from each match of Schedule.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+([.][0-9]*)?(ns|us|µs|ms|s|m|h))+$`
	Duration *metav1.Duration `json:"duration,omitempty"`
	// Reasons for which the budget holds. All reasons by default.
	// +kubebuilder:validation:items:Enum=emptiness;expiry;drift;consolidation
	// +kubebuilder:validation:MaxItems=10
	// +listType=atomic
	Reasons []string `json:"reasons,omitempty"`
}

// Active reports whether the budget holds at a time: always without a schedule,
// else from each match of it, in UTC, for the duration. A schedule that cannot be
// read always holds.
func (b *Budget) Active(now time.Time) bool {
	if b.Schedule == nil || b.Duration == nil {
		return true
	}
	s, err := cron.Parse(*b.Schedule)
	return err != nil || s.MatchedSince(now.UTC(), b.Duration.Duration)
}

// numberOrString keeps the digits of a number as they are written.
type numberOrString string

func (n *numberOrString) UnmarshalJSON(text []byte) error {
	var number json.Number // takes strings that hold numbers too, which are equal here
	if err := json.Unmarshal(text, &number); err == nil {
		*n = numberOrString(number)
		return nil
	}
	var s string
	err := json.Unmarshal(text, &s)
	*n = numberOrString(s)
	return err
}

// The voluntary reasons for which nodes are disrupted, as Budget.Reasons and
// AnnotationDisruption hold them.
const (
	ReasonEmptiness     = "emptiness"
	ReasonExpiry        = "expiry"
	ReasonDrift         = "drift"
	ReasonConsolidation = "consolidation"
)

// DisruptionReasons lists the reasons that budgets may name and that nodes are marked with.
var DisruptionReasons = []string{ReasonEmptiness, ReasonExpiry, ReasonDrift, ReasonConsolidation}

// Never is the ConsolidateAfter of nodes that are not consolidated.
const Never = "Never"

// defaultConsolidateAfter is the default of ConsolidateAfter.
const defaultConsolidateAfter = 30 * time.Second

// ConsolidationEnabled reports whether the Provisioner lowers its cost by
// removing and replacing nodes.
func (s *ProvisionerSpec) ConsolidationEnabled() bool {
	return s.Consolidation != nil && ptr.Deref(s.Consolidation.Enabled, false)
}

// EmptyAfter returns after how long without workload pods a node is removed: where
// consolidation is enabled, when it may be consolidated. False means that it stays.
func (s *ProvisionerSpec) EmptyAfter() (time.Duration, bool) {
	switch {
	case s.TTLSecondsAfterEmpty != nil:
		return amount.Seconds(*s.TTLSecondsAfterEmpty), true
	case !s.ConsolidationEnabled():
		return 0, false
	case s.Disruption == nil || s.Disruption.ConsolidateAfter == nil:
		return defaultConsolidateAfter, true
	}
	after, err := time.ParseDuration(*s.Disruption.ConsolidateAfter)
	return after, err == nil // what is no duration is Never, or refused
}

// ExpireAfter returns the age at which a node is replaced. False means that it never is.
func (s *ProvisionerSpec) ExpireAfter() (time.Duration, bool) {
	if s.TTLSecondsUntilExpired == nil {
		return 0, false
	}
	return amount.Seconds(*s.TTLSecondsUntilExpired), true
}

// DefaultBudget bounds voluntary disruption of nodes in use where a Provisioner says nothing.
const DefaultBudget = "10%"

// ConsolidateAfter returns how long no pod may have come to a node or left it before it may be
// consolidated. False means that it never is.
func (s *ProvisionerSpec) ConsolidateAfter() (time.Duration, bool) {
	if !s.ConsolidationEnabled() {
		return 0, false
	}
	return s.EmptyAfter()
}

// EvictionCost returns what moving a pod costs, in hours of the price of its own
// resources. False means that pods are not moved.
func (s *ProvisionerSpec) EvictionCost() (float64, bool) {
	if s.Disruption == nil || s.Disruption.EvictionCost == nil {
		return 1, true
	}
	v, err := strconv.ParseFloat(string(*s.Disruption.EvictionCost), 64)
	return v, err == nil && v >= 0 // what is no number is Never, or refused
}

// MovesPods reports whether nodes in use are removed if that lowers the cost.
func (s *ProvisionerSpec) MovesPods() bool {
	_, on := s.ConsolidateAfter()
	_, moves := s.EvictionCost()
	return on && moves
}

// WindowOpen reports whether nodes may be disrupted voluntarily at a time. Windows that cannot
// be read are not open.
func (s *ProvisionerSpec) WindowOpen(now time.Time) bool {
	if s.Disruption == nil || len(s.Disruption.Windows) == 0 {
		return true
	}
	return slices.ContainsFunc(s.Disruption.Windows, func(w Window) bool { return w.open(now) })
}

func (w *Window) open(now time.Time) bool {
	at, err := w.Location()
	if err != nil {
		return false
	}
	s, err := cron.Parse(w.Schedule)
	return err == nil && s.MatchedSince(now.In(at), w.Duration.Duration)
}

// Location is the time zone of the schedule. That of the computer, which is another one for the agent than for
// Terraform, is refused.
func (w *Window) Location() (*time.Location, error) {
	if w.TimeZone == nil {
		return time.UTC, nil
	}
	if *w.TimeZone == "Local" {
		return nil, errors.New("it is the time zone of whichever computer reads it")
	}
	return time.LoadLocation(*w.TimeZone)
}
