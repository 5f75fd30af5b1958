package agent

import "time"

// What is done at the same time has a bound.
const (
	marketsAtOnce  = 8  // Provisioners
	launchesAtOnce = 8  // orders of one Provisioner
	nodesAtOnce    = 16 // Node objects of one order
	bindsAtOnce    = 64 // pods, of all nodes together

	// launchAttempts bounds how often an order is repeated under its launch id
	// after an error that leaves open whether machines were bought.
	launchAttempts = 3
	// purchasePatience is how long a turn waits for the cloud to answer orders, so that
	// it can plan at once for what was refused. Slower ones are settled by a later turn.
	purchasePatience = 2 * time.Second
	// planRounds bounds how often a turn plans again because a cloud refused.
	planRounds = 8

	// avoidTime is how long an offering is avoided after its machine did not come up.
	avoidTime = 15 * time.Minute
	// leastDevicePause and mostDevicePause bound for how long nothing with a resource is
	// bought after a replacement whose device plugin did not register it either.
	leastDevicePause, mostDevicePause = time.Hour, 24 * time.Hour
	// quotaShown is how long a condition tells of a quota that was used up: longer
	// than what draws on it is held back, so that it stays while pods wait.
	quotaShown = 10 * time.Minute
	// listingLag is how long a new instance may be missing in a cloud's listing.
	listingLag = time.Minute
)
