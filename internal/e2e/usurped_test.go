package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/plane"
)

// deed is a request that changes something, and who made it.
type deed struct {
	at        time.Time
	who, what string
}

func (d deed) String() string {
	return fmt.Sprintf("%s %s: %s", d.at.Format("15:04:05.000"), d.who, d.what)
}

// deeds are what the processes with the given tokens have done, in order: how they took
// and renewed the lease, and all else that changes something.
func deeds(events []plane.AuditEvent, calls []cloud.Call, names map[string]string) (terms, all []deed) {
	for i := range events {
		e := &events[i]
		d := deed{e.RequestReceivedTimestamp, names[e.Credential()], e.Verb + " " + e.RequestURI}
		switch {
		case d.who == "" || e.ObjectRef == nil || slices.Contains([]string{"get", "list", "watch"}, e.Verb):
		case e.ObjectRef.Resource != "leases":
			all = append(all, d)
		case e.ObjectRef.Name == install.LeaseName && e.ResponseStatus.Code < 300:
			terms = append(terms, d)
		}
	}
	known := slices.Collect(maps.Values(names))
	for _, c := range calls {
		who := c.Principal[strings.LastIndex(c.Principal, "/")+1:]
		reads := slices.ContainsFunc([]string{"Assume", "Describe", "Get", "List", "Receive"}, func(verb string) bool { return strings.HasPrefix(c.Action, verb) })
		if slices.Contains(known, who) && !reads {
			all = append(all, deed{c.Time.Add(-c.Duration), who, c.Action})
		}
	}
	byTime := func(a, b deed) int { return a.at.Compare(b.at) }
	slices.SortFunc(terms, byTime)
	slices.SortFunc(all, byTime)
	return terms, all
}

// usurped lists the deeds of processes that did not hold the lease at that moment. Who
// holds it is told by who has written it last: a standby only reads it.
func usurped(terms, all []deed) (out []deed) {
	holder := ""
	for _, d := range all {
		for len(terms) > 0 && terms[0].at.Before(d.at) {
			holder, terms = terms[0].who, terms[1:]
		}
		if d.who != holder {
			out = append(out, d)
		}
	}
	return out
}

func TestUsurped(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(second int) time.Time { return start.Add(time.Duration(second) * time.Second) }
	request := func(second int, who, verb, resource string, code int) plane.AuditEvent {
		e := plane.AuditEvent{Verb: verb, RequestURI: "/" + resource, RequestReceivedTimestamp: at(second)}
		e.User.Extra = map[string][]string{"authentication.kubernetes.io/credential-id": {"JTI=" + who}}
		e.ObjectRef = &struct{ APIGroup, Resource, Subresource, Namespace, Name string }{Resource: resource, Name: install.LeaseName}
		e.ResponseStatus.Code = code
		return e
	}
	call := func(second int, who, action string, took time.Duration) cloud.Call {
		return cloud.Call{Time: at(second), Principal: "arn:aws:sts::1:assumed-role/agent/" + who, Action: action, Duration: took}
	}
	events := []plane.AuditEvent{
		request(1, "1", "create", "leases", 201),
		request(2, "1", "create", "nodes", 201),
		request(3, "2", "get", "leases", 200),
		request(4, "2", "update", "leases", 409), // in vain
		request(5, "1", "patch", "nodes", 200),
		request(20, "2", "update", "leases", 200),
		request(21, "2", "create", "pods", 201),
		request(22, "1", "delete", "nodes", 403), // it tried
		request(23, "1", "list", "nodes", 200),
		request(24, "3", "patch", "nodes", 200), // who is none of them
	}
	calls := []cloud.Call{
		call(6, "first", "CreateFleet", time.Second),
		call(21, "first", "CreateFleet", 10*time.Second), // was on its way
		call(25, "first", "TerminateInstances", time.Second),
		call(25, "first", "DescribeInstances", time.Second),
		call(26, "terraform", "CreateRole", time.Second),
	}
	var got []string
	for _, d := range usurped(deeds(events, calls, map[string]string{"1": "first", "2": "second"})) {
		got = append(got, d.String())
	}
	want := []string{"00:00:22.000 first: delete /nodes", "00:00:24.000 first: TerminateInstances"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("usurped (-want +got):\n%s", diff)
	}
}
