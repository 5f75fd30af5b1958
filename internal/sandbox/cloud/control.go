package cloud

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
)

// controlRoute is one route of the control port.
type controlRoute struct {
	pattern string // method and path
	help    string
	serve   func(r *http.Request) (any, error)
}

// control keeps what the control port can undo.
type control struct {
	cloud   *Cloud
	removal map[int]func()
	nextID  int
}

// ControlHandler serves the faults, capacities, calls and costs of the cloud
// as JSON, for tests and people. GET / lists its routes. It asks for no
// credentials: serve it on loopback only.
func (c *Cloud) ControlHandler() http.Handler {
	k := &control{cloud: c, removal: map[int]func(){}}
	mux := http.NewServeMux()
	routes := k.routes()
	for _, route := range routes {
		mux.HandleFunc(route.pattern, func(w http.ResponseWriter, r *http.Request) { respond(w, r, route.serve) })
	}
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		respond(w, r, func(*http.Request) (any, error) {
			index := map[string]string{}
			for _, route := range routes {
				index[route.pattern] = route.help
			}
			return index, nil
		})
	})
	return mux
}

func respond(w http.ResponseWriter, r *http.Request, serve func(*http.Request) (any, error)) {
	answer, err := serve(r)
	status := http.StatusOK
	if err != nil {
		status, answer = http.StatusBadRequest, map[string]string{"error": err.Error()}
	}
	text, err := json.MarshalIndent(answer, "", "  ")
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(strconv.Quote(err.Error()))
	}
	account.Write(w, status, "application/json", append(text, '\n'))
}

func (k *control) routes() []controlRoute {
	return []controlRoute{
		{"GET /instances", "all instances, with terminated ones", func(*http.Request) (any, error) { return k.cloud.Instances(), nil }},
		{"POST /instances/{id}/running", "make a pending instance running", k.markRunning},
		{"POST /instances/{id}/{act}", "interrupt-spot, interrupt-reservation, rebalance, maintenance, stop or terminate", k.disturb},
		{"POST /queues/{name}", `open an interruption queue that hears of everything`, k.openQueue},
		{"POST /queues/{name}/messages", `{"body","times"}: put any text on a queue`, k.enqueue},
		{"GET /queues/{name}/messages", "what is on a queue", func(r *http.Request) (any, error) { return k.cloud.Messages(r.PathValue("name")), nil }},
		{"GET /calls", "all requests so far", func(*http.Request) (any, error) { return k.cloud.Calls(), nil }},
		{"GET /ledger", "instance hours and their price", func(*http.Request) (any, error) { return k.cloud.Ledger(), nil }},
		{"POST /capacity", `{"instanceType","zone","capacityType","machines","lasting"}: machines left in each pool; "*" for any, -1 for no limit; with a duration, none at all for so long`, k.setCapacity},
		{"POST /quota", `{"capacityType","vcpus"}: vCPUs that may run; -1 for no limit`, k.setQuota},
		{"POST /subnets", `{"subnet","free"}: free addresses of a subnet`, k.setFreeAddresses},
		{"POST /faults", `{"service","action","code","rate","times","latency"}: make calls fail or slow, or with "instanceType","zone","capacity" purchases of an offering; answers with the fault's id`, k.inject},
		{"DELETE /faults/{id}", "lift a fault", k.lift},
		{"POST /throttle", `{"service","action","rate","burst"}: calls per second; 0 lifts the limit`, k.setThrottle},
		{"POST /behaviour", `{"pendingDelay","shuttingDownDelay","terminatedVisible","readLag","spotWarning","iamLag","sessionLifetime"}: durations such as "2s"; "spotVolatility": a share; "duplicateEvents": true or false`, k.setBehaviour},
	}
}

// read decodes a request's body, whose fields must all be known.
func read(r *http.Request, into any) error {
	decoder := json.NewDecoder(http.MaxBytesReader(nil, r.Body, account.MaxBody))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	return nil
}

// span is a duration in JSON, written like "1.5s".
type span time.Duration

func (s *span) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	*s = span(d)
	return err
}

func done() (any, error) { return map[string]bool{"ok": true}, nil }

func (k *control) markRunning(r *http.Request) (any, error) {
	k.cloud.MarkRunning(r.PathValue("id"))
	return done()
}

