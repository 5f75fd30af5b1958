package account

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Fault makes calls fail or slow, or purchases of some offerings where one of
// InstanceType, Zone and CapacityType is set: then Code stands in the errors of a
// fleet beside the offering, and the next one is tried as usual.
type Fault struct {
	Service string        // "ec2"; "*" or empty for any
	Action  string        // "CreateFleet"; "*" or empty for any
	Code    string        // AWS error code; empty for none, only Latency
	Message string        // AWS error message; empty for one that says that it is injected
	Rate    float64       // share of the calls, 0 to 1; 0 counts as 1
	Times   int           // how many calls are struck; 0 for no end
	Latency time.Duration // before the answer

	InstanceType string // "m5.large"; "*" for any
	Zone         string // "eu-west-1a"; "*" for any
	CapacityType string // "spot" or "on-demand"; "*" for any
}

// OfOffering reports whether the fault is about purchases, not about calls.
func (f *Fault) OfOffering() bool { return f.InstanceType+f.Zone+f.CapacityType != "" }

// Faults are the faults that are in force.
type faults struct{ active []*activeFault }

type activeFault struct {
	Fault
	struck int
}

// Strike is what a fault does to one call.
type Strike struct {
	Latency time.Duration
	Problem *APIError
}

// land waits and returns the fault's error, if it has one.
func (s Strike) land(ctx context.Context) error {
	if s.Latency > 0 {
		timer := time.NewTimer(s.Latency)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if s.Problem != nil {
		return s.Problem
	}
	return nil
}

// Inject puts a fault in force until remove is called.
func (c *Account) Inject(fault Fault) (remove func()) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	active := &activeFault{Fault: fault}
	c.faults.active = append(c.faults.active, active)
	return func() {
		c.Mu.Lock()
		defer c.Mu.Unlock()
		c.faults.active = slices.DeleteFunc(c.faults.active, func(f *activeFault) bool { return f == active })
	}
}

// nextFault adds up what the faults in force do to a call.
func (c *Account) nextFault(caller *Caller) Strike {
	return c.Strikes(func(f *Fault) bool {
		return !f.OfOffering() && Wildcard(f.Service, caller.service.Name) && Wildcard(f.Action, caller.action)
	})
}

// Strikes adds up the faults in force that concern something: the first one with
// an error decides, latencies add.
func (c *Account) Strikes(concerned func(*Fault) bool) Strike {
	var s Strike
	for _, f := range c.faults.active {
		if !concerned(&f.Fault) || (f.Times > 0 && f.struck >= f.Times) {
			continue
		}
		if f.Rate > 0 && f.Rate < 1 && c.Random.Float64() >= f.Rate {
			continue
		}
		f.struck++
		s.Latency += f.Latency
		if f.Code != "" && s.Problem == nil {
			s.Problem = Fail(f.Code, "%s", cmp.Or(f.Message, "Injected fault.")).With(statusOf(f.Code))
		}
	}
	return s
}

// Wildcard tells whether want is name, or stands for any.
func Wildcard(want, name string) bool {
	return want == "" || want == "*" || strings.EqualFold(want, name)
}

// statusOf returns the HTTP status that AWS sends along with an error code.
func statusOf(code string) int {
	switch code {
	case "InternalError", "InternalFailure", "InternalServerError", "ServerInternal":
		return http.StatusInternalServerError
	case "RequestLimitExceeded", "Unavailable", "ServiceUnavailable", "ServiceUnavailableException":
		return http.StatusServiceUnavailable
	case "UnauthorizedOperation", "AccessDenied", "AuthFailure":
		return http.StatusForbidden
	default:
		return http.StatusBadRequest
	}
}

// bucket is a token bucket.
type bucket struct {
	rate   float64 // tokens per second
	burst  float64
	tokens float64
	filled time.Time
}

// SetThrottle limits a call of a service ("*" for all of its calls together)
// to rate per second with bursts; a rate of zero lifts the limit.
func (c *Account) SetThrottle(service, action string, rate float64, burst int) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	name := service + ":" + action
	if rate <= 0 {
		delete(c.throttle, name)
		return
	}
	c.throttle[name] = &bucket{rate: rate, burst: float64(burst), tokens: float64(burst), filled: c.Wall()}
}

// takeToken takes a token from each bucket that the call is limited by.
func (c *Account) takeToken(caller *Caller) bool {
	for _, action := range []string{caller.action, "*"} {
		if b := c.throttle[caller.service.Name+":"+action]; b != nil && !b.take(c.Wall()) {
			return false
		}
	}
	return true
}

func (b *bucket) take(now time.Time) bool {
	b.tokens = min(b.burst, b.tokens+b.rate*now.Sub(b.filled).Seconds())
	b.filled = now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}
