package provider

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// naming is an attribute by which a resource names something that exists only once.
type naming struct {
	attribute, title string
	// look returns an error for what has the planned name in AWS already, nil if
	// nothing has. Naming of objects in the cluster have none: foresight looks them up.
	look func(ctx context.Context, account *session.Account, planned tftypes.Value) (diag.Diagnostic, error)
}

// claimant is a resource that names things.
type claimant interface {
	resource.Resource
	namings() []naming
}

// claim notes that a resource declares something of a name, and reports whether that is
// new to all resources. Two that declare the same are an error.
func claim(ctx context.Context, s *session.Session, n naming, req resource.ModifyPlanRequest, planned tftypes.Value, diags *diag.Diagnostics) (created bool) {
	name := textAt(planned, n.attribute)
	if s == nil || name == "" {
		return false
	}
	var twice, known bool
	switch {
	case textAt(req.State.Raw, n.attribute) == name:
		known, twice = true, s.Claims.Keep(n.title, name)
	case req.State.Raw.IsNull() && recorded(ctx, req.Private):
		return false // the second half of a replacement, of which the first has been planned
	default:
		twice, known = s.Claims.Create(n.title, name)
	}
	if twice {
		diags.AddAttributeError(path.Root(n.attribute), fmt.Sprintf("%s: two resources declare the %s %q", n.attribute, n.title, name),
			"They would change the same object in turn. Give one of them another name, or remove it.")
	}
	return !known && !twice
}

// recorded reports whether private state says that something was declared.
func recorded(ctx context.Context, private privateState) bool {
	for _, key := range []string{clusterKey, declaredKey, issuerKey} {
		if raw, _ := private.GetKey(ctx, key); len(raw) > 0 {
			return true
		}
	}
	return false
}

// checkNames finds the names of a plan that other resources declare, and those that are
// taken in AWS by something that no resource has in its state.
func (r *named) checkNames(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	for _, n := range r.names {
		created := claim(ctx, r.session, n, req, resp.Plan.Raw, &resp.Diagnostics)
		if !created || r.session.Config.PlanChecks == session.ChecksOff {
			continue
		}
		taken, err := r.lookUp(ctx, n, resp.Plan.Raw)
		switch {
		case errors.Is(err, session.ErrWrongAccess):
			tellOnce(r.session, noAWS, err, &resp.Diagnostics)
		case err != nil:
			f := &foresight{session: r.session, title: n.title, name: textAt(resp.Plan.Raw, n.attribute), diags: &resp.Diagnostics}
			f.skip("whether the name is taken", err)
			f.tellUnchecked()
		case taken != nil:
			resp.Diagnostics.Append(taken)
		}
	}
}

func (r *named) lookUp(ctx context.Context, n naming, planned tftypes.Value) (diag.Diagnostic, error) {
	account, err := r.session.Account(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, planLookup)
	defer cancel()
	return n.look(ctx, account, planned)
}

// existing is an error for something that could be read.
func existing(what, id string, err error) (diag.Diagnostic, error) {
	switch {
	case err == nil:
		return existsAlready(what, id), nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	}
	return nil, err
}

// roleName is how a resource names an IAM role.
func roleName() naming {
	return naming{"name", roleTitle, func(ctx context.Context, account *session.Account, planned tftypes.Value) (diag.Diagnostic, error) {
		name := nameOf(planned)
		_, _, err := account.Roles.Read(ctx, name)
		return existing(roleTitle+" "+name, name, err)
	}}
}

// profileName is how a node role names its instance profile. One that is there is
// taken over, unless it gives machines another role.
func profileName() naming {
	return naming{"instance_profile", "instance profile", func(ctx context.Context, account *session.Account, planned tftypes.Value) (diag.Diagnostic, error) {
		name := textAt(planned, "instance_profile")
		live, _, err := account.Profiles.Read(ctx, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil
		case err != nil:
			return nil, err
		case live.Role == "" || live.Role == nameOf(planned):
			return nil, nil
		}
		return diag.NewAttributeErrorDiagnostic(path.Root("instance_profile"), "instance_profile: "+profileTaken(live).Error(), ""), nil
	}}
}

// profileTaken says that a profile gives machines a role of others.
func profileTaken(live session.Profile) error {
	return takenError(fmt.Sprintf("instance profile %s exists already and gives machines the role %s: name another one with `instance_profile`, or delete it", live.Name, live.Role))
}

// takenError says that what a resource would create is there and serves somebody else.
type takenError string

func (e takenError) Error() string { return string(e) }

// queueName is how a resource names a queue.
func queueName() naming {
	return naming{"name", queueTitle, func(ctx context.Context, account *session.Account, planned tftypes.Value) (diag.Diagnostic, error) {
		name := nameOf(planned)
		_, _, _, err := account.Queues.Read(ctx, name)
		return existing(queueTitle+" "+name, name, err)
	}}
}

// The titles of what is in AWS.
const (
	roleTitle  = "IAM role"
	queueTitle = "queue"
)
