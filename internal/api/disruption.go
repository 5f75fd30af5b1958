package api

// The voluntary reasons under which nodes are taken away, as Budget.Reasons
// and AnnotationDisruption hold them.
const (
	ReasonEmptiness     = "emptiness"
	ReasonExpiry        = "expiry"
	ReasonDrift         = "drift"
	ReasonConsolidation = "consolidation"
)

// disruptionReasons lists the reasons that budgets may name.
var disruptionReasons = []string{ReasonEmptiness, ReasonExpiry, ReasonDrift, ReasonConsolidation}

// DefaultBudget bounds voluntary disruption where a Provisioner says nothing.
const DefaultBudget = "10%"
