package account

import (
	"net/url"
	"reflect"
	"strings"
)

// Service is one AWS service: how it speaks and what it can do.
type Service struct {
	Name       string // as in IAM actions: "ec2"
	Protocol   protocol
	Words      dialect
	Operations map[string]Operation

	// One of these tells requests to the service from those to others: the Version
	// parameter of a query, the prefix of X-Amz-Target, or the path of a REST request,
	// which stands for a call and its labels.
	Version string
	Target  string
	Route   func(method string, u *url.URL) (call string, labels map[string]string)
}

// Operation is one call of a service.
type Operation struct {
	newInput func() any
	accesses func(input any) []Access
	run      func(caller *Caller, input any) (any, error)
	Public   bool // needs no signature
	Waits    bool // takes the account's lock itself, since it may take long
}

// Add registers the call whose name is that of its input type. It needs the
// permissions that needs returns, which are checked in that order.
func Add[S, In, Out any](s *Service, of S, needs func(S, *In) []Access, act func(S, *Caller, *In) (*Out, error)) {
	s.Operations[nameOf[In]()] = Operation{
		newInput: func() any { return new(In) },
		accesses: func(input any) []Access {
			if needs == nil {
				return nil
			}
			return needs(of, input.(*In))
		},
		run: func(caller *Caller, input any) (any, error) {
			output, err := act(of, caller, input.(*In))
			if err != nil {
				return nil, err
			}
			return output, nil
		},
	}
}

// AddOn registers a call that needs the permission of its own name, such as
// iam:CreateRole. On returns the resource that it needs it for.
func AddOn[S, In, Out any](s *Service, of S, on func(action string) func(S, *In) []Access, act func(S, *Caller, *In) (*Out, error)) {
	Add(s, of, on(s.Name+":"+nameOf[In]()), act)
}

// Found makes a call out of one about a thing that must exist, which find finds by the input.
func Found[S, T, In, Out any](find func(S, *In) (T, error), act func(S, T, *In) (*Out, error)) func(S, *Caller, *In) (*Out, error) {
	return func(of S, _ *Caller, input *In) (*Out, error) {
		thing, err := find(of, input)
		if err != nil {
			return nil, err
		}
		return act(of, thing, input)
	}
}

// AddOnAnything is AddOn for a call that has no resources.
func AddOnAnything[S, In, Out any](s *Service, of S, act func(S, *Caller, *In) (*Out, error)) {
	AddOn(s, of, func(action string) func(S, *In) []Access {
		return func(S, *In) []Access { return []Access{{Action: action, Resource: "*"}} }
	}, act)
}

// Change alters a registered call, which is named by its input type.
func Change[In any](s *Service, alter func(*Operation)) {
	op := s.Operations[nameOf[In]()]
	alter(&op)
	s.Operations[nameOf[In]()] = op
}

func nameOf[In any]() string { return strings.TrimSuffix(reflect.TypeFor[In]().Name(), "Input") }
