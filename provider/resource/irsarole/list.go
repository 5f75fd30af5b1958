package irsarole

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/list/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/wire"
)

// NewList returns the list resource of the IAM roles that ServiceAccounts of the cluster can assume.
func NewList() list.ListResource { return &irsaList{newRole()} }

// irsaList lists roles for `terraform query`.
type irsaList struct{ *irsaRole }

var _ list.ListResourceWithConfigure = &irsaList{}

func (l *irsaList) ListResourceConfigSchema(_ context.Context, _ list.ListResourceSchemaRequest, resp *list.ListResourceSchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Lists the IAM roles that only trust ServiceAccounts of the provider block's `cluster_name`, sorted by name.",
	}
}

func (l *irsaList) List(ctx context.Context, req list.ListRequest, stream *list.ListResultsStream) {
	ctx = l.Session.Mask(ctx)
	var diags diag.Diagnostics
	account := l.Account(ctx, &diags)
	if diags.HasError() {
		stream.Results = list.ListResultsStreamDiagnostics(diags)
		return
	}
	roles, err := l.trusting(ctx, account)
	if err != nil {
		diags.AddError("list IAM roles: "+err.Error(), "The provider recognises roles by the OIDC issuer of the cluster that `cluster_name` in the provider block names.")
		stream.Results = list.ListResultsStreamDiagnostics(diags)
		return
	}
	stream.Results = func(push func(list.ListResult) bool) {
		for i, name := range roles {
			if req.Limit > 0 && int64(i) >= req.Limit || !push(l.result(ctx, req, account, name)) {
				return
			}
		}
	}
}

// trusting returns the names of the roles that trust only ServiceAccounts of the cluster.
func (l *irsaList) trusting(ctx context.Context, account *session.Account) ([]string, error) {
	if l.Session.Config.ClusterName == "" {
		return nil, errors.New("the provider block has no `cluster_name`")
	}
	url, err := account.Issuers.Of(ctx, l.Session.Config.ClusterName)
	if err != nil {
		return nil, err
	}
	all, err := account.Roles.List(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	issuer, arn := policy.IssuerPath(url), policy.ClusterARN(account.Partition, account.Region, account.ID, l.Session.Config.ClusterName)
	for _, role := range all {
		trust, err := policy.ParseTrust(role.Trust)
		if err == nil && (policy.IssuerPath(trust.Issuer) == issuer || trust.Cluster == arn) {
			out = append(out, role.Name)
		}
	}
	return out, nil
}

// result returns one role, with its whole state if the request asks for that.
func (l *irsaList) result(ctx context.Context, req list.ListRequest, account *session.Account, name string) list.ListResult {
	out := req.NewListResult(ctx)
	out.DisplayName = name
	lifecycle.SetName(ctx, out.Identity, name, &out.Diagnostics)
	if !req.IncludeResource {
		return out
	}
	live, arn, err := account.Roles.Read(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		out.Diagnostics.AddWarning(fmt.Sprintf("IAM role %s was deleted while roles were listed", name), "")
		return out
	}
	if err != nil {
		out.Diagnostics.Append(l.Error(name, err))
		return out
	}
	var m model
	out.Diagnostics.Append(out.Resource.Set(ctx, wire.NewModel(wire.TypeOf(ctx, out.Resource.Schema), name))...)
	out.Diagnostics.Append(out.Resource.Get(ctx, &m)...)
	m.ARN = types.StringValue(arn)
	out.Diagnostics.Append(m.takeAll(live, account, l.Session.Config.DefaultTags)...)
	l.adoptCluster(ctx, account.Issuers, &m)
	m.refresh(live)
	if err := m.refreshAssociations(ctx, account.Associations); err != nil {
		out.Diagnostics.Append(l.Error(name, err))
	}
	out.Diagnostics.Append(out.Resource.Set(ctx, &m)...)
	return out
}
