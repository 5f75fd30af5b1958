package eventqueue_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go/middleware"
	"github.com/google/go-cmp/cmp"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/eventqueue"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/cloudtest"
)

// fixture is an account with an administrator's clients.
type fixture struct {
	*eventqueue.Queues
	account *cloudtest.Account
	events  *eventbridge.Client
}

func start(t *testing.T) *fixture {
	t.Helper()
	account := cloudtest.Start(t)
	return &fixture{queues(account.Config), account, eventbridge.NewFromConfig(account.Config)}
}

func queues(config aws.Config) *eventqueue.Queues {
	return eventqueue.NewQueues(sqs.NewFromConfig(config), eventbridge.NewFromConfig(config))
}

// without returns the queues for a role that may do everything but one action.
func (f *fixture) without(t *testing.T, action string) *eventqueue.Queues {
	t.Helper()
	return queues(f.account.Without(t, action))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const (
	queueARN    = "arn:aws:sqs:eu-west-1:123456789012:events"
	queuePolicy = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"events.amazonaws.com"},"Action":"sqs:SendMessage","Resource":"` + queueARN + `"}]}`
	spotPattern = `{"source":["aws.ec2"],"detail-type":["EC2 Spot Instance Interruption Warning"]}`
)

// queue is a declared queue, with changes.
func queue(change ...func(*asset.Queue)) asset.Queue {
	q := asset.Queue{Name: "events", Policy: queuePolicy, Retention: 300, Visibility: 30, Tags: map[string]string{"team": "infra"}}
	for _, c := range change {
		c(&q)
	}
	return q
}

func rule() asset.Rule {
	return asset.Rule{Name: "events-spot", Description: "Spot interruptions", Pattern: spotPattern, Queue: queueARN, Tags: map[string]string{"team": "infra"}}
}

// made is an account in which the queue is there, and its URL.
func made(t *testing.T) (*fixture, string) {
	t.Helper()
	f := start(t)
	url, err := f.Create(t.Context(), queue())
	must(t, err)
	return f, url
}

func TestCreatedQueueIsRead(t *testing.T) {
	for name, wanted := range map[string]asset.Queue{
		"with SQS's key": queue(),
		"with a key":     queue(func(q *asset.Queue) { q.Key = "alias/queues" }),
		"not encrypted":  queue(func(q *asset.Queue) { q.Plain = true }),
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			url, err := f.Create(t.Context(), wanted)
			must(t, err)
			live, liveURL, arn, err := f.Read(t.Context(), "events")
			must(t, err)
			if diff := cmp.Diff(wanted, live); diff != "" || liveURL != url || arn != queueARN {
				t.Errorf("URL %s, want %s; ARN %s; queue (-want +got):\n%s", liveURL, url, arn, diff)
			}
		})
	}
}

// SQS answers with the URL of a queue that has the same attributes as if it had created
// it. Somebody else's queue stays somebody else's all the same.
func TestQueueThatExistsIsNotTakenOver(t *testing.T) {
	other := queue(func(q *asset.Queue) { q.Retention = 600 })
	tests := map[string]struct {
		wanted asset.Queue
		fault  cloud.Fault
	}{
		"with the same attributes":         {queue(), cloud.Fault{}},
		"with others":                      {other, cloud.Fault{}},
		"with others, since the look":      {other, cloud.Fault{Service: "sqs", Action: "GetQueueUrl", Code: "QueueDoesNotExist"}},
		"where it cannot be looked up":     {queue(), cloud.Fault{Service: "sqs", Action: "GetQueueUrl", Code: "AccessDeniedException"}},
		"where others cannot be looked up": {other, cloud.Fault{Service: "sqs", Action: "GetQueueUrl", Code: "AccessDeniedException"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f, _ := made(t)
			if tt.fault.Code != "" {
				f.account.Inject(tt.fault)
			}
			_, err := f.Create(t.Context(), tt.wanted)
			if denied := tt.fault.Code == "AccessDeniedException"; err == nil || errors.Is(err, fs.ErrExist) == denied {
				t.Errorf("error = %v", err)
			}
		})
	}
}

// answering returns queues in virtual time, whose requests to SQS are answered from memory.
func answering(answer func(input any) (output any, err error)) *eventqueue.Queues {
	return queues(aws.Config{Region: "eu-west-1", APIOptions: []func(*middleware.Stack) error{func(stack *middleware.Stack) error {
		outermost := stack.Initialize //nolint:misspell // the name of the SDK
		return outermost.Add(middleware.InitializeMiddlewareFunc("answer", func(_ context.Context, in middleware.InitializeInput, _ middleware.InitializeHandler) (
			out middleware.InitializeOutput, metadata middleware.Metadata, err error,
		) {
			out.Result, err = answer(in.Parameters)
			return out, metadata, err
		}), middleware.Before)
	}}})
}

// SQS keeps a name for a minute after its queue was deleted. Create waits for that long if
// the caller sets no limit, and no longer than the caller's limit.
func TestNameOfADeletedQueueIsWaitedFor(t *testing.T) {
	for limit, want := range map[time.Duration]bool{0: true, 5 * time.Minute: true, 30 * time.Second: false} {
		synctest.Test(t, func(t *testing.T) {
			ctx := t.Context()
			if limit > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, limit)
				defer cancel()
			}
			released := time.Now().Add(time.Minute)
			q := answering(func(input any) (any, error) {
				switch _, creates := input.(*sqs.CreateQueueInput); {
				case !creates:
					return nil, &sqstypes.QueueDoesNotExist{}
				case time.Now().Before(released):
					return nil, &sqstypes.QueueDeletedRecently{}
				}
				return &sqs.CreateQueueOutput{QueueUrl: aws.String("https://sqs/events")}, nil
			})
			url, err := q.Create(ctx, queue())
			if got := err == nil && url == "https://sqs/events"; got != want {
				t.Errorf("with a limit of %s: URL %q, error = %v", limit, url, err)
			}
		})
	}
}

// For some seconds, SQS may find a queue that was just deleted, and then not, and then find
// it again.
func TestDeletionIsWaitedFor(t *testing.T) {
	tests := map[string]struct {
		found   []bool // the last answer repeats
		lookups int    // 0 for any number
		deleted bool
	}{
		"gone at once":   {[]bool{false}, 3, true},
		"gone and back":  {[]bool{true, false, false, true, false}, 7, true},
		"found for good": {[]bool{true}, 0, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lookups, start := 0, time.Now()
				q := answering(func(input any) (any, error) {
					if _, deletes := input.(*sqs.DeleteQueueInput); deletes {
						return &sqs.DeleteQueueOutput{}, nil
					}
					lookups++
					if tt.found[min(lookups, len(tt.found))-1] {
						return &sqs.GetQueueUrlOutput{QueueUrl: aws.String("https://sqs/events")}, nil
					}
					return nil, &sqstypes.QueueDoesNotExist{}
				})
				if err := q.Delete(t.Context(), "events", "https://sqs/events"); (err == nil) != tt.deleted {
					t.Errorf("error = %v", err)
				}
				if tt.lookups > 0 && lookups != tt.lookups {
					t.Errorf("%d lookups, want %d", lookups, tt.lookups)
				}
				if took := time.Since(start); took > 80*time.Second {
					t.Errorf("took %s", took)
				}
			})
		})
	}
}

func TestUpdateChangesWhatIsDeclared(t *testing.T) {
	foreign := map[string]string{"owner": "somebody else"}
	tests := map[string]struct{ before, now asset.Queue }{
		"attributes":      {queue(), queue(func(q *asset.Queue) { q.Retention, q.Visibility = 600, 60 })},
		"a key":           {queue(), queue(func(q *asset.Queue) { q.Key = "alias/queues" })},
		"the key goes":    {queue(func(q *asset.Queue) { q.Key = "alias/queues" }), queue()},
		"encryption":      {queue(func(q *asset.Queue) { q.Plain = true }), queue()},
		"a tag's value":   {queue(), queue(func(q *asset.Queue) { q.Tags = map[string]string{"team": "web"} })},
		"another tag":     {queue(), queue(func(q *asset.Queue) { q.Tags = map[string]string{"env": "test"} })},
		"all tags go":     {queue(), queue(func(q *asset.Queue) { q.Tags = nil })},
		"nothing changes": {queue(), queue()},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			url, err := f.Create(t.Context(), tt.before)
			must(t, err)
			_, err = sqs.NewFromConfig(f.account.Config).TagQueue(t.Context(), &sqs.TagQueueInput{QueueUrl: &url, Tags: foreign})
			must(t, err)
			must(t, f.Update(t.Context(), url, tt.before, tt.now))
			live, _, _, err := f.Read(t.Context(), "events")
			must(t, err)
			want := tt.now
			want.Tags = map[string]string{"owner": "somebody else"}
			maps.Copy(want.Tags, tt.now.Tags)
			if diff := cmp.Diff(want, live); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// What is gone, or goes while it is read, is reported as such, and deleting it is fine.
func TestWhatIsGone(t *testing.T) {
	f, url := made(t)
	for _, action := range []string{"GetQueueAttributes", "ListQueueTags"} {
		f.account.Inject(cloud.Fault{Service: "sqs", Action: action, Code: "QueueDoesNotExist", Times: 1})
		if _, _, _, err := f.Read(t.Context(), "events"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s finds no queue: error = %v", action, err)
		}
	}
	_, err := f.PutRule(t.Context(), asset.Rule{}, rule())
	must(t, err)
	f.account.Inject(cloud.Fault{Service: "events", Action: "ListTargetsByRule", Code: "ResourceNotFoundException", Times: 2})
	if arn, err := f.ReadRule(t.Context(), rule()); arn != "" || err != nil {
		t.Errorf("rule that goes while it is read = %q, %v", arn, err)
	}
	if fed, err := f.Fed(t.Context(), []string{spotPattern}); len(fed) > 0 || err != nil {
		t.Errorf("queues of a rule that goes = %v, %v", fed, err)
	}

	for range 2 {
		must(t, f.DeleteRule(t.Context(), rule()))
		must(t, f.Delete(t.Context(), "events", url))
	}
	if _, _, _, err := f.Read(t.Context(), "events"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("deleted queue: error = %v", err)
	}
	if arn, err := f.ReadRule(t.Context(), rule()); arn != "" || err != nil {
		t.Errorf("deleted rule = %q, %v", arn, err)
	}
}

// A rule that does something else than what is declared is none, and PutRule mends it.
func TestRuleThatDoesSomethingElse(t *testing.T) {
	name := aws.String("events-spot")
	tests := map[string]func(*fixture) error{
		"deleted": func(f *fixture) error { return f.DeleteRule(t.Context(), rule()) },
		"off": func(f *fixture) error {
			_, err := f.events.PutRule(t.Context(), &eventbridge.PutRuleInput{Name: name, EventPattern: aws.String(spotPattern), State: types.RuleStateDisabled})
			return err
		},
		"other events": func(f *fixture) error {
			_, err := f.events.PutRule(t.Context(), &eventbridge.PutRuleInput{Name: name, EventPattern: aws.String(`{"source":["aws.s3"]}`)})
			return err
		},
	}
	for what, change := range tests {
		t.Run(what, func(t *testing.T) {
			f, _ := made(t)
			arn, err := f.PutRule(t.Context(), asset.Rule{}, rule())
			must(t, err)
			if live, err := f.ReadRule(t.Context(), rule()); live != arn || err != nil {
				t.Fatalf("rule = %q, %v, want %q", live, err, arn)
			}
			must(t, change(f))
			if live, err := f.ReadRule(t.Context(), rule()); live != "" || err != nil {
				t.Errorf("changed rule = %q, %v, want none", live, err)
			}
			_, err = f.PutRule(t.Context(), rule(), rule())
			must(t, err)
			if live, err := f.ReadRule(t.Context(), rule()); live != arn || err != nil {
				t.Errorf("mended rule = %q, %v, want %q", live, err, arn)
			}
		})
	}
}

// A rule that is not the queue's is neither taken over nor deleted. One that a queue of the
// same name, or a creation that failed, has left behind is both.
func TestRuleOfOthersStays(t *testing.T) {
	const ours, theirs, other = queueARN, queueARN + "-of-others", `{"source":["aws.s3"]}`
	tests := map[string]struct {
		pattern, target string
		taken           bool
	}{
		"a whole rule":                  {spotPattern, ours, false},
		"with other events":             {other, ours, false},
		"without its target":            {`{"detail-type":["EC2 Spot Instance Interruption Warning"], "source":["aws.ec2"]}`, "", false},
		"of another queue":              {spotPattern, theirs, true},
		"of others":                     {other, theirs, true},
		"of others, without any target": {other, "", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f, ctx := start(t), t.Context()
			_, err := f.events.PutRule(ctx, &eventbridge.PutRuleInput{Name: aws.String("events-spot"), EventPattern: &tt.pattern})
			must(t, err)
			if tt.target != "" {
				target := types.Target{Id: aws.String("packhorse-interruption-queue"), Arn: &tt.target}
				_, err := f.events.PutTargets(ctx, &eventbridge.PutTargetsInput{Rule: aws.String("events-spot"), Targets: []types.Target{target}})
				must(t, err)
			}
			if taken, err := f.RuleTaken(ctx, rule()); taken != tt.taken || err != nil {
				t.Errorf("taken = %t, %v", taken, err)
			}
			if _, err := f.PutRule(ctx, rule(), rule()); errors.Is(err, fs.ErrExist) != tt.taken || !tt.taken && err != nil {
				t.Errorf("put: error = %v", err)
			}
			must(t, f.DeleteRule(ctx, rule()))
			live, err := f.events.DescribeRule(ctx, &eventbridge.DescribeRuleInput{Name: aws.String("events-spot")})
			if kept := err == nil && *live.EventPattern == tt.pattern; kept != tt.taken {
				t.Errorf("after the deletion: %v, %v", live, err)
			}
		})
	}
}

// EventBridge takes tags only for a new rule, so those of one that exists change apart.
func TestTagsOfARule(t *testing.T) {
	f, ctx := start(t), t.Context()
	arn, err := f.PutRule(ctx, asset.Rule{}, rule())
	must(t, err)
	_, err = f.events.TagResource(ctx, &eventbridge.TagResourceInput{ResourceARN: &arn, Tags: []types.Tag{{Key: aws.String("owner"), Value: aws.String("somebody else")}}})
	must(t, err)
	now := rule()
	now.Tags = map[string]string{"env": "test"}
	_, err = f.PutRule(ctx, rule(), now)
	must(t, err)
	out, err := f.events.ListTagsForResource(ctx, &eventbridge.ListTagsForResourceInput{ResourceARN: &arn})
	must(t, err)
	got := map[string]string{}
	for _, tag := range out.Tags {
		got[*tag.Key] = *tag.Value
	}
	if diff := cmp.Diff(map[string]string{"env": "test", "owner": "somebody else"}, got); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
}

// A rule without its target is named, is no rule that works, and is completed by the
// next attempt.
func TestRuleThatWasLeftWithoutItsTarget(t *testing.T) {
	f, _ := made(t)
	arn, err := f.without(t, "events:PutTargets").PutRule(t.Context(), asset.Rule{}, rule())
	if err == nil || arn == "" || !strings.Contains(err.Error(), `"events-spot"`) || !strings.Contains(err.Error(), "events:PutTargets") {
		t.Fatalf("ARN %q, error = %v", arn, err)
	}
	if live, err := f.ReadRule(t.Context(), rule()); live != "" || err != nil {
		t.Errorf("rule without target = %q, %v, want none", live, err)
	}
	_, err = f.PutRule(t.Context(), asset.Rule{}, rule())
	must(t, err)
	if live, err := f.ReadRule(t.Context(), rule()); live != arn || err != nil {
		t.Errorf("completed rule = %q, %v, want %q", live, err, arn)
	}
}

func TestRuleWithTargetsOfOthersStays(t *testing.T) {
	f, ctx := start(t), t.Context()
	_, err := f.PutRule(ctx, asset.Rule{}, rule())
	must(t, err)
	others := types.Target{Id: aws.String("theirs"), Arn: aws.String(queueARN + "-of-others")}
	_, err = f.events.PutTargets(ctx, &eventbridge.PutTargetsInput{Rule: aws.String("events-spot"), Targets: []types.Target{others}})
	must(t, err)
	if err := f.DeleteRule(ctx, rule()); err == nil || !strings.Contains(err.Error(), `"events-spot"`) {
		t.Errorf("error = %v, want that the rule has targets", err)
	}
	out, err := f.events.ListTargetsByRule(ctx, &eventbridge.ListTargetsByRuleInput{Rule: aws.String("events-spot")})
	must(t, err)
	if len(out.Targets) != 1 || *out.Targets[0].Id != "theirs" {
		t.Errorf("targets = %v, want theirs alone", out.Targets)
	}
}

// Rules are found by their patterns, however these are spelled.
func TestFedQueues(t *testing.T) {
	f, ctx := start(t), t.Context()
	for name, pattern := range map[string]string{
		"b": spotPattern, "a": `{ "detail-type": ["EC2 Spot Instance Interruption Warning"], "source": ["aws.ec2"] }`, "unrelated": `{"source":["aws.s3"]}`,
	} {
		r := rule()
		r.Name, r.Pattern = name, pattern
		_, err := f.PutRule(ctx, asset.Rule{}, r)
		must(t, err)
	}
	fed, err := f.Fed(ctx, []string{spotPattern})
	must(t, err)
	if diff := cmp.Diff(map[string][]string{queueARN: {"a", "b"}}, fed); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A permission that is missing is named, together with what was to be done.
func TestMissingPermissionIsNamed(t *testing.T) {
	changed := queue(func(q *asset.Queue) { q.Retention, q.Tags = 600, map[string]string{"env": "test"} })
	changedRule := rule()
	changedRule.Tags = map[string]string{"env": "test"}
	create := func(q *eventqueue.Queues, _ string) error {
		_, err := q.Create(t.Context(), queue(func(q *asset.Queue) { q.Name = "events-new" }))
		return err
	}
	read := func(q *eventqueue.Queues, _ string) error { _, _, _, err := q.Read(t.Context(), "events"); return err }
	update := func(q *eventqueue.Queues, url string) error { return q.Update(t.Context(), url, queue(), changed) }
	put := func(q *eventqueue.Queues, _ string) error {
		_, err := q.PutRule(t.Context(), rule(), changedRule)
		return err
	}
	readRule := func(q *eventqueue.Queues, _ string) error { _, err := q.ReadRule(t.Context(), rule()); return err }
	deleteRule := func(q *eventqueue.Queues, _ string) error { return q.DeleteRule(t.Context(), rule()) }
	fed := func(q *eventqueue.Queues, _ string) error {
		_, err := q.Fed(t.Context(), []string{spotPattern})
		return err
	}
	tests := map[string]struct {
		act func(*eventqueue.Queues, string) error
		of  string
	}{
		"sqs:GetQueueUrl":          {create, `queue "events-new"`},
		"sqs:CreateQueue":          {create, `create queue "events-new"`},
		"sqs:GetQueueAttributes":   {read, `read queue "events"`},
		"sqs:ListQueueTags":        {read, `read queue "events"`},
		"sqs:SetQueueAttributes":   {update, `set the attributes of queue "events"`},
		"sqs:TagQueue":             {update, `tag queue "events"`},
		"sqs:UntagQueue":           {update, `untag queue "events"`},
		"sqs:DeleteQueue":          {func(q *eventqueue.Queues, url string) error { return q.Delete(t.Context(), "events", url) }, `delete queue "events"`},
		"events:DescribeRule":      {readRule, `read rule "events-spot"`},
		"events:PutRule":           {put, `put rule "events-spot"`},
		"events:TagResource":       {put, `tag rule "events-spot"`},
		"events:UntagResource":     {put, `tag rule "events-spot"`},
		"events:PutTargets":        {put, `target of rule "events-spot"`},
		"events:RemoveTargets":     {deleteRule, `remove the target of rule "events-spot"`},
		"events:DeleteRule":        {deleteRule, `delete rule "events-spot"`},
		"events:ListRules":         {fed, "list rules"},
		"events:ListTargetsByRule": {fed, `list the targets of rule "events-spot"`},
	}
	for action, tt := range tests {
		t.Run(action, func(t *testing.T) {
			f, url := made(t)
			_, err := f.PutRule(t.Context(), asset.Rule{}, rule())
			must(t, err)
			err = tt.act(f.without(t, action), url)
			if err == nil || !strings.Contains(err.Error(), tt.of) || !strings.Contains(err.Error(), "is not authorized to perform: "+action) {
				t.Errorf("error = %v, want it to name %s and %s", err, tt.of, action)
			}
		})
	}
}

// EventBridge may spread the targets of a rule over pages, also with a first page that has none.
func TestTargetOnALaterPage(t *testing.T) {
	q := answering(func(input any) (any, error) {
		switch in := input.(type) {
		case *eventbridge.DescribeRuleInput:
			return &eventbridge.DescribeRuleOutput{Arn: aws.String("arn:rule"), State: types.RuleStateEnabled, EventPattern: aws.String("{}")}, nil
		case *eventbridge.ListTargetsByRuleInput:
			if in.NextToken == nil {
				return &eventbridge.ListTargetsByRuleOutput{NextToken: aws.String("second")}, nil
			}
			return &eventbridge.ListTargetsByRuleOutput{Targets: []types.Target{{Id: aws.String("packhorse"), Arn: aws.String(queueARN)}}}, nil
		}
		return nil, fmt.Errorf("unexpected call with %T", input)
	})
	arn, err := q.ReadRule(t.Context(), asset.Rule{Name: "prod", Pattern: "{}", Queue: queueARN})
	if arn != "arn:rule" || err != nil {
		t.Errorf("rule = %q, %v", arn, err)
	}
}
