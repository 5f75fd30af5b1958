package cloud

import (
	"reflect"
	"strings"
)

// service is one AWS service: how it speaks and what it can do.
type service struct {
	name       string // as in IAM actions: "ec2"
	protocol   protocol
	words      dialect
	operations map[string]operation
}

// operation is one call of a service.
type operation struct {
	newInput func() any
	accesses func(c *Cloud, input any) []access
	run      func(c *Cloud, caller *call, input any) (any, error)
	public   bool // needs no signature
	waits    bool // takes the cloud's lock itself, since it may take long
}

// accesses returns the permissions that a call needs, in the order in which
// they are checked.
type accesses[In any] func(c *Cloud, input *In) []access

// action is what a call does once it is allowed.
type action[In, Out any] func(c *Cloud, caller *call, input *In) (*Out, error)

// add registers the call whose name is that of its input type.
func add[In, Out any](s *service, needs accesses[In], act action[In, Out]) {
	name := strings.TrimSuffix(reflect.TypeFor[In]().Name(), "Input")
	s.operations[name] = operation{
		newInput: func() any { return new(In) },
		accesses: func(c *Cloud, input any) []access {
			if needs == nil {
				return nil
			}
			return needs(c, input.(*In))
		},
		run: func(c *Cloud, caller *call, input any) (any, error) {
			output, err := act(c, caller, input.(*In))
			if err != nil {
				return nil, err
			}
			return output, nil
		},
	}
}

// change alters a registered call, which is named by its input type.
func change[In any](s *service, alter func(*operation)) {
	name := strings.TrimSuffix(reflect.TypeFor[In]().Name(), "Input")
	op := s.operations[name]
	alter(&op)
	s.operations[name] = op
}

// onAnything is the permission for a call that has no resources.
func onAnything[In any](action string) accesses[In] {
	return func(*Cloud, *In) []access { return []access{{action: action, resource: "*"}} }
}

// newServices returns all services by name.
func newServices() map[string]*service {
	services := map[string]*service{}
	for _, s := range []*service{
		newEC2(), newIAM(), newSTS(), newEKS(), newSSM(), newPricing(), newSQS(), newAutoScaling(), newEvents(),
	} {
		services[s.name] = s
	}
	return services
}
