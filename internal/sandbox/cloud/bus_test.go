package cloud

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/events"
)

func TestEventPatterns(t *testing.T) {
	var event map[string]any
	if err := json.Unmarshal([]byte(`{"source":"aws.ec2","resources":["a","b"],"detail":{"state":"stopped","n":1}}`), &event); err != nil {
		t.Fatal(err)
	}
	for pattern, want := range map[string]bool{
		`{"source":["aws.ec2"]}`:                                     true,
		`{"source":["aws.s3","aws.ec2"]}`:                            true,
		`{"source":["aws.s3"]}`:                                      false,
		`{"source":["aws.ec2"],"detail":{"state":["running"]}}`:      false,
		`{"detail":{"state":["running","stopped"],"n":[1]}}`:         true,
		`{"resources":["b"]}`:                                        true,
		`{"source":[{"prefix":"aws."}]}`:                             true,
		`{"source":[{"prefix":"my."}]}`:                              false,
		`{"absent":["x"]}`:                                           false,
		`{"source":{"deeper":["x"]}}`:                                false,
		`{"detail":{"state":[{"prefix":"stop"}],"absent":["more"]}}`: false,
	} {
		parsed, err := events.ParsePattern(pattern)
		if err != nil {
			t.Fatalf("%s: %v", pattern, err)
		}
		if got := parsed.Matches(event); got != want {
			t.Errorf("%s matches = %t, want %t", pattern, got, want)
		}
	}
	for _, pattern := range []string{`{}`, `[]`, `{"source":"aws.ec2"}`, `{"source":[]}`, `{"detail":{"state":"x"}}`} {
		if _, err := events.ParsePattern(pattern); err == nil {
			t.Errorf("pattern %s was taken", pattern)
		}
	}
}

// states returns the states of the instances that a queue's messages tell of.
func (f *fixture) states(t *testing.T, queue string) []string {
	t.Helper()
	var states []string
	for _, body := range f.cloud.Messages(queue) {
		var event struct {
			Detail struct{ State string } `json:"detail"`
		}
		if err := json.Unmarshal([]byte(body), &event); err != nil {
			t.Fatal(err)
		}
		states = append(states, event.Detail.State)
	}
	return states
}

// run launches one instance and returns its id.
func (f *fixture) run(t *testing.T, capacityType types.DefaultTargetCapacityType) string {
	t.Helper()
	out := must2(f.ec2.CreateFleet(t.Context(), f.fleet(t, 1, capacityType, []string{"m5.large"}, "a")))(t)
	if len(out.Instances) != 1 {
		t.Fatalf("fleet = %v", outcome(out))
	}
	return out.Instances[0].InstanceIds[0]
}

func TestControlPortDisturbs(t *testing.T) {
	f := start(t)
	f.template(t, "nodes")
	id := f.run(t, types.DefaultTargetCapacityTypeSpot)
	server := httptest.NewServer(f.cloud.ControlHandler())
	t.Cleanup(server.Close)
	var answer map[string]any
	for _, post := range [][2]string{
		{"/queues/q", ""}, {"/queues/q/messages", `{"body":"nonsense","times":2}`}, {"/behaviour", `{"spotWarning":"5s"}`},
		{"/instances/" + id + "/rebalance", ""}, {"/instances/" + id + "/maintenance", ""}, {"/instances/" + id + "/interrupt-spot", ""},
	} {
		if status := ask(t, "POST", server.URL+post[0], post[1], &answer); status != http.StatusOK {
			t.Errorf("POST %s: %d %v", post[0], status, answer)
		}
	}
	var messages []string
	if ask(t, "GET", server.URL+"/queues/q/messages", "", &messages); len(messages) != 5 {
		t.Errorf("messages = %q, want two that are nonsense and three events", messages)
	}
	f.clock.Step(5 * time.Second)
	if got := f.cloud.Instances()[0].State; got != "shutting-down" {
		t.Errorf("state after the warning = %s", got)
	}
	for _, path := range []string{"/instances/" + id + "/hug", "/instances/i-00000000000000000/stop", "/queues/none/messages"} {
		if status := ask(t, "POST", server.URL+path, `{}`, &answer); status != http.StatusBadRequest {
			t.Errorf("POST %s: %d %v", path, status, answer)
		}
	}
}

func TestRulesHearOfEveryState(t *testing.T) {
	f := start(t)
	f.template(t, "nodes")
	must(t, 0, f.cloud.OpenInterruptionQueue("q"))
	one, two := f.run(t, types.DefaultTargetCapacityTypeOnDemand), f.run(t, types.DefaultTargetCapacityTypeOnDemand)
	f.clock.Step(f.cloud.Behaviour().PendingDelay)
	f.cloud.Instances()
	must(t, 0, f.cloud.StopInstance(one))
	must(t, 0, f.cloud.TerminateInstance(two))
	f.clock.Step(f.cloud.Behaviour().ShuttingDownDelay)
	f.cloud.Instances()
	got := f.states(t, "q")
	slices.Sort(got)
	want := []string{"pending", "pending", "running", "running", "shutting-down", "stopped", "stopping", "terminated"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	if err := f.cloud.StopInstance(one); err == nil {
		t.Error("a stopped instance was stopped")
	}
	if err := f.cloud.InterruptSpot(one); err == nil {
		t.Error("an on-demand instance was interrupted")
	}
}

func TestDeleteMessageBatch(t *testing.T) {
	f := start(t)
	must(t, 0, f.cloud.OpenInterruptionQueue("q"))
	must(t, 0, f.cloud.Enqueue("q", "body", 2))
	url := must2(f.sqs.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String("q")}))(t).QueueUrl
	got := must2(f.sqs.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: url, MaxNumberOfMessages: 10}))(t).Messages
	remove := func(ids ...string) (*sqs.DeleteMessageBatchOutput, error) {
		in := &sqs.DeleteMessageBatchInput{QueueUrl: url, Entries: []sqstypes.DeleteMessageBatchRequestEntry{}}
		for i, id := range ids {
			in.Entries = append(in.Entries, sqstypes.DeleteMessageBatchRequestEntry{Id: &id, ReceiptHandle: got[i%len(got)].ReceiptHandle})
		}
		return f.sqs.DeleteMessageBatch(t.Context(), in)
	}
	_, err := remove()
	wantCode(t, err, "EmptyBatchRequest")
	_, err = remove("a", "a")
	wantCode(t, err, "BatchEntryIdsNotDistinct")
	_, err = remove("0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10")
	wantCode(t, err, "TooManyEntriesInBatchRequest")
	if out := must2(remove("a", "b"))(t); len(out.Successful) != 2 || len(out.Failed) != 0 {
		t.Errorf("answer = %+v", out)
	}
	if left := f.cloud.Messages("q"); len(left) > 0 {
		t.Errorf("messages left: %v", left)
	}
}
