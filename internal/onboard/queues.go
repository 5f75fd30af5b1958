package onboard

import (
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
)

const queueResource = "packhorse_interruption_queue"

// Queue is an SQS queue on which rules put interruptions of machines.
type Queue struct {
	asset.Queue
	ARN string
	// Rules are the names of the rules, in order.
	Rules []string
}

// queueItems writes the cluster's queues: those that one of its roles may read. Rules themselves know no cluster.
// One that only has the name of the cluster in its own may be that of another cluster, such as prod-eu, so that it
// is a suggestion.
func queueItems(queues []Queue, scope Scope, roles []Role) []Item {
	var out []Item
	for i := range queues {
		queue := &queues[i]
		read := slices.ContainsFunc(roles, func(r Role) bool { return r.names(queue.ARN) })
		if !read && !strings.Contains(queue.Name, scope.ClusterName) {
			continue
		}
		item := queueItem(queue)
		if !read {
			item.ImportID = ""
			item.Notes = append(item.Notes, "only its name has that of the cluster in it, and no role that was found may read it: check which cluster it belongs to")
		}
		out = append(out, item)
	}
	return out
}

// names reports whether an inline policy of the role is about something.
func (r *Role) names(arn string) bool {
	for _, document := range r.Inline {
		if strings.Contains(document, `"`+arn+`"`) {
			return true
		}
	}
	return false
}

// queueItem writes one queue. One that the resource would change cannot be imported
// without that change, so that it is a suggestion.
func queueItem(queue *Queue) Item {
	item := Item{Kind: "interruption queue", Name: queue.Name, Resource: queueResource, ImportID: queue.Name}
	item.addIf(queue.Retention != asset.DefaultRetention, "message_retention_seconds", queue.Retention)
	item.addIf(queue.Visibility != asset.DefaultVisibility, "visibility_timeout_seconds", queue.Visibility)
	item.addIf(queue.Key != "", "kms_key_id", queue.Key)
	item.addTags(queue.Tags)
	if changes := queue.changes(); len(changes) > 0 {
		item.ImportID, item.Notes = "", changes
	}
	return item
}

// changes says what the resource would change.
func (q *Queue) changes() []string {
	var out, own, missing []string
	for _, event := range policy.InterruptionEvents() {
		name := event.RuleName(q.Name)
		own = append(own, name)
		if !slices.Contains(q.Rules, name) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		out = append(out, "the resource would make the rules "+strings.Join(missing, ", "))
	}
	if others := slices.DeleteFunc(slices.Clone(q.Rules), func(rule string) bool { return slices.Contains(own, rule) }); len(others) > 0 {
		out = append(out, "the rules "+strings.Join(others, ", ")+" would stay: delete them once it has its own")
	}
	if wanted, err := policy.Queue(q.ARN); err != nil || !policy.SamePolicy(wanted, q.Policy) {
		out = append(out, "the resource would replace the queue's policy")
	}
	if q.Plain {
		out = append(out, "the resource would encrypt the queue's messages")
	}
	return out
}
