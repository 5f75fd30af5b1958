package notices

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
)

// event has the fields of an EventBridge event that are used.
type event struct {
	Source     string          `json:"source"`
	DetailType string          `json:"detail-type"`
	Time       string          `json:"time"`
	Detail     json.RawMessage `json:"detail"`
}

// kinds are the kinds of events about one instance, by the keys of policy.InterruptionEvents. The others are of AWS Health.
var kinds = map[string]offer.NoticeKind{
	"capacity-reservation": offer.NoticeReservation, "rebalance": offer.NoticeRebalance,
	"spot": offer.NoticeSpotInterruption, "state": offer.NoticeStateChange,
}

// readNotice reads a message. Messages that are malformed or about something else are
// notices too, because they must be deleted from the queue like all others.
func readNotice(body string) offer.Notice {
	var e event
	if err := json.Unmarshal([]byte(body), &e); err != nil {
		return malformed("it is not an event in JSON: %v", err)
	}
	if e.Source == "" || e.DetailType == "" {
		return malformed("it lacks the source or the detail-type of an EventBridge event")
	}
	notice := read(e)
	notice.At, _ = time.Parse(time.RFC3339, e.Time) // what cannot be read is not known
	return notice
}

func read(e event) offer.Notice {
	for _, known := range policy.InterruptionEvents() {
		if known.Source != e.Source || known.DetailType != e.DetailType {
			continue
		}
		if kind, ok := kinds[known.Key]; ok {
			return readInstance(e, kind)
		}
		return readHealth(e)
	}
	return unrelated("it is %q of %s", e.DetailType, e.Source)
}

// readInstance reads an event about one instance.
func readInstance(e event, kind offer.NoticeKind) offer.Notice {
	var detail struct {
		InstanceID string `json:"instance-id"`
		State      string `json:"state"`
	}
	if err := json.Unmarshal(e.Detail, &detail); err != nil {
		return malformed("the detail of %q cannot be read: %v", e.DetailType, err)
	}
	if detail.InstanceID == "" {
		return malformed("the detail of %q names no instance-id", e.DetailType)
	}
	if kind == offer.NoticeStateChange && !endsMachine(detail.State) {
		return unrelated("%s is %s", detail.InstanceID, detail.State)
	}
	notice := offer.Notice{Kind: kind, InstanceIDs: []string{detail.InstanceID}}
	if kind == offer.NoticeStateChange {
		notice.State = detail.State
	}
	return notice
}

// endsMachine reports whether an instance in the state has stopped running pods, or soon
// will.
func endsMachine(state string) bool {
	return slices.Contains([]string{"stopping", "stopped", "shutting-down", "terminated"}, state)
}

// readHealth reads an event of AWS Health, which may concern several instances.
func readHealth(e event) offer.Notice {
	var detail struct {
		Service  string `json:"service"`
		Category string `json:"eventTypeCategory"`
		Status   string `json:"statusCode"`
		Affected []struct {
			Value  string `json:"entityValue"`
			Status string `json:"status"`
		} `json:"affectedEntities"`
	}
	if err := json.Unmarshal(e.Detail, &detail); err != nil {
		return malformed("the detail of %q cannot be read: %v", e.DetailType, err)
	}
	if detail.Service != "EC2" || detail.Category != "scheduledChange" {
		return unrelated("it is an AWS Health event of service %q and category %q", detail.Service, detail.Category)
	}
	notice := offer.Notice{Kind: offer.NoticeScheduledChange}
	resolved := false
	for _, entity := range detail.Affected {
		switch {
		case entity.Status == "RESOLVED":
			resolved = true
		case entity.Value != "":
			notice.InstanceIDs = append(notice.InstanceIDs, entity.Value)
		}
	}
	if detail.Status == "closed" || (resolved && len(notice.InstanceIDs) == 0) {
		return unrelated("the change that it announced is over or cancelled")
	}
	if len(notice.InstanceIDs) == 0 {
		return malformed("the detail of %q names no affected entity", e.DetailType)
	}
	slices.Sort(notice.InstanceIDs)
	notice.InstanceIDs = slices.Compact(notice.InstanceIDs)
	return notice
}

func malformed(format string, args ...any) offer.Notice {
	return offer.Notice{Kind: offer.NoticeMalformed, Problem: fmt.Sprintf(format, args...)}
}

func unrelated(format string, args ...any) offer.Notice {
	return offer.Notice{Kind: offer.NoticeUnrelated, Problem: fmt.Sprintf(format, args...)}
}
