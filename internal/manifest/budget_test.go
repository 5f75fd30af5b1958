package manifest

import (
	"fmt"
	"strings"
	"testing"
)

// A budget that is written by hand allows what its controller would let it allow. What the controller has
// said holds.
func TestBudgetsWithoutAStatus(t *testing.T) {
	pods := ""
	for i, ready := range []string{"True", "True", "True", "False"} {
		pods += fmt.Sprintf(`
---
apiVersion: v1
kind: Pod
metadata: {name: web-%d, labels: {app: web}}
spec: {nodeName: n1, containers: []}
status: {phase: Running, conditions: [{type: Ready, status: "%s"}]}
`, i, ready)
	}
	for rest, c := range map[string]struct {
		allowed int32
		healthy bool
		strict  bool
	}{
		"spec: {maxUnavailable: 1, SELECTED}":                                                                       {0, true, false},
		"spec: {maxUnavailable: 2, SELECTED}":                                                                       {1, true, false},
		`spec: {maxUnavailable: "30%", SELECTED}`:                                                                   {1, true, false},
		"spec: {maxUnavailable: 0, SELECTED}":                                                                       {0, false, true},
		"spec: {minAvailable: 2, SELECTED}":                                                                         {1, true, false},
		`spec: {minAvailable: "51%", SELECTED}`:                                                                     {0, true, false},
		`spec: {minAvailable: "100%", SELECTED}`:                                                                    {0, false, true},
		"spec: {maxUnavailable: 4, selector: {matchLabels: {app: other}}}":                                          {0, false, false},
		"spec: {maxUnavailable: 2, SELECTED}\nstatus: {observedGeneration: 1, disruptionsAllowed: 0}":               {0, false, false},
		"spec: {maxUnavailable: 2, SELECTED}\nstatus: {conditions: [{type: DisruptionAllowed, status: \"False\"}]}": {0, false, false},
	} {
		budget := "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web}\n" +
			strings.Replace(rest, "SELECTED", "selector: {matchLabels: {app: web}}", 1)
		got := parse(t, budget+pods).Snapshot.PodDisruptionBudgets[0]
		if got.DisruptionsAllowed != c.allowed || got.Healthy != c.healthy || got.Strict != c.strict {
			t.Errorf("%s: allows %d, healthy %v, strict %v, want %d, %v, %v", rest, got.DisruptionsAllowed, got.Healthy, got.Strict, c.allowed, c.healthy, c.strict)
		}
	}
}
