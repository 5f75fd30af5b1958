package e2e

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/plane"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/stage"
)

// agentUser is the agent's ServiceAccount as the API server knows it.
const agentUser = "system:serviceaccount:" + stage.Namespace + ":" + stage.ServiceAccount

// right is one thing that a rule of the agent's roles allows. A rule for certain
// names has one for each.
type right struct{ group, resource, verb, name string }

func (r right) String() string {
	return strings.Join([]string{r.verb, r.resource + "." + cmp.Or(r.group, "core"), r.name}, " ")
}

// exercised are the rights that the agents of all scenes have made use of.
var exercised = struct {
	sync.Mutex
	rights map[right]bool
}{rights: map[right]bool{}}

// TestMain demands of a run of the whole suite that it needed every right that the
// agent's roles give.
func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	whole := true
	for _, name := range []string{"test.run", "test.skip", "test.list"} {
		whole = whole && flag.Lookup(name).Value.String() == ""
	}
	if code == 0 && whole {
		for _, r := range renderedRights() {
			if !exercised.rights[r] {
				fmt.Printf("FAIL: the agent's roles allow it to %s, which no scene needs\n", r)
				code = 1
			}
		}
	}
	os.Exit(code)
}

// checkRights sees to it that a scene's agents were refused nothing, neither by the
// API server nor by AWS, and had no rights but those of their own roles.
func checkRights(t *testing.T, sb *sandbox.Sandbox) {
	t.Helper()
	events, err := sb.Audit()
	if err != nil {
		t.Error(err)
	}
	problems := map[string]bool{}
	for i := range events {
		if problem := noteRequest(&events[i]); problem != "" {
			problems[problem] = true
		}
	}
	for _, c := range sb.Cloud.Calls() {
		if denied := c.ErrorCode == "UnauthorizedOperation" || strings.HasPrefix(c.ErrorCode, "AccessDenied"); denied && strings.Contains(c.Principal, ":assumed-role/") {
			problems[fmt.Sprintf("%s may not call %s of %s: %s", c.Principal, c.Action, c.Service, c.ErrorCode)] = true
		}
	}
	for problem := range problems {
		t.Error(problem)
	}
}

// noteRequest counts the rights that a request made use of, and says what is wrong
// with it.
func noteRequest(e *plane.AuditEvent) (problem string) {
	rights := rightsTo(e)
	switch {
	case e.Forbidden() && len(rights) > 0:
		return "" // while the roles were removed: scenes do that
	case e.Forbidden():
		return fmt.Sprintf("the agent may not %s %s", e.Verb, e.RequestURI)
	case e.ObjectRef == nil:
		return "" // paths such as /version, which everybody may read
	case !strings.Contains(e.AllowedBy(), `Binding "`+stage.ServiceAccount):
		return fmt.Sprintf("the agent may %s %s for another reason than its roles: %s", e.Verb, e.RequestURI, e.AllowedBy())
	case strings.Contains(e.ResponseStatus.Message, "cannot find RESTMapping"):
		return "" // admission learns of a new kind within half a minute, and the agent tries again
	case e.ResponseStatus.Code == 403 && !strings.Contains(e.ResponseStatus.Message, "being terminated"):
		return fmt.Sprintf("%s %s is refused by admission: %s", e.Verb, e.RequestURI, e.ResponseStatus.Message)
	}
	exercised.Lock()
	defer exercised.Unlock()
	for _, r := range rights {
		exercised.rights[r] = true
	}
	if e.Verb == "create" && e.ObjectRef.Resource == "nodes" {
		// Its owner reference blocks the deletion of the Provisioner. Admission
		// asks for this right, which the audit log does not show.
		exercised.rights[right{"karpenter.sh", "provisioners/finalizers", "update", ""}] = true
	}
	return ""
}

// rightsTo are the rendered rights that allow a request.
func rightsTo(e *plane.AuditEvent) (out []right) {
	if e.ObjectRef == nil {
		return nil
	}
	resource := e.ObjectRef.Resource
	if e.ObjectRef.Subresource != "" {
		resource += "/" + e.ObjectRef.Subresource
	}
	for _, r := range renderedRights() {
		if r.group == e.ObjectRef.APIGroup && r.resource == resource && r.verb == e.Verb && (r.name == "" || r.name == e.ObjectRef.Name) {
			out = append(out, r)
		}
	}
	return out
}

// renderedRights are those of the roles that every way of installing renders.
var renderedRights = sync.OnceValue(func() (out []right) {
	settings := (&install.Settings{ClusterName: "any", Namespace: stage.Namespace}).Defaulted("dev")
	objects, err := settings.Objects()
	if err != nil {
		panic(err)
	}
	for _, object := range objects {
		if !slices.Contains([]string{"ClusterRole", "Role"}, object.GetKind()) {
			continue
		}
		var role rbacv1.Role // which has the rules where a ClusterRole has them
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role); err != nil {
			panic(err)
		}
		for _, rule := range role.Rules {
			out = append(out, rightsOf(rule)...)
		}
	}
	return out
})

func rightsOf(rule rbacv1.PolicyRule) (out []right) {
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				for _, name := range names {
					out = append(out, right{group, resource, verb, name})
				}
			}
		}
	}
	return out
}
