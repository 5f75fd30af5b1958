package account

import (
	"net/http"
	"net/url"
	"strings"
)

// route finds the service and the name of the call; the service is nil if it
// is none of ours. The Version parameter of a query request, or the prefix of
// X-Amz-Target, names the service; a REST request is recognised by its path.
func (c *Account) route(r *http.Request, body []byte) (*Service, string, *Received) {
	received := &Received{Request: r, body: body}
	if target := r.Header.Get("X-Amz-Target"); target != "" {
		prefix, name, _ := strings.Cut(target, ".")
		return c.find(func(s *Service) bool { return s.Target == prefix }), name, received
	}
	for _, s := range c.services {
		if s.Route == nil {
			continue
		}
		if name, labels := s.Route(r.Method, r.URL); name != "" {
			received.labels = mergeQuery(labels, r.URL.Query())
			return s, name, received
		}
	}
	received.form = r.URL.Query()
	if r.Method == http.MethodPost {
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return nil, "", received
		}
		received.form = form
	}
	version := received.form.Get("Version")
	return c.find(func(s *Service) bool { return s.Version != "" && s.Version == version }), received.form.Get("Action"), received
}

// find returns the service that is wanted, or nil.
func (c *Account) find(wanted func(*Service) bool) *Service {
	for _, s := range c.services {
		if wanted(s) {
			return s
		}
	}
	return nil
}
