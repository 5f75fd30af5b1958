package explain

import "testing"

// A step that does not lower the bill is not said to save.
func TestConsolidationStepInWords(t *testing.T) {
	for want, st := range map[string]ConsolidationStep{
		"would save $0.1000 per hour for 1 eviction worth $0.0010, but waits: w":               {Nodes: []string{"a"}, Saving: 0.1, Moves: 1, Cost: 0.001, Why: "w"},
		"would take fewer nodes for 2 evictions worth $0.0010 and 1 new machine, but waits: w": {Nodes: []string{"a", "b"}, Machines: 1, Moves: 2, Cost: 0.001, Why: "w"},
		"would need 1 eviction worth $0.0010 and 1 new machine, but waits: w":                  {Nodes: []string{"a"}, Machines: 1, Moves: 1, Cost: 0.001, Why: "w"},
	} {
		if got := st.Words(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
