package provider

import (
	"bytes"
	"context"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// framework is what the plugin framework's server can do. Two of its parts are not
// yet in the interface of all servers, and would be hidden by it.
type framework interface {
	tfprotov6.ProviderServer
	tfprotov6.ListResourceServer
	tfprotov6.ActionServer
	tfprotov6.StateStoreServer
}

// server answers Terraform's calls through the plugin framework, but for those that
// are made for each custom resource of each plan and have nothing to tell. The
// framework takes milliseconds for each of them, since it looks up every attribute
// some ten times; see plain.
type server struct {
	framework
	provider *packhorse
	plain    map[string]*plain // by the type of resource

	stop stopping
}

// NewServer returns the server of a provider that New has made.
func NewServer(p provider.Provider) func() tfprotov6.ProviderServer {
	return func() tfprotov6.ProviderServer {
		s := &server{framework: providerserver.NewProtocol6(p)().(framework), provider: p.(*packhorse), plain: map[string]*plain{}}
		for _, k := range []kind{provisioner{}, nodeProfile{}} {
			s.plain[typeName+k.typeName()] = newPlain(k)
		}
		return s
	}
}

// StopProvider ends what is under way.
func (s *server) StopProvider(ctx context.Context, req *tfprotov6.StopProviderRequest) (*tfprotov6.StopProviderResponse, error) {
	s.stop.now()
	return s.framework.StopProvider(ctx, req)
}

// ValidateResourceConfig checks the configuration of one resource.
func (s *server) ValidateResourceConfig(ctx context.Context, req *tfprotov6.ValidateResourceConfigRequest) (*tfprotov6.ValidateResourceConfigResponse, error) {
	if p := s.plain[req.TypeName]; p != nil {
		if answer := p.validate(req); answer != nil {
			return answer, nil
		}
	}
	return s.framework.ValidateResourceConfig(ctx, req)
}

// UpgradeResourceState brings a state to this version of its schema. One that has it
// already is what Terraform will read: it knows the schema, and has dropped what that
// does not have.
func (s *server) UpgradeResourceState(ctx context.Context, req *tfprotov6.UpgradeResourceStateRequest) (*tfprotov6.UpgradeResourceStateResponse, error) {
	if s.plain[req.TypeName] != nil && req.Version == schemaVersion && req.RawState != nil && len(req.RawState.JSON) > 0 {
		return &tfprotov6.UpgradeResourceStateResponse{UpgradedState: &tfprotov6.DynamicValue{JSON: req.RawState.JSON}}, nil
	}
	return s.framework.UpgradeResourceState(ctx, req)
}

// ReadResource refreshes one resource.
func (s *server) ReadResource(ctx context.Context, req *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
	ctx, cancel := s.stop.able(ctx)
	defer cancel()
	if p := s.plain[req.TypeName]; p != nil {
		if answer := p.read(ctx, s.provider.session, req); answer != nil {
			return answer, nil
		}
	}
	return s.framework.ReadResource(ctx, req)
}

// PlanResourceChange plans a change of one resource.
func (s *server) PlanResourceChange(ctx context.Context, req *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	ctx, cancel := s.stop.able(ctx)
	defer cancel()
	if p := s.plain[req.TypeName]; p != nil {
		if unchanged(req) {
			return &tfprotov6.PlanResourceChangeResponse{
				PlannedState: req.PriorState, PlannedPrivate: req.PriorPrivate, PlannedIdentity: req.PriorIdentity,
			}, nil
		}
		if answer := p.create(ctx, s.provider.session, req); answer != nil {
			return answer, nil
		}
	}
	return s.framework.PlanResourceChange(ctx, req)
}

// unchanged tells whether the configuration of a custom resource asks for nothing
// that the state has not. Its refresh has renewed what is computed, and what does not
// change is not judged, so that the answer is known. Resources in AWS are planned
// always: what they are computed from can change by itself.
func unchanged(req *tfprotov6.PlanResourceChangeRequest) bool {
	return same(req.PriorState, req.ProposedNewState)
}

// same reports whether two values are there and the same.
func same(a, b *tfprotov6.DynamicValue) bool {
	return a != nil && b != nil && len(a.MsgPack) > 0 && bytes.Equal(a.MsgPack, b.MsgPack)
}
