package agent

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// installation returns the installation for the checks of a plan. It is nil if the cluster cannot be
// reached, which is left to the apply to report, or if checks are off.
func (r *agentResource) installation(ctx context.Context) session.Installation {
	if r.Session.Config.PlanChecks == session.ChecksOff {
		return nil
	}
	cluster, err := r.Session.Cluster(ctx)
	if err != nil {
		return nil
	}
	return cluster.Installation()
}

// checkInstallation reports what in the cluster prevents an installation.
func (r *agentResource) checkInstallation(ctx context.Context, m *model, diags *diag.Diagnostics) {
	if m.unknown(ctx) || diags.HasError() {
		return
	}
	keeper := r.installation(ctx)
	if keeper == nil {
		return
	}
	if webhooks, err := keeper.Webhooks(ctx); err == nil && len(webhooks) > 0 {
		diags.AddWarning("Admission webhooks of Karpenter refuse changes of its objects once it is stopped",
			"The agent could write neither the status of Provisioners and NodePools nor their finalizers, and would buy nothing for them. "+
				"Delete the webhooks when you have scaled Karpenter down:\n\nkubectl delete "+strings.Join(webhooks, " "))
	}
	if machines, err := keeper.Machines(); err != nil {
		diags.AddWarning("It is not known whether the cluster has Karpenter 0.28 to 0.32",
			fmt.Sprintf("Such a Karpenter would terminate the agent's machines without draining them. If there is one, delete its Deployment before the agent starts.\n\n%s", err))
	} else if machines {
		diags.AddWarning("Karpenter 0.28 to 0.32 would terminate the machines of the agent",
			"The cluster has the kind Machine of these releases. They find the agent's machines by their tags, and terminate them without draining them. "+
				"Delete the Deployment of such a Karpenter before the agent starts, so that nothing scales it up again. "+
				"If the cluster has a later Karpenter or none, delete the CRD machines.karpenter.sh once it has no objects.")
	}
	objects := r.objects(ctx, m, diags)
	live, err := keeper.Read(ctx, objects)
	if err != nil {
		return
	}
	if has(live, "Deployment") {
		diags.AddWarning(m.title()+" already exists",
			"If this plan replaces it, because it is tainted or `-replace` names it, the apply creates its Deployment again and keeps definitions, provisioners, "+
				"node profiles and nodes. If it is new in this configuration, the apply will fail: import it instead.\n\n"+lifecycle.ImportBlock(m.id()))
	}
	checkNamespace(live, diags)
	if err := keeper.Check(ctx, objects, r.forces(m)); lifecycle.Refused(err) {
		diags.Append(agentError(m, err))
	}
}

// checkUpdate reports what in the cluster prevents a change of an installation.
func (r *agentResource) checkUpdate(ctx context.Context, before, after *model, diags *diag.Diagnostics) {
	if after.unknown(ctx) || diags.HasError() {
		return
	}
	keeper := r.installation(ctx)
	if keeper == nil {
		return
	}
	objects := r.objects(ctx, after, diags)
	old, err := before.inventory()
	if err == nil {
		err = checkTurnedOn(ctx, keeper, without(objects, old), r.forces(after), diags)
	}
	if lifecycle.Refused(err) {
		diags.Append(agentError(after, err))
	}
}

// checkTurnedOn checks the objects of an installation that did not belong to it before. Others may have declared them.
func checkTurnedOn(ctx context.Context, keeper session.Installation, added []*unstructured.Unstructured, force bool, diags *diag.Diagnostics) error {
	live, err := keeper.Read(ctx, added)
	if err != nil {
		return err
	}
	checkNamespace(live, diags)
	return keeper.Check(ctx, added, force)
}

// checkNamespace adds an error if the namespace of an installation already exists and was made for
// something else. With our labels, Pod Security would reject the pods of others there.
func checkNamespace(live []*unstructured.Unstructured, diags *diag.Diagnostics) {
	for _, object := range live {
		if object != nil && object.GetKind() == "Namespace" && !install.Owns(object) {
			diags.Append(lifecycle.AttributeError("create_namespace", fmt.Sprintf("namespace %s already exists and was made for something else", object.GetName()),
				"With Pod Security set to `restricted`, it would reject pods that others run there. Set `create_namespace = false` to install the agent there and leave the namespace as it is. "+
					"If the namespace is for Packhorse alone, you can give it the label `app.kubernetes.io/part-of=packhorse` instead."))
		}
	}
}

// destroyFirst is for a replacement that Terraform begins with the creation.
const destroyFirst = "If this resource replaces it, remove `create_before_destroy` from its `lifecycle` block and from those of resources that depend on it, " +
	"to which Terraform extends it."

// checkAlone adds an error if another agent is installed in the cluster. With create_before_destroy, it is the
// one to be replaced. It leads until it is removed, so that the new one never would, and its removal, of which
// Terraform does not say that it is part of a replacement, would remove what both have.
func checkAlone(ctx context.Context, keeper session.Installation, m *model, diags *diag.Diagnostics) error {
	others, err := keeper.Others(ctx, m.Namespace.ValueString(), m.Name.ValueString())
	if len(others) > 0 {
		diags.AddError(fmt.Sprintf("%s: another agent is installed in the cluster: %s", m.title(), strings.Join(others, ", ")),
			"Nothing has been changed. Only one agent can work in a cluster: remove the other one first, or import it instead. "+destroyFirst)
	}
	return err
}

