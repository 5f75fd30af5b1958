package cloud

import (
	"context"
	"errors"
	"io"
	"net/http"
	"reflect"
	"sync"
	"time"
)

// maxBody is the largest request that is read.
const maxBody = 1 << 20

// call is one request on its way.
type call struct {
	ctx       context.Context
	service   *service
	action    string
	who       principal
	requestID string
	endpoint  string        // base URL as the client wrote it
	delay     time.Duration // of the answer, by faults of offerings
}

// Handler answers the requests of all services.
func (c *Cloud) Handler() http.Handler { return http.HandlerFunc(c.serve) }

func (c *Cloud) serve(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, "request entity too large", http.StatusRequestEntityTooLarge)
		return
	}
	service, name, received := c.route(r, body)
	if service == nil {
		http.Error(w, "no such AWS service here: "+r.Method+" "+r.URL.Path, http.StatusNotFound)
		return
	}
	caller := &call{ctx: r.Context(), service: service, action: name, endpoint: "http://" + r.Host}
	answer, err := c.perform(caller, received)
	problem := c.asAPIError(caller, err)
	c.record(caller, problem, time.Since(started))
	c.events.deliver() // before the answer: who has it may rely on the events
	if err := (strike{latency: caller.delay}).land(caller.ctx); err != nil {
		return // the client does not wait any more
	}
	if problem != nil {
		service.protocol.refuse(w, caller, problem)
	} else {
		service.protocol.answer(w, caller, answer)
	}
}

// perform takes a call through the steps that AWS takes it through and returns
// the encoded answer.
func (c *Cloud) perform(caller *call, received *received) ([]byte, error) {
	op, known := caller.service.operations[caller.action]
	fault, err := c.admit(caller, received, op.public)
	if err != nil {
		return nil, err
	}
	if err := fault.land(caller.ctx); err != nil {
		return nil, err
	}
	if !known {
		return nil, fail(caller.service.words.unknownCall, "The action %s is not valid for this web service.", caller.action)
	}
	input := op.newInput()
	if err := caller.service.protocol.decode(received, input); err != nil {
		return nil, err
	}
	return c.act(caller, op, input)
}

// act authorises and carries out a call. The answer is encoded under the same
// lock, since it points into the cloud's state.
func (c *Cloud) act(caller *call, op operation, input any) ([]byte, error) {
	c.mu.Lock()
	unlock := sync.OnceFunc(c.mu.Unlock)
	defer unlock()
	if err := c.authorise(caller, op.accesses(c, input)); err != nil {
		return nil, err
	}
	if isDryRun(input) {
		return nil, fail("DryRunOperation", "Request would have succeeded, but DryRun flag is set.").with(http.StatusPreconditionFailed)
	}
	if op.waits {
		unlock()
	}
	output, err := op.run(c, caller, input)
	if err != nil {
		return nil, err
	}
	return caller.service.protocol.encode(caller, output)
}

// admit authenticates the caller and picks the fault that strikes the call, if
// any.
func (c *Cloud) admit(caller *call, received *received, public bool) (strike, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle()
	caller.requestID = c.newUUID()
	if !public {
		who, err := c.authenticate(caller.service, received)
		if err != nil {
			return strike{}, err
		}
		caller.who = who
	}
	if !c.takeToken(caller) {
		words := caller.service.words
		return strike{}, fail(words.throttled, "Request limit exceeded.").with(words.throttleHTTP)
	}
	return c.nextFault(caller), nil
}

// asAPIError turns whatever went wrong into what AWS would say.
func (c *Cloud) asAPIError(caller *call, err error) *apiError {
	if err == nil {
		return nil
	}
	if problem, ok := errors.AsType[*apiError](err); ok {
		return problem
	}
	c.log.Error("answered with an internal error", "service", caller.service.name, "action", caller.action, "error", err)
	return fail("InternalError", "%s", err).with(http.StatusInternalServerError)
}

// isDryRun reads the DryRun field that most inputs of EC2 have.
func isDryRun(input any) bool {
	field := reflect.ValueOf(input).Elem().FieldByName("DryRun")
	if !field.IsValid() || field.IsNil() {
		return false
	}
	return field.Elem().Bool()
}
