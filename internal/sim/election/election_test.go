package election

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/process"
)

// leads starts a candidate, and returns where its terms appear.
func leads(t *testing.T, e *Election, p *process.Process) <-chan *Term {
	t.Helper()
	terms := make(chan *Term, 1)
	go e.Lead(t.Context(), p, func(held *Term) { terms <- held }, func(ctx context.Context) { <-ctx.Done() }) //nolint:errcheck // It ends with the test.
	return terms
}

// A second candidate waits until the first one's lease has ended, and the first one may not act
// any more by then.
func TestDeadLeaderIsSucceeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e Election
		first, second := process.New(nil), process.New(nil)
		held := <-leads(t, &e, first)
		waiting := leads(t, &e, second)
		time.Sleep(time.Minute)
		synctest.Wait()
		select {
		case <-waiting:
			t.Fatal("two processes lead")
		default:
		}
		first.Kill()
		died := time.Now()
		next := <-waiting
		if took := time.Since(died); took < Margin || took > validity+Retry {
			t.Errorf("the next leader came after %v", took)
		}
		if e.Leads(held) || !e.Leads(next) || held.Fence.Check() == nil || next.Fence.Check() != nil {
			t.Error("the dead leader may act, or the next one may not")
		}
	})
}

// A leader that loses the lease learns it before another may lead.
func TestLose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e Election
		held := <-leads(t, &e, process.New(nil))
		waiting := leads(t, &e, process.New(nil))
		e.Lose()
		if held.Fence.Check() == nil {
			t.Error("the leader does not know that it has lost the lease")
		}
		<-waiting
		if e.Leads(held) {
			t.Error("two processes lead")
		}
	})
}

// A claim refuses what other processes order, each of them once.
func TestClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Claims
		leader, former := process.New(nil), process.New(nil)
		if !c.Admit(former, time.Now()) {
			t.Error("an order is refused although nobody has claimed")
		}
		begun := time.Now()
		c.Claim(leader)
		if c.Admit(former, begun) || !c.Admit(leader, begun) {
			t.Error("the claim did not refuse the other's order, or refused its own")
		}
		if c.Admit(former, begun) {
			t.Error("an order that had begun before the refusal was served")
		}
		time.Sleep(time.Second)
		if !c.Admit(former, time.Now()) {
			t.Error("a process that makes its templates again is refused for good")
		}
	})
}
