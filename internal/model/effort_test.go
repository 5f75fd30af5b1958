package model

import (
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// TestEffortFinishesWhatHasBegun: where pods take more than there is effort for, those that have
// begun finish, others are postponed, and one that needs no more than its share goes on.
func TestEffortFinishesWhatHasBegun(t *testing.T) {
	var pods []Pod
	for range 200 {
		pods = append(pods, Pod{Pod: &cluster.Pod{Template: &cluster.Template{}}})
	}
	e := NewEffort(pods, 0)
	finished, postponed := 0, 0
	for _, p := range pods[1:] {
		a := e.accounts[p.Pod.Template]
		e.Begin(a)
		e.Start()
		if e.Spend(int(2 * e.share)); !e.Over() {
			finished++
		} else if e.Postponed(a) {
			postponed++
		}
	}
	if finished < 90 || postponed < 90 || finished+postponed != len(pods)-1 {
		t.Errorf("%d of %d templates finish and %d are postponed, want about half each", finished, len(pods)-1, postponed)
	}
	modest := e.accounts[pods[0].Pod.Template]
	e.Begin(modest)
	e.Start()
	if e.Spend(int(e.share)); e.Over() {
		t.Error("a template that needs its share does not get it")
	}
	if e.Spend(int(modest.limit)); !e.Over() || e.Postponed(modest) {
		t.Error("a template that spends more than one may is postponed, want it to end")
	}
}

// TestEachPassHasEffort: pods may begin in each pass, whatever earlier ones have spent, and other
// ways to place all pods are tried only as long as these have not spent too much.
func TestEachPassHasEffort(t *testing.T) {
	pods := []Pod{{Pod: &cluster.Pod{Template: &cluster.Template{}}}}
	e := NewEffort(pods, 0)
	a := e.accounts[pods[0].Pod.Template]
	for pass := range 4 {
		if e.Again(); e.Spare() != (pass < turnsOfPlan) {
			t.Errorf("after %d passes there is effort for another way: %v", pass, e.Spare())
		}
		e.Others()
		e.Start()
		e.Spend(int(e.turn))
		e.Begin(a)
		e.Again()
		if e.Start(); !a.begun || e.Over() {
			t.Errorf("in pass %d a pod cannot begin because of what earlier ones have spent", pass)
		}
		a.begun = false
	}
}
