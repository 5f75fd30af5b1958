package aws

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/notices"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// receive returns the next notices, which must come without a wait.
func receive(t *testing.T, q *notices.Queue) []offer.Notice {
	t.Helper()
	received, err := q.Receive(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return received
}

// openQueue has the account's events on a queue.
func (f *fixture) openQueue(t *testing.T) *notices.Queue {
	t.Helper()
	if err := f.account.OpenInterruptionQueue("prod-interruptions"); err != nil {
		t.Fatal(err)
	}
	return notices.New(f.config, "prod-interruptions")
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestQueueTellsTheKinds(t *testing.T) {
	f := start(t)
	d := f.launch(t, order("one", 1, spot("m5.large", "a")))
	id := d.Instances[0].ID
	q := f.openQueue(t)
	must(t, f.account.RecommendRebalance(id))
	must(t, f.account.InterruptSpot(id))
	must(t, f.account.InterruptReservation(id))
	must(t, f.account.ScheduleMaintenance(id))
	must(t, f.account.StopInstance(id))
	must(t, f.account.TerminateInstance(id))

	ids, now := []string{id}, f.clock.Now().UTC().Truncate(time.Second)
	want := []offer.Notice{
		{Kind: offer.NoticeRebalance, InstanceIDs: ids, At: now},
		{Kind: offer.NoticeSpotInterruption, InstanceIDs: ids, At: now},
		{Kind: offer.NoticeReservation, InstanceIDs: ids, At: now},
		{Kind: offer.NoticeScheduledChange, InstanceIDs: ids, At: now},
		{Kind: offer.NoticeStateChange, InstanceIDs: ids, State: "stopping", At: now},
		{Kind: offer.NoticeStateChange, InstanceIDs: ids, State: "shutting-down", At: now},
	}
	if diff := cmp.Diff(want, receive(t, q), cmpopts.IgnoreFields(offer.Notice{}, "Handle")); diff != "" {
		t.Errorf("notices (-want +got):\n%s", diff)
	}
}

func TestSpotInstanceIsTakenBackAfterTheWarning(t *testing.T) {
	f := start(t)
	d := f.launch(t, order("one", 1, spot("m5.large", "a")))
	must(t, f.account.InterruptSpot(d.Instances[0].ID))
	f.clock.Step(119 * time.Second)
	if len(f.live()) != 1 {
		t.Fatal("the instance was taken back within two minutes")
	}
	f.clock.Step(time.Second)
	if len(f.live()) != 0 {
		t.Fatal("the instance was not taken back after two minutes")
	}
}

// AWS-068: message that cannot be parsed → deleted, no failure.
func TestQueueSurvivesBadMessages(t *testing.T) {
	f := start(t)
	q := f.openQueue(t)
	for _, body := range []string{
		"no JSON", `[]`, `{}`, `{"source":"aws.ec2","detail-type":"EC2 Spot Instance Interruption Warning","detail":{}}`,
		`{"source":"aws.ec2","detail-type":"EC2 Instance State-change Notification","detail":{"instance-id":"i-1","state":"running"}}`,
		`{"source":"aws.s3","detail-type":"Object Created","detail":{}}`,
		`{"source":"aws.health","detail-type":"AWS Health Event","detail":{"service":"RDS","eventTypeCategory":"scheduledChange"}}`,
	} {
		must(t, f.account.Enqueue("prod-interruptions", body, 1))
	}
	var kinds []offer.NoticeKind
	var handles []string
	for _, n := range receive(t, q) {
		kinds, handles = append(kinds, n.Kind), append(handles, n.Handle)
		if n.Problem == "" || len(n.InstanceIDs) > 0 {
			t.Errorf("%+v: want a problem and no instances", n)
		}
	}
	want := append(slices.Repeat([]offer.NoticeKind{offer.NoticeMalformed}, 4), slices.Repeat([]offer.NoticeKind{offer.NoticeUnrelated}, 3)...)
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
	must(t, q.Acknowledge(t.Context(), handles...))
	if left := f.account.Messages("prod-interruptions"); len(left) > 0 {
		t.Errorf("messages left: %v", left)
	}
}

func TestNoticesComeAgainUntilAcknowledged(t *testing.T) {
	f := start(t)
	d := f.launch(t, order("one", 1, spot("m5.large", "a")))
	q := f.openQueue(t)
	behaviour := f.account.Behaviour()
	behaviour.DuplicateEvents = true
	f.account.SetBehaviour(behaviour)
	must(t, f.account.RecommendRebalance(d.Instances[0].ID))
	first := receive(t, q)
	if len(first) != 2 || first[0].Handle == first[1].Handle {
		t.Fatalf("notices = %+v, want the same twice, each with a handle of its own", first)
	}
	f.account.ShowHiddenMessages("prod-interruptions")
	again := receive(t, q)
	if len(again) != 2 {
		t.Fatalf("notices = %+v, want both again", again)
	}
	must(t, q.Acknowledge(t.Context(), again[0].Handle, again[1].Handle))
	must(t, q.Acknowledge(t.Context(), again[0].Handle, again[1].Handle)) // harmless
	if left := f.account.Messages("prod-interruptions"); len(left) > 0 {
		t.Errorf("messages left: %v", left)
	}
}

func TestManyNoticesAreAcknowledgedInBatches(t *testing.T) {
	f := start(t)
	q := f.openQueue(t)
	must(t, f.account.Enqueue("prod-interruptions", "{}", 25))
	var handles []string
	for len(handles) < 25 {
		for _, n := range receive(t, q) {
			handles = append(handles, n.Handle)
		}
	}
	must(t, q.Acknowledge(t.Context(), handles...))
	if got := f.calls("DeleteMessageBatch", ""); got != 3 {
		t.Errorf("DeleteMessageBatch was called %d times, want 3", got)
	}
	if left := f.account.Messages("prod-interruptions"); len(left) > 0 {
		t.Errorf("%d messages left", len(left))
	}
}

func TestQueueProblemsNameTheQueue(t *testing.T) {
	f := start(t)
	q := notices.New(f.config, "elsewhere")
	if _, err := q.Receive(t.Context()); err == nil || !strings.Contains(err.Error(), "find queue elsewhere") {
		t.Errorf("error = %v", err)
	}
	must(t, f.account.OpenInterruptionQueue("elsewhere"))
	must(t, f.account.Enqueue("elsewhere", "{}", 1))
	received := receive(t, q)
	if err := q.Acknowledge(t.Context(), received[0].Handle, ""); err == nil || !strings.Contains(err.Error(), "1 of 2 remained") {
		t.Errorf("error = %v", err)
	}
}
