package kube

import (
	"net/http"
	"strings"
)

// observer calls observe after each request.
type observer struct {
	next    http.RoundTripper
	observe func(verb, resource string, code int)
}

func (o *observer) RoundTrip(r *http.Request) (*http.Response, error) {
	verb, resource := describe(r)
	resp, err := o.next.RoundTrip(r)
	code := 0
	if resp != nil {
		code = resp.StatusCode
	}
	o.observe(verb, resource, code)
	return resp, err
}

// describe returns the verb and the resource of a request from its path, which is
// /api/v1/[namespaces/NAME/]RESOURCE[/NAME[/SUBRESOURCE]], or begins with /apis/GROUP/VERSION
// instead of /api/v1. For any other path, the resource is the whole path.
func describe(r *http.Request) (verb, resource string) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	rest := len(parts)
	switch parts[0] {
	case "api":
		rest = 2
	case "apis":
		rest = 3
	}
	if rest >= len(parts) {
		return strings.ToLower(r.Method), r.URL.Path
	}
	parts = parts[rest:]
	if parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	resource = parts[0]
	if len(parts) > 2 {
		resource += "/" + parts[2]
	}
	return verbOf(r, len(parts) > 1), resource
}

// verbOf returns the Kubernetes verb of a request; named means that its path names an object.
func verbOf(r *http.Request, named bool) string {
	switch {
	case r.Method == http.MethodPost:
		return "create"
	case r.Method == http.MethodPut:
		return "update"
	case r.Method != http.MethodGet, named:
		return strings.ToLower(r.Method)
	case r.URL.Query().Get("watch") == "true" || r.URL.Query().Get("watch") == "1":
		return "watch"
	}
	return "list"
}
