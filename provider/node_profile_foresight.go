package provider

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/plancheck"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

func (k nodeProfile) draft(d *session.Drafts, name string, spec map[string]any) session.Turn {
	template, _, err := k.decode(name, spec)
	if err != nil {
		return d.All()
	}
	return d.AddTemplate(template)
}

func (nodeProfile) forgo(context.Context) map[string]tftypes.Value { return nil }

// foresee tells which nodes are replaced since they are built otherwise from now on.
func (nodeProfile) foresee(ctx context.Context, f *foresight) map[string]tftypes.Value {
	f.lookForInstanceProfile(ctx)
	if f.before == nil {
		return nil
	}
	live, err := f.session.Survey(ctx)
	if err != nil {
		f.skip("nodes that were built from it", err)
		return nil
	}
	stock, err := f.session.Stock(ctx)
	if err != nil {
		f.skip("nodes that were built from it", err)
		return nil
	}
	f.tell(f.replaced(ctx, live, stock).Finding(), "")
	return nil
}

// lookForInstanceProfile warns of one that is neither there nor planned. Without a
// cluster's name nothing says that there is an account to ask.
func (f *foresight) lookForInstanceProfile(ctx context.Context) {
	name, _ := f.spec["instanceProfile"].(string)
	if name == "" || name == f.before["instanceProfile"] || f.session.Config.ClusterName == "" || f.session.Drafts.HasInstanceProfile(name) {
		return
	}
	account, err := f.session.Account(ctx)
	if err == nil {
		_, _, err = account.Profiles.Read(ctx, name)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.tell([]plancheck.Finding{{
			Severity: plancheck.Doubtful, Path: "spec.instanceProfile", Text: fmt.Sprintf("the account has no instance profile %q", name),
			Advice: "No machine starts without it. Refer to the resource that makes it, such as packhorse_node_role.example.instance_profile, or correct the name.",
		}}, "")
	case err != nil:
		f.skip("the instance profile", err)
	}
}

// foreseeRemoval has nothing to tell: what was built from a profile stays.
func (nodeProfile) foreseeRemoval(context.Context, *foresight) {}
