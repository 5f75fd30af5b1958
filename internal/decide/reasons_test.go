package decide

import (
	"fmt"
	"strings"
	"testing"
)

// TestTheNearestMissComesFirst has ten Provisioners, of which the pod selects one that
// cannot buy: the reason begins with that, and says of the others no more than that they
// are not the one.
func TestTheNearestMissComesFirst(t *testing.T) {
	w := newWorld(t, catalogueA())
	for i := range 10 {
		w.provisioner(fmt.Sprintf("p%d", i), "")
	}
	w.in.Provisioners[7].Blocked = "no security group has the tag team=web"
	w.pods(1, "web", "nodeSelector: {$provisioner: p7}, requests: {cpu: 1}")
	plan := w.decide()
	if len(plan.Unplaced) != 1 {
		t.Fatalf("planned %+v", plan)
	}
	reason := plan.Unplaced[0].Reason
	if !strings.HasPrefix(reason, "provisioner p7 cannot buy now: no security group has the tag team=web; ") {
		t.Errorf("the reason begins with something else: %s", reason)
	}
	if !strings.HasSuffix(reason, "9 of 10 provisioners (p0, p1, p2, p3, p4, …): each is not one that the pod selects by karpenter.sh/provisioner-name In [p7]") {
		t.Errorf("the others are not told apart: %s", reason)
	}
}
