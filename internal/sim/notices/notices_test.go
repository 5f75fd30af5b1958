package notices

import (
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// A notice that was received is hidden, comes again when it was not acknowledged, and is gone
// for good once it was.
func TestReceive(t *testing.T) {
	var q Queue
	q.Send(offer.Notice{Kind: offer.NoticeSpotInterruption}, 2)
	now := time.Unix(0, 0)
	first := q.Receive(now)
	if len(first) != 2 || first[0].Handle == first[1].Handle {
		t.Fatalf("received %v, want two with handles of their own", first)
	}
	if q.Ready(now.Add(HiddenTime-1)) || len(q.Receive(now.Add(HiddenTime-1))) > 0 {
		t.Error("a hidden notice was received")
	}
	q.Acknowledge(first[0].Handle)
	now = now.Add(HiddenTime)
	if !q.Ready(now) {
		t.Error("the notice that was not acknowledged does not come again")
	}
	again := q.Receive(now)
	if len(again) != 1 || again[0].Handle != first[1].Handle {
		t.Errorf("received %v, want the notice that was not acknowledged", again)
	}
	q.Acknowledge(first[1].Handle)
	if q.Len() != 0 || q.Ready(now.Add(time.Hour)) {
		t.Error("notices that were acknowledged are still there")
	}
}