func (k *control) setCapacity(r *http.Request) (any, error) {
	var in struct {
		InstanceType, Zone, CapacityType string
		Machines                         int
		Lasting                          span
	}
	if err := read(r, &in); err != nil {
		return nil, err
	}
	if in.Lasting > 0 {
		k.cloud.DrainPools(in.InstanceType, in.Zone, in.CapacityType, time.Duration(in.Lasting))
		return done()
	}
	k.cloud.SetCapacity(in.InstanceType, in.Zone, in.CapacityType, in.Machines)
	return done()
}

func (k *control) setQuota(r *http.Request) (any, error) {
	var in struct {
		CapacityType string
		VCPUs        int32
	}
	if err := read(r, &in); err != nil {
		return nil, err
	}
	k.cloud.SetQuota(in.CapacityType, in.VCPUs)
	return done()
}

func (k *control) setFreeAddresses(r *http.Request) (any, error) {
	var in struct {
		Subnet string
		Free   int
	}
	if err := read(r, &in); err != nil {
		return nil, err
	}
	if err := k.cloud.SetFreeAddresses(in.Subnet, in.Free); err != nil {
		return nil, err
	}
	return done()
}

func (k *control) inject(r *http.Request) (any, error) {
	var in struct {
		Service, Action, Code        string
		InstanceType, Zone, Capacity string
		Rate                         float64
		Times                        int
		Latency                      span
	}
	if err := read(r, &in); err != nil {
		return nil, err
	}
	remove := k.cloud.Inject(account.Fault{
		Service: in.Service, Action: in.Action, Code: in.Code, Rate: in.Rate, Times: in.Times, Latency: time.Duration(in.Latency),
		InstanceType: in.InstanceType, Zone: in.Zone, CapacityType: in.Capacity,
	})
	k.cloud.Mu.Lock()
	defer k.cloud.Mu.Unlock()
	k.nextID++
	k.removal[k.nextID] = remove
	return map[string]int{"id": k.nextID}, nil
}

func (k *control) lift(r *http.Request) (any, error) {
	id, err := strconv.Atoi(r.PathValue("id"))
	if err != nil {
		return nil, fmt.Errorf("lift fault %q: not a number", r.PathValue("id"))
	}
	k.cloud.Mu.Lock()
	remove := k.removal[id]
	delete(k.removal, id)
	k.cloud.Mu.Unlock()
	if remove == nil {
		return nil, fmt.Errorf("lift fault %d: no such fault", id)
	}
	remove()
	return done()
}

func (k *control) setThrottle(r *http.Request) (any, error) {
	var in struct {
		Service, Action string
		Rate            float64
		Burst           int
	}
	if err := read(r, &in); err != nil {
		return nil, err
	}
	k.cloud.SetThrottle(in.Service, in.Action, in.Rate, in.Burst)
	return done()
}

// setBehaviour changes the delays that the request names and leaves the rest.
func (k *control) setBehaviour(r *http.Request) (any, error) {
	var in struct {
		PendingDelay, ShuttingDownDelay, TerminatedVisible, ReadLag, SpotWarning, IAMLag, SessionLifetime *span

		SpotVolatility  *float64
		DuplicateEvents *bool
	}
	if err := read(r, &in); err != nil {
		return nil, err
	}
	k.cloud.Mu.Lock()
	defer k.cloud.Mu.Unlock()
	b := &k.cloud.Behaves
	for _, change := range []struct {
		wanted *span
		delay  *time.Duration
	}{
		{in.PendingDelay, &b.PendingDelay}, {in.ShuttingDownDelay, &b.ShuttingDownDelay},
		{in.TerminatedVisible, &b.TerminatedVisible}, {in.ReadLag, &b.ReadLag}, {in.SpotWarning, &b.SpotWarning}, {in.IAMLag, &b.IAMLag},
		{in.SessionLifetime, &b.SessionLifetime},
	} {
		if change.wanted != nil {
			*change.delay = time.Duration(*change.wanted)
		}
	}
	if in.SpotVolatility != nil {
		b.SpotVolatility = *in.SpotVolatility
	}
	if in.DuplicateEvents != nil {
		b.DuplicateEvents = *in.DuplicateEvents
	}
	return done()
}
