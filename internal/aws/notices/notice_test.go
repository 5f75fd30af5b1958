package notices

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Whatever is on the queue, reading it gives a notice that can be acted on.
func TestReadNoticeIsTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{
			`"source":"aws.ec2"`, `"source":"aws.health"`, `"source":7`, `"detail-type":"AWS Health Event"`,
			`"detail-type":"EC2 Instance State-change Notification"`, `"time":"2026-01-01T00:00:00Z"`, `"time":"yesterday"`,
			`"detail":{"instance-id":"i-1","state":"stopped"}`, `"detail":[]`, `"detail":{"service":"EC2","eventTypeCategory":"scheduledChange","affectedEntities":[{"entityValue":"i-2"},{"entityValue":"i-1"}]}`,
		})
		n := readNotice("{" + strings.Join(rapid.SliceOf(text).Draw(t, "fields"), ",") + "}")
		ends := n.Kind == offer.NoticeMalformed || n.Kind == offer.NoticeUnrelated
		if ends != (n.Problem != "") || ends != (len(n.InstanceIDs) == 0) || !slices.IsSorted(n.InstanceIDs) {
			t.Fatalf("%+v", n)
		}
	})
}

// AWS Health sends an event again once the change is over or cancelled, for all machines or for some.
func TestChangesThatAreOver(t *testing.T) {
	const scheduled = `{"source":"aws.health","detail-type":"AWS Health Event","detail":{"service":"EC2","eventTypeCategory":"scheduledChange",`
	for detail, want := range map[string]string{
		`"statusCode":"upcoming","affectedEntities":[{"entityValue":"i-1"}]}}`:                                                          "i-1",
		`"statusCode":"closed","affectedEntities":[{"entityValue":"i-1"}]}}`:                                                            "",
		`"statusCode":"open","affectedEntities":[{"entityValue":"i-1","status":"RESOLVED"},{"entityValue":"i-2","status":"PENDING"}]}}`: "i-2",
		`"statusCode":"open","affectedEntities":[{"entityValue":"i-1","status":"RESOLVED"}]}}`:                                          "",
	} {
		kind := offer.NoticeScheduledChange
		if want == "" {
			kind = offer.NoticeUnrelated
		}
		if n := readNotice(scheduled + detail); n.Kind != kind || strings.Join(n.InstanceIDs, ",") != want {
			t.Errorf("%s: %+v", detail, n)
		}
	}
}

// A notice says when it was said, if it can be read.
func TestTimeOfNotices(t *testing.T) {
	for text, want := range map[string]time.Time{"2026-01-01T00:00:00Z": time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), "yesterday": {}, "": {}} {
		n := readNotice(`{"source":"aws.ec2","detail-type":"EC2 Spot Instance Interruption Warning","time":"` + text + `","detail":{"instance-id":"i-1"}}`)
		if n.Kind != offer.NoticeSpotInterruption || !n.At.Equal(want) {
			t.Errorf("%q: %+v, want %s", text, n, want)
		}
	}
}
