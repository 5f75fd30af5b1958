package agent

import "time"

const (
	// planRounds bounds how often a turn plans again because a cloud refused.
	planRounds = 8

	// avoidTime is how long an offering is avoided after its machine did not come up.
	avoidTime = 15 * time.Minute
	// interruptedTime is the same after the cloud has taken a machine back. The cloud may still have others.
	interruptedTime = 3 * time.Minute
	// leastDevicePause and mostDevicePause bound for how long nothing with a resource is
	// bought after a replacement whose device plugin did not register it either.
	leastDevicePause, mostDevicePause = time.Hour, 24 * time.Hour
	// leastLatePause and mostLatePause bound for how long a Provisioner buys nothing in a zone after
	// machines that did not come up in time. What has kept them from it may pass without the agent noticing.
	leastLatePause, mostLatePause = 15 * time.Minute, time.Hour
	// earlyPressure is how soon after its launch a node must run out of disk, memory or process ids to count as a
	// machine that has failed: later, it is more likely that its pods have used them up.
	earlyPressure = 20 * time.Minute
	// leastEndedPause and mostEndedPause bound for how long a Provisioner buys no machines of a
	// capacity type and an architecture after some that ended before they were up, or none at all after some that
	// were soon under pressure.
	leastEndedPause, mostEndedPause = 2 * time.Minute, 30 * time.Minute
)
