package offer

import "time"

// Notice is what the cloud tells unasked: that something happens to machines, or
// is about to. The same may arrive several times, late, and about machines of
// others.
type Notice struct {
	Kind NoticeKind
	// InstanceIDs are the machines concerned, sorted; empty for NoticeUnrelated and
	// NoticeMalformed.
	InstanceIDs []string
	// State is what the instances have entered; of NoticeStateChange only.
	State string
	// At is when it was said; zero where that is not known.
	At time.Time
	// Handle acknowledges the notice, which comes again until that is done.
	Handle string
	// Problem is why the notice calls for no action; of NoticeUnrelated and
	// NoticeMalformed only.
	Problem string
}

// NoticeKind is what a notice is about, in the form of a metric's label.
type NoticeKind string

// The kinds of notices.
const (
	// NoticeSpotInterruption: EC2 will interrupt a spot instance within two minutes.
	NoticeSpotInterruption NoticeKind = "spot_interruption"
	// NoticeRebalance: a spot instance is at an elevated risk of interruption.
	NoticeRebalance NoticeKind = "rebalance_recommendation"
	// NoticeScheduledChange: maintenance or retirement of a machine is planned.
	NoticeScheduledChange NoticeKind = "scheduled_change"
	// NoticeStateChange: a machine is stopping, stopped, shutting-down or terminated.
	NoticeStateChange NoticeKind = "state_change"
	// NoticeReservation: the owner of the capacity reservation of an instance reclaims it.
	NoticeReservation NoticeKind = "capacity_reservation"
	// NoticeUnrelated: a proper message that calls for nothing.
	NoticeUnrelated NoticeKind = "unrelated"
	// NoticeMalformed: a message that cannot be read.
	NoticeMalformed NoticeKind = "malformed"
)
