package account

import (
	"context"
	"errors"
	"io"
	"net/http"
	"reflect"
	"sync"
	"time"
)

// MaxBody is the largest request that is read.
const MaxBody = 1 << 20

// Caller is one request on its way, and who makes it.
type Caller struct {
	Ctx       context.Context
	service   *Service
	action    string
	Who       Principal
	requestID string
	Endpoint  string        // base URL as the client wrote it
	Delay     time.Duration // of the answer, by faults of offerings
}

// Handler answers the requests of all services.
func (c *Account) Handler() http.Handler { return http.HandlerFunc(c.serve) }

func (c *Account) serve(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	if err != nil {
		http.Error(w, "request entity too large", http.StatusRequestEntityTooLarge)
		return
	}
	service, name, received := c.route(r, body)
	if service == nil {
		http.Error(w, "no such AWS service here: "+r.Method+" "+r.URL.Path, http.StatusNotFound)
		return
	}
	request := &Caller{Ctx: r.Context(), service: service, action: name, Endpoint: "http://" + r.Host}
	answer, err := c.perform(request, received)
	problem := c.asAPIError(request, err)
	c.record(request, problem, time.Since(started))
	c.AfterEach() // before the answer: who has it may rely on the events
	if err := (Strike{Latency: request.Delay}).land(request.Ctx); err != nil {
		return // the client does not wait any more
	}
	if problem != nil {
		service.Protocol.refuse(w, request, problem)
	} else {
		service.Protocol.answer(w, request, answer)
	}
}

// perform takes a call through the steps that AWS takes it through and returns
// the encoded answer.
func (c *Account) perform(caller *Caller, received *Received) ([]byte, error) {
	op, known := caller.service.Operations[caller.action]
	fault, err := c.admit(caller, received, op.Public)
	if err != nil {
		return nil, err
	}
	if err := fault.land(caller.Ctx); err != nil {
		return nil, err
	}
	if !known {
		return nil, Fail(caller.service.Words.unknownCall, "The action %s is not valid for this web service.", caller.action)
	}
	input := op.newInput()
	if err := caller.service.Protocol.decode(received, input); err != nil {
		return nil, err
	}
	return c.act(caller, op, input)
}

// act authorises and carries out a call. The answer is encoded under the same
// lock, since it points into the cloud's state.
func (c *Account) act(caller *Caller, op Operation, input any) ([]byte, error) {
	c.Mu.Lock()
	unlock := sync.OnceFunc(c.Mu.Unlock)
	defer unlock()
	if err := c.authorise(caller, op.accesses(input)); err != nil {
		return nil, err
	}
	if isDryRun(input) {
		return nil, Fail("DryRunOperation", "Request would have succeeded, but DryRun flag is set.").With(http.StatusPreconditionFailed)
	}
	if op.Waits {
		unlock()
	}
	output, err := op.run(caller, input)
	if err != nil {
		return nil, err
	}
	return caller.service.Protocol.encode(caller, output)
}

// admit authenticates the caller and picks the fault that strikes the call, if
// any.
func (c *Account) admit(caller *Caller, received *Received, public bool) (Strike, error) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.BeforeEach()
	caller.requestID = c.NewUUID()
	if !public {
		who, err := c.authenticate(caller.service, received)
		if err != nil {
			return Strike{}, err
		}
		caller.Who = who
	}
	if !c.takeToken(caller) {
		words := caller.service.Words
		return Strike{}, Fail(words.throttled, "Request limit exceeded.").With(words.throttleHTTP)
	}
	return c.nextFault(caller), nil
}

// asAPIError turns whatever went wrong into what AWS would say.
func (c *Account) asAPIError(caller *Caller, err error) *APIError {
	if err == nil {
		return nil
	}
	if problem, ok := errors.AsType[*APIError](err); ok {
		return problem
	}
	c.Log.Error("answered with an internal error", "service", caller.service.Name, "action", caller.action, "error", err)
	return Fail("InternalError", "%s", err).With(http.StatusInternalServerError)
}

// isDryRun reads the DryRun field that most inputs of EC2 have.
func isDryRun(input any) bool {
	field := reflect.ValueOf(input).Elem().FieldByName("DryRun")
	if !field.IsValid() || field.IsNil() {
		return false
	}
	return field.Elem().Bool()
}
