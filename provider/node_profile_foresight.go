package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

func (k nodeProfile) draft(d *session.Drafts, name string, spec map[string]any) {
	if template, _, err := k.decode(name, spec); err == nil {
		d.AddTemplate(template)
	}
}

func (nodeProfile) forgo(context.Context) map[string]tftypes.Value { return nil }

// foresee tells which nodes are replaced since they are built otherwise from now on.
func (nodeProfile) foresee(ctx context.Context, f *foresight) map[string]tftypes.Value {
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
	f.replaced(ctx, live, stock)
	return nil
}

// foreseeRemoval has nothing to tell: what was built from a profile stays.
func (nodeProfile) foreseeRemoval(context.Context, *foresight) {}