// checkMove says what happens to the objects of an installation whose namespace or name changes.
func (r *agentResource) checkMove(ctx context.Context, before, after *model, diags *diag.Diagnostics) {
	text := "The objects of the installation are deleted and created again under the new name. " +
		"Definitions, provisioners, node profiles and nodes stay, and the new agent takes them over. " +
		"With `create_before_destroy`, here or in a resource that depends on it, the apply fails before it changes anything."
	if keeper := r.installation(ctx); keeper != nil {
		if held, err := keeper.Holdings(ctx); err == nil {
			text += listHoldings(held)
		}
	}
	diags.AddWarning(fmt.Sprintf("%s is replaced by %s", before.title(), after.title()), text)
}

// checkRemoval lists the nodes and custom resources that exist, and says what a destroy does with them.
func (r *agentResource) checkRemoval(ctx context.Context, req resource.ModifyPlanRequest, diags *diag.Diagnostics) {
	var m model
	diags.Append(req.State.Get(ctx, &m)...)
	if diags.HasError() {
		return
	}
	keeper := r.installation(ctx)
	if keeper == nil {
		return
	}
	held, err := keeper.Holdings(ctx)
	if err != nil || len(held.Nodes)+len(held.Objects) == 0 {
		return
	}
	diags.AddWarning(fmt.Sprintf("%s: the cluster has %s and %s, and on_destroy is %q", m.title(), countKinds(held.Objects), explain.Plural(len(held.Nodes), "node"), m.onDestroy()),
		m.fateOfNodes()+" "+m.fateOfObjects()+listHoldings(held))
}

func (m *model) fateOfNodes() string {
	return map[string]string{
		refuseNodes: "The destroy fails while there are nodes.",
		drainNodes:  "The agent drains the nodes of provisioners that are deleted and terminates their machines before it is removed. The destroy fails while NodePools have nodes.",
		orphanNodes: "The nodes and their machines continue to run without an agent, except those of provisioners that are destroyed too: these go first, and the agent drains their nodes. " +
			"To keep these nodes, " + forgetFirst + " and apply before you destroy. The destroy fails while the agent drains nodes.",
	}[m.onDestroy()]
}

func (m *model) fateOfObjects() string {
	switch {
	case m.deletesObjects():
		return "With `keep_crds = false`, all provisioners and node profiles are deleted with their definitions, no matter who has declared them."
	case m.onDestroy() == drainNodes:
		return "Provisioners and node profiles that are not in this configuration are kept, and so are the definitions; " +
			"while such a provisioner has nodes, the destroy fails."
	}
	return "Provisioners and node profiles that are not in this configuration are kept, and so are the definitions."
}

// listHoldings lists objects and nodes, to be appended to a text.
func listHoldings(held install.Holdings) (out string) {
	if len(held.Objects) > 0 {
		out = "\n\n" + listObjects(held.Objects)
	}
	if len(held.Nodes) > 0 {
		out += "\n\n" + listNodes(held.Nodes)
	}
	return out
}

// listObjects lists the names of all objects, by kind.
func listObjects(objects []install.Object) string {
	var lines []string
	for _, kind := range kindsOf(objects) {
		lines = append(lines, "  "+kind.title+" "+strings.Join(kind.names, ", "))
	}
	return strings.Join(lines, "\n")
}

// countKinds says how many objects of each kind there are.
func countKinds(objects []install.Object) string {
	var counts []string
	for _, kind := range kindsOf(objects) {
		counts = append(counts, explain.Plural(len(kind.names), kind.title))
	}
	if len(counts) == 0 {
		return "no custom resources"
	}
	return strings.Join(counts, ", ")
}

// namedKind is a kind and the names of its objects.
type namedKind struct {
	title string
	names []string
}

// kindsOf groups objects, which must be sorted by kind.
func kindsOf(objects []install.Object) (out []namedKind) {
	for _, o := range objects {
		if len(out) == 0 || out[len(out)-1].title != o.Kind {
			out = append(out, namedKind{title: o.Kind})
		}
		last := &out[len(out)-1]
		last.names = append(last.names, o.Name)
	}
	return out
}

// standing returns the objects that are not being deleted.
func standing(objects []install.Object) (out []install.Object) {
	for _, o := range objects {
		if !o.Leaving {
			out = append(out, o)
		}
	}
	return out
}

func provisionerNames(objects []install.Object) (out []string) {
	for _, o := range objects {
		if o.Kind == api.ProvisionerKind {
			out = append(out, o.Name)
		}
	}
	return out
}

// listNodes lists nodes, but no more than the first ten and a count if there are many.
func listNodes(nodes []install.Node) string {
	const shown = 10
	var lines []string
	for i, n := range nodes {
		if i == shown && len(nodes) > shown+1 {
			lines = append(lines, fmt.Sprintf("  and %d more", len(nodes)-shown))
			break
		}
		owner := "provisioner"
		if n.NodePool {
			owner = "NodePool"
		}
		lines = append(lines, fmt.Sprintf("  node %s; %s %s; instance %s", n.Name, owner, n.Provisioner, n.Instance))
	}
	return strings.Join(lines, "\n")
}
