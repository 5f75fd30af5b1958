package account

import (
	"slices"
	"time"
)

// maxCalls is how many calls are remembered; the oldest are forgotten first.
const maxCalls = 100_000

// Call is one request that was answered.
type Call struct {
	Time      time.Time
	Service   string
	Action    string
	Principal string // ARN; empty if it was not authenticated
	ErrorCode string // empty if it succeeded
	Duration  time.Duration
}

// Calls returns the requests so far, in the order in which they were answered.
func (c *Account) Calls() []Call {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	return slices.Clone(c.calls)
}

func (c *Account) record(caller *Caller, problem *APIError, took time.Duration) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	made := Call{Time: c.Now(), Service: caller.service.Name, Action: caller.action, Principal: caller.Who.ARN, Duration: took}
	if problem != nil {
		made.ErrorCode = problem.Code
	}
	if len(c.calls) >= maxCalls {
		c.calls = slices.Delete(c.calls, 0, maxCalls/10)
	}
	c.calls = append(c.calls, made)
	c.Log.Debug("answered a call", "service", made.Service, "action", made.Action, "principal", made.Principal, "error_code", made.ErrorCode, "duration", took)
}
